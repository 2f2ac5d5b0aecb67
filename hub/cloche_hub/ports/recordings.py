"""Recordings: what consoles and commands have shown, as asciicast v2, kept for some time.

Rule: what is said to a recording never waits for a disk; `flush` does.
Rule: secrets are masked before anything is written: in the output, in markers, and in what the header says.
Rule: the digest of a recording is that of its asciicast text, which everybody who may read it can make again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class RecordingKind(StrEnum):
    """What was recorded."""

    CONSOLE = "console"
    EXEC = "exec"


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a recording when it begins."""

    id: str
    """`rec_…`"""
    kind: RecordingKind
    of: str
    """The console's or the exec's id."""
    sandbox: str
    """A sandbox's id."""
    sandbox_name: str
    owner: str
    """The sandbox's."""
    title: str
    rows: int
    cols: int
    term: str
    """As in TERM."""
    command: tuple[str, ...] | None
    """None: the user's shell."""
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """A recording as lists show it; under way while `ended_at` is None, and then without the rest."""

    header: Header
    ended_at: datetime | None = None
    duration_s: float | None = None
    """The time of its last event."""
    size_bytes: int | None = None
    """On disk, compressed."""
    text_bytes: int | None = None
    """Of the asciicast text."""
    sha256: str | None = None
    """Hex; of the asciicast text."""
    is_cut: bool = False
    """Whether something is missing at its end: it grew too long, or its hub was killed. Its last marker says which."""

    @property
    def id(self) -> str:
        """`rec_…`"""
        return self.header.id


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a recording that has the text that was searched for."""

    recording: str
    """Its id."""
    at_s: float
    """When the line began, in seconds since the recording did."""
    line: str
    """Without escape sequences; of a long one, what is around the text."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    hits: tuple[Hit, ...]
    """Of the newest recording first; within one, in order."""
    omitted: int
    """Recordings that were not looked through to their ends: there were hits enough, or the time was over."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A recording that was deleted, and why."""

    row: RecordingRow
    reason: str
    """`age` or `space`."""


class Recording(Protocol):
    """A recording under way. What is said to it is taken at once and dated now; nothing but `flush` and `finish` waits."""

    @property
    def id(self) -> str:
        """`rec_…`"""
        ...

    def output(self, data: bytes) -> None:
        """Something was shown. Dropped when the recording is cut or finished."""
        ...

    def resize(self, rows: int, cols: int) -> None:
        """The terminal has another size."""
        ...

    def marker(self, text: str) -> None:
        """Something worth finding again happened."""
        ...

    async def flush(self) -> None:
        """Returns when what was said is on disk, what may be the beginning of a secret aside. Cancelling loses nothing.

        Raises:
            NoSpace: the disk is full; what was said is kept in memory, within bounds, and may be flushed again.
            StoreFailed: the disk failed.
        """
        ...

    async def finish(self) -> RecordingRow:
        """Ends it; durable when it returns, and recorded in the audit. Idempotent; cancelling leaves it to be called again.

        Raises:
            NoSpace: the disk is full; call it again, or the next hub finishes it, as one that is cut.
            StoreFailed: the disk failed; as above.
        """
        ...


class Recordings(Protocol):
    """All recordings of this hub."""

    async def begin(self, header: Header, *, secrets: Sequence[bytes] = ()) -> Recording:
        """Begins a recording.

        Args:
            header: its size is the terminal's first.
            secrets: what to write as `*` for each byte, wherever it is shown in one piece: `Secrets.hidden`.

        Raises:
            NoSpace, StoreFailed: the disk is full, or failed.
        """
        ...

    async def list(
        self, *, sandbox: str | None = None, owner: str | None = None, limit: int
    ) -> Sequence[RecordingRow]:
        """The newest recordings, newest first, those under way too; of one sandbox, of one owner, or all."""
        ...

    async def find(self, reference: str, *, owner: str | None = None) -> RecordingRow:
        """The recording whose id is, or begins with, a reference; among this owner's, or everybody's.

        Raises:
            BadRequest, NotFound: several are meant, or none.
        """
        ...

    def read(self, recording_id: str) -> AsyncGenerator[bytes]:
        """The asciicast text in pieces; of a recording under way, what has been flushed. Close it if it is left early.

        Raises:
            NotFound: there is no such recording, or its file is gone.
            StoreFailed: it is damaged, or cannot be read.
        """
        ...

    async def search(
        self, text: str, *, sandbox: str | None = None, owner: str | None = None, limit: int, within_s: float
    ) -> Found:
        """Lines of recordings that have a text; whatever their case, unless the text has capitals.

        Escape sequences are left out. What is drawn by moving the cursor about is in the order it was sent.

        Args:
            text: one line at most; not empty.
            sandbox: of this sandbox's only; None: of all.
            owner: of this owner's sandboxes' only; None: of everybody's.
            limit: at most so many hits.
            within_s: at most so long.
        """
        ...

    async def expire(self, *, before: datetime, max_total_bytes: int) -> Sequence[Removed]:
        """Deletes finished recordings that ended before a time, then the oldest until the others fit."""
        ...

    async def recover(self) -> Sequence[RecordingRow]:
        """Finishes what a killed hub left under way, with a last marker that says so; deletes files nobody knows.

        What cannot be finished now, for want of space, is left for another time.
        """
        ...
