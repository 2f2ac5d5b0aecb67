"""The hub's emulator of one console: fed with what the guest shows, asked for the screen as it is.

What comes in is taken at once and fed a little later, slice by slice: an emulator takes its time, and the loop is
everybody's. What has not been fed yet is no more than a window, since it is not acknowledged.

Rules:
- SAFETY: the guest chooses every byte. A few of them can have the emulator touch every cell of the screen or all of its
  scrollback, so a slice is as long as the last ones allow in a few milliseconds; and the consoles of one sandbox have a
  quarter of the loop at most (`fair`).
- A screen is sent as bytes of the emulator's own that make it, followed by what has not been fed yet.
- A dear screen is not made again at once, however many viewers want one; a very dear one, with scrollback or of very
  many cells, is made by a thread from a copy.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import messages
from cloche_hub.services.fair import FairTurns
from cloche_term import Terminal, restore

MOST_SCREEN = 4 << 20
"""Bytes of a screen with scrollback; of a longer one there are fewer lines, but always the screen."""
SCREEN_REST = 10
"""How many times as long as it took to make a screen no other is made."""
MOST_CELLS = 4_000
"""Of a screen that is made between two turns of the loop: it takes a few milliseconds."""

_FIRST_SLICE, _LARGEST_SLICE = 1 << 10, 64 << 10
"""Bytes."""
_QUICK_S, _SLOW_S = 0.001, 0.004
"""Of a slice: the next one may be longer, or must be shorter."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """Not fed yet, and what viewers were told of it."""

    entry: Entry
    packed: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """A terminal as it was at one moment."""

    offset: int
    """Bytes of output it had seen."""
    snapshot: bytes
    pending: tuple[bytes, ...]
    """What had come but was not fed yet, as viewers are told of it."""


@dataclass(frozen=True, slots=True)
class Fed:
    """What the emulator has just been given, and what it answers."""

    entry: Entry
    answer: bytes = b""


class Display:
    """An emulator and what waits for it.

    Args:
        terminal: closed by `close`.
        offset: bytes of output it has seen.
        fair: turns at the loop.
        who: whose turns these are.
        on_fed: told of each slice, after it; must not wait.
        cpu_s: the processor time this thread has used.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        offset: int,
        fair: FairTurns,
        who: str,
        on_fed: Callable[[Fed], None],
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._cpu_s, self._slice = cpu_s, _FIRST_SLICE
        self.terminal = terminal
        self.offset = self.received = offset
        """Bytes of output the emulator has seen; and bytes that have come."""
        self.revision = 0
        """Another number whenever the screen may be another."""
        self._fair, self._who, self._on_fed = fair, who, on_fed
        self._pending: deque[_Pending] = deque()
        self._arrived, self._changed = asyncio.Event(), asyncio.Event()
        self._is_fed = asyncio.Event()
        self._is_fed.set()
        self._next_screen_at = 0.0
        # The newest screen's output, until it looks different.
        self._made: list[bytes] | None = None
        self.is_closed = False

    # What comes.

    def output(self, data: bytes) -> bytes:
        """The guest shows something; returns the message that viewers get."""
        packed = messages.output(data)
        self.received += len(data)
        self._take(_Pending(data, packed))
        return packed

    def resize(self, size: Size) -> bytes:
        """The console has another size from here on; returns the message that viewers get."""
        packed = messages.resized(size)
        self._take(_Pending(size, packed))
        return packed

    def lose(self, count: int) -> None:
        """So many bytes are missing here. Only while nothing waits to be fed."""
        assert not self._pending
        self.received += count
        self.offset += count
        self.touch()

    async def feed_for_ever(self) -> None:
        """Feeds what comes, until cancelled."""
        while True:
            await self._arrived.wait()
            while self._pending and not self.is_closed:
                async with self._fair.turn(self._who):
                    self._feed_one()
                # Everybody else has a turn between two slices.
                await asyncio.sleep(0)
            self._arrived.clear()
            self._is_fed.set()

    async def wait_fed(self) -> None:
        """Returns when nothing waits to be fed. Cancelling loses nothing."""
        await self._is_fed.wait()

    def give_up(self) -> int:
        """Nobody waits for what has not been fed any more; returns how many bytes that was."""
        given_up = sum(len(one.entry) for one in self._pending if isinstance(one.entry, bytes))
        self._pending.clear()
        self._is_fed.set()
        return given_up

    # What shows.

    async def wait_changed(self, revision: int) -> None:
        """Returns when the screen may be another than at that revision, or is closed."""
        while self.revision == revision and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()

    def until_screen_s(self) -> float:
        """How long no screen is to be made yet."""
        return max(0.0, self._next_screen_at - time.monotonic())

    def is_dear(self, *, scrollback: int) -> bool:
        """Whether a screen has to be made from a copy."""
        return scrollback > 0 or self.terminal.rows * self.terminal.cols > MOST_CELLS

    def copy(self) -> Copy:
        """What a thread makes a screen from, and what has come but is not fed yet."""
        offset, snapshot = self.snapshot()
        return Copy(offset, snapshot, tuple(one.packed for one in self._pending))

    def screen(self, *, lost_bytes: int) -> list[bytes]:
        """The messages that make the whole screen, as it is after all that has come. For one that is not dear."""
        if self._made is None:
            began = time.monotonic()
            self._made = list(messages.outputs(self.terminal.dump(scrollback_lines=0)))
            now = time.monotonic()
            self._next_screen_at = now + (now - began) * SCREEN_REST
        size = Size(self.terminal.rows, self.terminal.cols)
        first = messages.screen(size, lost_bytes=lost_bytes)
        return [first, *self._made, messages.live(self.offset), *(one.packed for one in self._pending)]

    def snapshot(self) -> tuple[int, bytes]:
        """How many bytes the emulator has seen, and everything it knows."""
        return self.offset, self.terminal.snapshot()

    def close(self) -> None:
        """Gives the emulator back. Idempotent."""
        if not self.is_closed:
            self.is_closed = True
            self._made = None
            self.terminal.close()
            self._changed.set()

    def _take(self, pending: _Pending) -> None:
        if self._pending and isinstance(pending.entry, Size) and isinstance(self._pending[-1].entry, Size):
            # Who drags a window's corner makes a hundred sizes, of which one counts.
            self._pending.pop()
        self._pending.append(pending)
        self._is_fed.clear()
        self._arrived.set()

    def _feed_one(self) -> None:
        pending = self._pending.popleft()
        if isinstance(pending.entry, Size):
            self.terminal.resize(pending.entry.rows, pending.entry.cols)
            fed = Fed(pending.entry)
        else:
            data, rest = pending.entry[: self._slice], pending.entry[self._slice :]
            if rest:
                self._pending.appendleft(replace(pending, entry=rest, packed=messages.output(rest)))
            began_s = self._cpu_s()
            fed = Fed(data, self.terminal.feed(data))
            self._slice = slice_after(self._slice, self._cpu_s() - began_s)
            self.offset += len(data)
        self.touch()
        self._on_fed(fed)

    def touch(self) -> None:
        """The screen is to be looked at anew."""
        self.revision += 1
        self._made = None
        self._changed.set()


