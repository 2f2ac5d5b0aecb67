"""What the hub says of recordings, as typed values. Pure; see `cloche.messages`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from cloche.answers import Answer


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """A recording: what a console or a command has shown, with when it did."""

    id: str
    """`rec_…`."""
    kind: str
    """console or exec."""
    of: str
    """The id of the console or the command."""
    sandbox: str
    """The id of the sandbox that was in."""
    sandbox_name: str
    owner: str
    """Whose sandbox that was."""
    title: str
    rows: int
    """The size it begins with."""
    cols: int
    term: str
    """What kind of terminal the program was told it had."""
    command: tuple[str, ...] | None
    """The program and its arguments; None: the user's shell."""
    started_at: datetime
    ended_at: datetime | None
    """None while it is under way; the fields below are then None, too."""
    duration_s: float | None
    size_bytes: int | None
    """On the hub's disk."""
    text_bytes: int | None
    """Of its asciicast text."""
    sha256: str | None
    """Of its asciicast text, in hex; the audit has it, too."""
    is_cut: bool
    """Whether something is missing at its end; its last marker says why."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("recording", value)
        return cls(
            id=read.text("id"),
            kind=read.text("kind"),
            of=read.text("of"),
            sandbox=read.text("sandbox"),
            sandbox_name=read.text("sandbox_name"),
            owner=read.text("owner"),
            title=read.text("title"),
            rows=read.whole("rows"),
            cols=read.whole("cols"),
            term=read.text("term"),
            command=read.optional("command", read.texts),
            started_at=read.moment("started_at"),
            ended_at=read.optional("ended_at", read.moment),
            duration_s=read.optional("duration_s", read.number),
            size_bytes=read.optional("size_bytes", read.whole),
            text_bytes=read.optional("text_bytes", read.whole),
            sha256=read.optional("sha256", read.text),
            is_cut=read.flag("is_cut"),
        )


@dataclass(frozen=True, slots=True)
class RecordingHit:
    """A line of a recording that has the text that was searched for."""

    recording: str
    """The recording's id."""
    at_s: float
    """When the line began, in seconds since the recording did."""
    line: str
    """Without escape sequences; of a long one, what is around the text."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("hit", value)
        return cls(read.text("recording"), read.number("at_s"), read.text("line"))
