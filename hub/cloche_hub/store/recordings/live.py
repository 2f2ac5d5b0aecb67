"""A recording under way (`ports.Recording`): what is said is dated and queued; threads shared by all recordings write it.

Rule: the event loop only appends to a queue. Whoever wants to know that it is on the disk flushes, and waits.
Rule: small pieces that come together are one: a guest that writes byte by byte must not fill the queue with dates.
Rule: what waits is bounded. A disk that does not keep up for so long that the queue is full cuts the recording, and the
last marker says so; who flushes before it says more never comes there.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from cloche_hub.errors import HubError, NoSpace
from cloche_hub.ports import Header, RecordingRow
from cloche_hub.store.recordings.cast import Cut, Marker, Move, Output, Resize
from cloche_hub.store.recordings.cast_file import CastFile, Finished

T = TypeVar("T")

MAX_WAITING = 4 << 20
"""Bytes of output that wait for the disk."""
_EAGER = 64 << 10
# What a move without output counts for.
_SMALL = 64
_TOGETHER_BYTES = 2 << 10
_TOGETHER_S = 0.01
# Once a quarter of what may wait does: dates are worth less than what they date.
_LATE_TOGETHER_S = 1.0


async def on_thread(threads: Executor, work: Callable[[], T]) -> T:
    """What `work` returns on one of the threads. Cancelled, what has begun goes on to its end."""
    return await asyncio.get_running_loop().run_in_executor(threads, work)


@dataclass(frozen=True, slots=True)
class Desk:
    """What all recordings of a hub share."""

    threads: Executor
    elapsed_s: Callable[[], float]
    """A clock that only goes forward."""
    keep: Callable[[Header, Finished], Awaitable[RecordingRow]]
    """Makes what became of a recording last, and says it."""


class LiveRecording:
    """A recording under way."""

    def __init__(self, header: Header, file: CastFile, desk: Desk, *, max_waiting: int = MAX_WAITING) -> None:
        self.header = header
        self._file, self._desk, self._max_waiting = file, desk, max_waiting
        self._began_at_s = desk.elapsed_s()
        self._moves: deque[tuple[int, Move]] = deque()
        # Each is changed on one side only: said by the event loop, taken by who has the turn.
        self._said = self._taken = self._synced = 0
        self._turn = threading.Lock()
        # Held for a moment only, so the event loop may wait for it.
        self._queue = threading.Lock()
        self._is_coming = self._is_over = False
        self._finishing = asyncio.Lock()
        self._row: RecordingRow | None = None

    @property
    def id(self) -> str:
        """`rec_…`"""
        return self.header.id

    def output(self, data: bytes) -> None:
        """Something was shown."""
        at_s = self._at_s()
        if not self._add_to_last(at_s, data):
            self._say(Output(at_s, data), len(data) + _SMALL)

    def resize(self, rows: int, cols: int) -> None:
        """The terminal has another size."""
        self._say(Resize(self._at_s(), rows, cols), _SMALL)

    def marker(self, text: str) -> None:
        """Something worth finding again happened."""
        self._say(Marker(self._at_s(), text), _SMALL + len(text))

    async def flush(self) -> None:
        """Returns when what was said is on disk. See `ports.Recording`."""
        if self._row is None and self._synced < self._said:
            await on_thread(self._desk.threads, self._sync)

    async def finish(self) -> RecordingRow:
        """Ends it. See `ports.Recording`."""
        self._is_over = True
        async with self._finishing:
            if self._row is None:
                self._row = await self._desk.keep(
                    self.header, await on_thread(self._desk.threads, self._finish)
                )
            return self._row

    def abandon(self) -> None:
        """Lets go of the file as it is, for another hub to finish. Blocks while a thread works on it."""
        self._is_over = True
        with self._turn:
            self._file.close()

    def _at_s(self) -> float:
        return self._desk.elapsed_s() - self._began_at_s

    def _add_to_last(self, at_s: float, data: bytes) -> bool:
        """Whether the newest piece of output still waits, and has taken this one in."""
        with self._queue:
            if self._is_over or not self._moves:
                return False
            weight, last = self._moves[-1]
            waiting = self._said - self._taken
            within_s = _TOGETHER_S if waiting * 4 < self._max_waiting else _LATE_TOGETHER_S
            if (
                not isinstance(last, Output)
                or at_s - last.at_s > within_s
                or len(last.data) + len(data) > _TOGETHER_BYTES
                or waiting + len(data) > self._max_waiting
            ):
                return False
            self._moves[-1] = weight + len(data), Output(last.at_s, last.data + data)
            self._said += len(data)
        return True

    def _say(self, move: Move, weight: int) -> None:
        if self._is_over:
            return
        waiting = self._said - self._taken
        if waiting + weight > self._max_waiting:
            self._is_over = True
            move, weight = Cut(self._at_s(), "the disk of the hub did not keep up"), _SMALL
        self._said += weight
        self._moves.append((weight, move))
        if waiting + weight >= _EAGER and not self._is_coming:
            self._is_coming = True
            self._desk.threads.submit(self._come)

    # On a thread:

    def _come(self) -> None:
        """Takes what waits, without anybody waiting for it; who flushes hears what fails."""
        self._is_coming = False
        with self._turn:
            try:
                self._take()
            except (NoSpace, HubError):
                return

    def _sync(self) -> None:
        with self._turn:
            self._take()
            taken = self._taken
            self._file.sync()
            self._synced = taken

    def _finish(self) -> Finished:
        with self._turn:
            self._take()
            return self._file.finish()

    def _take(self) -> None:
        # While the disk is full nothing more is compressed, so that what waits is counted.
        self._file.drain()
        while True:
            with self._queue:
                if not self._moves:
                    return
                weight, move = self._moves.popleft()
            self._file.add(move)
            self._taken += weight
            if self._file.unwritten > _EAGER:
                self._file.drain()
