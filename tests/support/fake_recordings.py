"""Recordings that are only kept in memory, with a disk that can be full. The text is the real one."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cloche_hub.errors import BadRequest, NoSpace, NotFound
from cloche_hub.ports import Found, Header, Hit, RecordingRow, Removed
from cloche_hub.store.recordings.cast import CastEvents, Marker, Move, Output, Resize, header_line, masked
from cloche_hub.store.recordings.expiry import expired
from cloche_hub.store.recordings.searching import Wanted
from cloche_hub.store.recordings.shown import shown_lines


class FakeRecordings:
    """Implements `ports.Recordings`.

    Args:
        elapsed_s: a clock that only goes forward; without one everything happens at once.
    """

    def __init__(self, elapsed_s: Callable[[], float] = lambda: 0.0) -> None:
        self.made: dict[str, FakeRecording] = {}
        """Every recording, by its id."""
        self.is_full = False
        """Set it to have everything that writes fail."""
        self.elapsed_s = elapsed_s

    async def begin(self, header: Header, *, secrets: Sequence[bytes] = ()) -> FakeRecording:
        self.require_space()
        recording = self.made[header.id] = FakeRecording(self, masked(header, secrets), secrets)
        return recording

    async def list(
        self, *, sandbox: str | None = None, owner: str | None = None, limit: int
    ) -> Sequence[RecordingRow]:
        rows = [
            made.row
            for made in self.made.values()
            if sandbox in (None, made.row.header.sandbox) and owner in (None, made.row.header.owner)
        ]
        return sorted(rows, key=lambda row: (row.header.started_at, row.id), reverse=True)[:limit]

    async def find(self, reference: str, *, owner: str | None = None) -> RecordingRow:
        rows = [row for row in await self.list(owner=owner, limit=1 << 20) if row.id.startswith(reference)]
        rows = [row for row in rows if row.id == reference] or rows
        if not rows or not reference:
            raise NotFound(f"no recording {reference!r}")
        if len(rows) > 1:
            raise BadRequest(f"{reference!r} could be any of: {', '.join(row.id for row in rows)}")
        return rows[0]

    async def read(self, recording_id: str) -> AsyncGenerator[bytes]:
        if recording_id not in self.made:
            raise NotFound(f"no recording {recording_id!r}")
        yield self.made[recording_id].text

    async def search(
        self, text: str, *, sandbox: str | None = None, owner: str | None = None, limit: int, within_s: float
    ) -> Found:
        if not text.strip() or len(text.splitlines()) > 1:
            raise BadRequest("text must be one line, and not empty")
        hits: list[Hit] = []
        rows = await self.list(sandbox=sandbox, owner=owner, limit=1 << 20)
        for number, row in enumerate(rows):
            for shown in shown_lines(self.made[row.id].text.splitlines()):
                line = None if shown is None else Wanted(text).excerpt(shown[1])
                if shown is not None and line is not None:
                    if len(hits) >= limit or within_s <= 0:
                        return Found(tuple(hits), len(rows) - number)
                    hits.append(Hit(row.id, shown[0], line))
        return Found(tuple(hits), 0)

    async def expire(self, *, before: datetime, max_total_bytes: int) -> Sequence[Removed]:
        ended = [(made.row.ended_at, made.row) for made in self.made.values() if made.row.ended_at]
        total = sum(row.size_bytes or 0 for _, row in ended)
        oldest_first = [row for _, row in sorted(ended, key=lambda pair: (pair[0], pair[1].id))]
        removed = list(expired(oldest_first, before=before, excess_bytes=total - max_total_bytes))
        for one in removed:
            del self.made[one.row.id]
        return removed

    async def recover(self) -> Sequence[RecordingRow]:
        """There is never another hub."""
        return ()

    def require_space(self) -> None:
        if self.is_full:
            raise NoSpace("the disk is full")


class FakeRecording:
    """Implements `ports.Recording`."""

    def __init__(self, recordings: FakeRecordings, header: Header, secrets: Sequence[bytes]) -> None:
        self.row = RecordingRow(header)
        self.moves: list[Move] = []
        """What was said to it."""
        self.flushed = 0
        """How many of the moves are on what would be the disk."""
        self.text = header_line(header)
        """The asciicast as it was flushed."""
        self._recordings, self._events = recordings, CastEvents(secrets)
        self._began_at_s = recordings.elapsed_s()

    @property
    def id(self) -> str:
        return self.row.id

    def output(self, data: bytes) -> None:
        self._say(Output(self._at_s(), data))

    def resize(self, rows: int, cols: int) -> None:
        self._say(Resize(self._at_s(), rows, cols))

    def marker(self, text: str) -> None:
        self._say(Marker(self._at_s(), text))

    async def flush(self) -> None:
        self._recordings.require_space()
        for move in self.moves[self.flushed :]:
            self.text += b"".join(self._events.lines(move))
        self.flushed = len(self.moves)

    async def finish(self) -> RecordingRow:
        if self.row.ended_at is None:
            await self.flush()
            self.text += b"".join(self._events.end())
            self.row = replace(
                self.row,
                ended_at=self.row.header.started_at + timedelta(seconds=self._at_s()),
                duration_s=self._events.duration_s,
                size_bytes=len(self.text),
                text_bytes=len(self.text),
                sha256=hashlib.sha256(self.text).hexdigest(),
            )
        return self.row

    def _at_s(self) -> float:
        return self._recordings.elapsed_s() - self._began_at_s

    def _say(self, move: Move) -> None:
        if self.row.ended_at is None:
            self.moves.append(move)
