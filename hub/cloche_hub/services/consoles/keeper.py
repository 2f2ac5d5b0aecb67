"""Stores what a console shows, then lets its guest forget it: the screen's log and snapshots, and the recording.

    add ──► gathered ──(a quarter of the window, or 200 ms)──► appended, or a snapshot ──► recording flushed ──► stored

Rules:
- The guest is told of nothing that is not stored: a hub that is killed loses nothing that the guest has forgotten.
- A full disk freezes the console, for its guest waits when its window is full. Viewers are told, it is tried again each
  second, and nobody else notices.
- A log that has grown is replaced by a snapshot, also when a flood is over; the next one has to grow by twice what the
  last snapshot took.
- A snapshot is of the screen after all that has been added when it is there: those entries go with it, and no others.
- No log goes on behind a snapshot over a gap: where the screen is another than what was stored makes, a snapshot is next.
- An end waits for nothing: what cannot be stored then is lost, loudly logged.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.ports import Entry, Recording, ScreenLog, Size
from cloche_term import TerminalError
from cloche_wire.aio.bounds import within

T = TypeVar("T")

_log = structlog.get_logger(__name__)

MOST_LOG = 4 << 20
"""Bytes of a log before a snapshot takes its place."""
WORTH_SNAPSHOT = 256 << 10
"""Bytes of a log that a snapshot takes the place of when nothing comes any more."""
LINGER_S = 0.2
QUIET_S = 1.0
RETRY_S = 1.0

FULL = "the hub's disk is full: this console stands still until there is space"
ON_AGAIN = "there is space again: the console goes on"


@dataclass(frozen=True, slots=True)
class _Taken:
    """What has been added when something is stored."""

    entries: tuple[Entry, ...]
    bytes: int
    lost: int
    gaps: int


class Keeper:
    """Stores one console.

    Args:
        log: where its screen is stored; closed at the end.
        recording: None if it is not recorded.
        enough: bytes that are stored at once.
        snapshot: how many bytes the screen has seen, which are all that were added in the step in which this
            returns; and the screen.
        on_stored: told how many bytes are stored.
        on_notice: told what viewers should know.
    """

    def __init__(
        self,
        log: ScreenLog,
        recording: Recording | None,
        *,
        enough: int,
        snapshot: Callable[[], Awaitable[tuple[int, bytes]]],
        on_stored: Callable[[int], None],
        on_notice: Callable[[str], None],
    ) -> None:
        self.recording = recording
        self._log, self._enough_bytes, self._snapshot = log, enough, snapshot
        self._on_stored, self._on_notice = on_stored, on_notice
        self._offset = log.end
        self._entries: list[Entry] = []
        self._bytes = self._lost = self._gaps = 0
        # Of the entries, those that are being stored.
        self._under_way = 0
        self._has_marks = False
        self._some, self._enough, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._most_log = MOST_LOG

    def add(self, entry: Entry) -> None:
        """Something has happened on the screen; never waits."""
        if isinstance(entry, Size):
            if len(self._entries) > self._under_way and isinstance(self._entries[-1], Size):
                # Who drags a window's corner makes a hundred sizes, of which one counts.
                self._entries.pop()
            if self.recording is not None:
                self.recording.resize(entry.rows, entry.cols)
        else:
            self._bytes += len(entry)
            if self.recording is not None:
                self.recording.output(entry)
        self._entries.append(entry)
        self._some.set()
        if self._bytes >= self._enough_bytes:
            self._enough.set()

    def lose(self, count: int) -> None:
        """So many bytes are missing here, and are in no log: what is stored next is a snapshot behind them."""
        self._lost += count
        self.mark(f"{count} bytes are lost here")

    def gap(self) -> None:
        """The screen is another than what has been stored and added makes: what is stored next is a snapshot."""
        self._gaps += 1
        self._some.set()

    def mark(self, text: str) -> None:
        """Something worth finding again in the recording."""
        if self.recording is not None:
            self.recording.marker(text)
            self._has_marks = True
            self._some.set()

    def end(self) -> None:
        """Nothing more is added: `keep` stores what is left and returns."""
        self._ending.set()
        self._some.set()
        self._enough.set()

    async def keep(self) -> None:
        """Stores what is added, until `end`; the last screen as a snapshot. Cancelling it stores nothing more.

        Raises:
            StoreFailed: the disk failed.
            TerminalError: there is no screen that could be stored.
        """
        try:
            while True:
                await self._gather()
                if self._ending.is_set():
                    break
                await self._store()
            await self._store_last()
        finally:
            await self._log.close(keep=True)

    async def finish_recording(self) -> None:
        """Ends the recording, however long the disk is full. Cancelling it leaves that to the next hub."""
        if self.recording is None:
            return
        while True:
            try:
                await self.recording.finish()
            except NoSpace:
                await asyncio.sleep(RETRY_S)
            except StoreFailed as error:
                _log.error("recording_not_finished", recording=self.recording.id, reason=str(error))
                return
            else:
                return

    async def _gather(self) -> None:
        """Returns when there is enough to store; or some, for long enough; or nothing, after a flood; or at the end."""
        if self._ending.is_set():
            return
        is_worth_snapshot = self._log.log_bytes > WORTH_SNAPSHOT
        if is_worth_snapshot and not await _happens(self._some, within_s=QUIET_S):
            return
        await self._some.wait()
        await _happens(self._enough, within_s=LINGER_S)

    async def _store(self) -> None:
        stored = await self._until_room(self._put)
        if stored is not None and await self._until_room(self._flush) is not None and stored > 0:
            self._on_stored(stored)

    async def _store_last(self) -> None:
        try:
            stored = await self._put(as_snapshot=True)
            await self._flush()
        except (NoSpace, StoreFailed, TerminalError) as error:
            _log.error("last_screen_not_stored", reason=str(error))
        else:
            if stored:
                self._on_stored(stored)

    async def _put(self, *, as_snapshot: bool = False) -> int:
        """Stores all that has been added; returns how many bytes that is."""
        is_quiet = not self._entries and not self._has_marks
        is_much = self._log.log_bytes + self._bytes > self._most_log
        try:
            if as_snapshot or self._lost or self._gaps or is_quiet or is_much:
                offset, snapshot = await self._snapshot()
                # In this very step: the snapshot has seen these, and no others.
                taken = self._take()
                await self._log.checkpoint(offset, snapshot)
                self._most_log = max(MOST_LOG, 2 * len(snapshot))
            else:
                taken = self._take()
                if taken.entries:
                    await self._log.append(self._offset, taken.entries)
        finally:
            self._under_way = 0
        del self._entries[: len(taken.entries)]
        self._bytes -= taken.bytes
        self._lost -= taken.lost
        self._gaps -= taken.gaps
        self._offset += taken.lost + taken.bytes
        return taken.bytes

    def _take(self) -> _Taken:
        """What is being stored from now on: it is forgotten when it is."""
        self._some.clear()
        self._enough.clear()
        # They are flushed behind it.
        self._has_marks = False
        self._under_way = len(self._entries)
        return _Taken(tuple(self._entries), self._bytes, self._lost, self._gaps)

    async def _flush(self) -> bool:
        if self.recording is not None:
            await self.recording.flush()
        return True

    async def _until_room(self, attempt: Callable[[], Awaitable[T]]) -> T | None:
        """What the attempt comes to, once there is space for it; None if the end comes first."""
        is_full = False
        while True:
            try:
                done = await attempt()
            except NoSpace:
                if not is_full:
                    self._on_notice(FULL)
                is_full = True
                if await _happens(self._ending, within_s=RETRY_S):
                    return None
            else:
                if is_full:
                    self._on_notice(ON_AGAIN)
                return done


async def _happens(event: asyncio.Event, *, within_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with within(within_s):
            await event.wait()
    return event.is_set()