def screen_of(terminal: Terminal, offset: int, *, scrollback: int, lost_bytes: int = 0) -> list[bytes]:
    """The messages that make the screen of a terminal. It takes its time: for a thread that has the terminal to itself.

    Args:
        terminal: what has seen so many bytes as `offset` says.
        offset: as above.
        scrollback: lines above the screen, as far as they fit `MOST_SCREEN`.
        lost_bytes: what the viewer is told.
    """
    first = messages.screen(Size(terminal.rows, terminal.cols), lost_bytes=lost_bytes)
    # As many as fit if they are plain; it takes some 100 µs to look at one.
    lines = min(scrollback, MOST_SCREEN // terminal.cols)
    dump = terminal.dump(scrollback_lines=lines)
    while len(dump) > MOST_SCREEN and lines:
        # At least half of them go each time.
        lines = min(lines // 2, lines * MOST_SCREEN // len(dump))
        dump = terminal.dump(scrollback_lines=lines)
    return [first, *messages.outputs(dump), messages.live(offset)]


def screen_of_copy(copy: Copy, *, scrollback: int) -> list[bytes]:
    """The same of a copy."""
    with contextlib.closing(restore(copy.snapshot)) as terminal:
        return [*screen_of(terminal, copy.offset, scrollback=scrollback), *copy.pending]


def slice_after(slice_bytes: int, took_s: float) -> int:
    """How long the next slice may be, after one of so many bytes that took so long."""
    if took_s > _SLOW_S:
        # In one go: what takes a second now must not take half of one next.
        return max(1, int(slice_bytes * _SLOW_S / took_s))
    return min(2 * slice_bytes, _LARGEST_SLICE) if took_s < _QUICK_S else slice_bytes
