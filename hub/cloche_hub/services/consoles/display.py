"""What one console shows: an emulator that is fed with what the guest shows, and asked for the screen as it is.

What comes in is taken at once and fed a little later, slice by slice: an emulator takes its time. What has not been fed
yet is no more than a window, since it is not acknowledged.

Rules:
- One request at a time. In the step in which an answer has come nothing else is under way: `offset`, what waits to be
  fed, what stores the console and the emulator agree, as long as whoever has the answer does not wait.
- SAFETY: the guest chooses every byte. A few of them can have the emulator touch every cell of the screen or all of its
  scrollback, so a slice is as long as the last ones allow in a few milliseconds; and the consoles of one sandbox have a
  quarter of a processor at most (`fair`).
- A screen is sent as bytes of the emulator's own that make it, followed by what has not been fed yet. One is not made
  again at once, however many viewers want it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.emulator import Emulator
from cloche_hub.services.fair import FairTurns
from cloche_term.apart.frames import Look
from cloche_term.apart.terminal import ApartTerminal

MOST_SCREEN = 4 << 20
"""Bytes of a screen with scrollback; of a longer one there are fewer lines, but always the screen."""
SCREEN_REST = 10
"""How many times as long as it took to make a screen no other is made."""

_FIRST_SLICE, _LARGEST_SLICE = 1 << 10, 64 << 10
"""Bytes."""
_MANY, _SHORT = 64, 1 << 10
"""Where so many pieces wait, those of fewer bytes than that are joined."""
_QUICK_S, _SLOW_S = 0.001, 0.004
"""Of a slice: the next one may be longer, or must be shorter."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """Not fed yet, and what viewers were told of it."""

    entry: Entry
    packed: bytes


@dataclass(frozen=True, slots=True)
class Fed:
    """What the emulator has just been given, and what it answers."""

    entry: Entry
    answer: bytes = b""


@dataclass(frozen=True, slots=True)
class Screen:
    """The messages that make a whole screen, as it is after all that has come."""

    size: Size
    rest: tuple[bytes, ...]
    """All but the first."""

    def told(self, *, lost_bytes: int) -> list[bytes]:
        """To somebody who has missed so many bytes."""
        return [messages.screen(self.size, lost_bytes=lost_bytes), *self.rest]


@dataclass(frozen=True, slots=True)
class Shown:
    """The screen as text, and of which moment."""

    look: Look
    offset: int
    revision: int
    cost_s: float
    """Processor time of looking."""


class Display:
    """An emulator and what waits for it.

    Args:
        emulator: closed by `close`.
        fair: turns at an emulator.
        who: whose turns these are.
        on_fed: told of each slice, after it; must not wait.
    """

    def __init__(
        self, emulator: Emulator, *, fair: FairTurns, who: str, on_fed: Callable[[Fed], None]
    ) -> None:
        self._emulator, self._slice = emulator, _FIRST_SLICE
        self.received = emulator.offset
        """Bytes of output that have come."""
        self.revision = 0
        """Another number whenever the screen may be another."""
        self._fair, self._who, self._on_fed = fair, who, on_fed
        self._lock = asyncio.Lock()
        self._pending: deque[_Pending] = deque()
        self._arrived, self._changed = asyncio.Event(), asyncio.Event()
        self._is_fed = asyncio.Event()
        self._is_fed.set()
        self._next_plain_at = self._next_above_at = 0.0
        # The newest screen's output, until it looks different.
        self._made: list[bytes] | None = None
        self.is_closed = False

    @property
    def offset(self) -> int:
        """Bytes of output the emulator has seen."""
        return self._emulator.offset

    @property
    def title(self) -> str:
        """What the program has called its window."""
        return self._emulator.title

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
        self._emulator.skip(count)
        self.touch()

    async def feed_for_ever(self) -> None:
        """Feeds what comes, until cancelled."""
        while True:
            await self._arrived.wait()
            # Those who look on are sent it first: nobody waits for the emulator.
            await asyncio.sleep(0)
            while self._pending and not self.is_closed:
                async with self._fair.turn(self._who) as turn:
                    turn.cost_s = await self._feed_one()
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

    def until_screen_s(self, *, scrollback: bool) -> float:
        """How long no screen is to be made yet, of those with scrollback or of the others."""
        at = self._next_above_at if scrollback else self._next_plain_at
        return max(0.0, at - time.monotonic())

    async def screen(self, *, scrollback: int) -> Screen:
        """The whole screen, as it is in the step in which this returns. Cancelling loses nothing.

        Args:
            scrollback: lines above it, as far as they fit `MOST_SCREEN`.

        Raises:
            TerminalLost: it was closed.
        """
        async with self._lock:
            if scrollback:
                outputs, cost_s = await self._made_with(scrollback)
                self._next_above_at = time.monotonic() + cost_s
            elif self._made is None:
                outputs = list(messages.outputs(await self._emulator.dump(scrollback_lines=0)))
                self._made = outputs
                self._next_plain_at = time.monotonic() + self._emulator.cost_s * SCREEN_REST
            else:
                outputs = self._made
            waiting = (one.packed for one in self._pending)
            return Screen(self._emulator.size, (*outputs, messages.live(self.offset), *waiting))

    async def look(self) -> Shown:
        """The screen as text. Raises as `screen`."""
        async with self._lock:
            look = await self._emulator.look()
            return Shown(look, self.offset, self.revision, self._emulator.cost_s)

    async def snapshot(self) -> tuple[int, bytes]:
        """How many bytes the emulator has seen in the step in which this returns, and everything it knows.

        Raises:
            TerminalLost: it was closed, or there is no terminal any more.
        """
        async with self._lock:
            snapshot = await self._emulator.snapshot()
            return self.offset, snapshot

    def touch(self) -> None:
        """The screen is to be looked at anew."""
        self.revision += 1
        self._made = None
        self._changed.set()

    def close(self) -> None:
        """Gives the emulator back. Idempotent."""
        if not self.is_closed:
            self.is_closed = True
            self._made = None
            self._emulator.close()
            self._changed.set()

    async def _made_with(self, scrollback: int) -> tuple[list[bytes], float]:
        """The output that makes a screen with scrollback, and what it cost."""
        cost_s = 0.0

        async def dump(lines: int) -> bytes:
            nonlocal cost_s
            dump = await self._emulator.dump(scrollback_lines=lines)
            cost_s += self._emulator.cost_s
            return dump

        made = await _largest_that_fits(dump, cols=self._emulator.size.cols, scrollback=scrollback)
        return list(messages.outputs(made)), cost_s

    def _take(self, pending: _Pending) -> None:
        if self._pending and isinstance(pending.entry, Size) and isinstance(self._pending[-1].entry, Size):
            # Who drags a window's corner makes a hundred sizes, of which one counts.
            self._pending.pop()
        self._pending.append(self._joined(pending))
        self._is_fed.clear()
        self._arrived.set()

    def _joined(self, pending: _Pending) -> _Pending:
        """This, with the output before it if both are short, and many wait.

        SAFETY: a window's worth of single bytes, each kept by itself, would be seventy times as large.
        """
        before = self._pending[-1].entry if len(self._pending) >= _MANY else None
        if not isinstance(before, bytes) or not isinstance(pending.entry, bytes):
            return pending
        if len(before) + len(pending.entry) > _SHORT:
            return pending
        self._pending.pop()
        joined = before + pending.entry
        return _Pending(joined, messages.output(joined))

    async def _feed_one(self) -> float:
        """Feeds the next slice, or gives the next size; returns what that cost in processor time."""
        async with self._lock:
            if not self._pending:
                # It was given up meanwhile.
                return 0.0
            pending = self._pending.popleft()
            if isinstance(pending.entry, Size):
                await self._emulator.resize(pending.entry)
                fed = Fed(pending.entry)
            else:
                fed = await self._feed(pending, pending.entry)
            self.touch()
            self._on_fed(fed)
            return self._emulator.cost_s

    async def _feed(self, pending: _Pending, output: bytes) -> Fed:
        data, rest = output[: self._slice], output[self._slice :]
        if rest:
            self._pending.appendleft(replace(pending, entry=rest, packed=messages.output(rest)))
        losses = self._emulator.losses
        answer = await self._emulator.feed(data)
        if self._emulator.losses == losses:
            self._slice = slice_after(self._slice, self._emulator.cost_s)
        else:
            # How long that took says nothing of the next slice.
            self._slice = min(self._slice, _FIRST_SLICE)
        return Fed(data, answer)


async def screen_of(terminal: ApartTerminal, *, scrollback: int) -> list[bytes]:
    """The messages that make the screen of a terminal that is fed no more.

    Raises:
        TerminalError: it cannot be had.
    """
    size = Size(terminal.state.rows, terminal.state.cols)

    async def dump(lines: int) -> bytes:
        return await terminal.dump(scrollback_lines=lines)

    made = await _largest_that_fits(dump, cols=size.cols, scrollback=scrollback)
    return [messages.screen(size, lost_bytes=0), *messages.outputs(made), messages.live(0)]


async def _largest_that_fits(dump: Callable[[int], Awaitable[bytes]], *, cols: int, scrollback: int) -> bytes:
    """A dump with so many lines of scrollback, or as many as fit `MOST_SCREEN`."""
    # As many as fit if they are plain; it takes some 100 µs to look at one.
    lines = min(scrollback, MOST_SCREEN // cols)
    made = await dump(lines)
    while len(made) > MOST_SCREEN and lines:
        # At least half of them go each time.
        lines = min(lines // 2, lines * MOST_SCREEN // len(made))
        made = await dump(lines)
    return made


def slice_after(slice_bytes: int, took_s: float) -> int:
    """How long the next slice may be, after one of so many bytes that took so long."""
    if took_s > _SLOW_S:
        # In one go: what takes a second now must not take half of one next.
        return max(1, int(slice_bytes * _SLOW_S / took_s))
    return min(2 * slice_bytes, _LARGEST_SLICE) if took_s < _QUICK_S else slice_bytes
