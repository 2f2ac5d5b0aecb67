"""A recording played in our terminal, as if it happened now.

Keys: space pauses and goes on, `.` shows the next thing while it is paused, `q` quits.

Rule: it is shown as a console is that somebody watches: through the same filter, painted where the sizes differ.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cloche.cli.failures import BY_SIGNAL
from cloche.cli.streams import STDIN, STDOUT
from cloche.cli.terminal import window_size
from cloche.cli.viewing.casts import CastReader, Header, Marked, Shown, SizeChanged, clock
from cloche.cli.viewing.emulator import Slices, guest_terminal
from cloche.cli.viewing.hints import announced
from cloche.cli.viewing.keyboard import Keyboard
from cloche.cli.viewing.window import Source, Window
from cloche.console_events import Live, Output, Resized, ScreenBegins
from cloche.errors import BadRequest
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche.cli.session import Interrupts
    from cloche.cli.viewing.casts import CastLine
    from cloche.cli.viewing.view import Size
    from cloche_term import Terminal

_KEYS = "space pauses, q quits"
_PAUSED_KEYS = "space goes on, . is the next step, q quits"
_SCROLLBACK = 1000
"""Lines that come back when the console grows: no console is higher."""
_INTERRUPT = b"\x03"
_LEAVES = (b"q", _INTERRUPT, b"\x1d", b"")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a recording is played."""

    speed: float = 1.0
    """How much faster than it was."""
    idle_limit_s: float | None = None
    """The longest that nothing happens, before it is made faster; None: as long as nothing did."""

    def wait_s(self, gap_s: float) -> float:
        """How long to wait where so much time had passed."""
        return min(gap_s, self.idle_limit_s if self.idle_limit_s is not None else gap_s) / self.speed


async def play(pieces: AsyncIterator[bytes], pace: Pace, interrupts: Interrupts) -> int:
    """Plays a recording.

    Args:
        pieces: its text.
        pace: how fast.
        interrupts: what signals do.

    Returns:
        The exit status: 0 however it ended, but after ctrl-C that of a program ended by SIGINT.

    Raises:
        BadRequest: it is no recording.
        CodedError: it could not be read to its end.
    """
    lines = _lines(pieces)
    header = await anext(lines, None)
    if not isinstance(header, Header):
        raise BadRequest("there is nothing in this recording")
    # What the hub's emulator is to a console: it has the screen when the window needs it anew.
    with closing(guest_terminal(header.rows, header.cols, scrollback_lines=_SCROLLBACK)) as terminal:
        window = Window(is_driving=False, source=terminal)
        player = _Player(header, lines, pace, window, terminal)
        async with window.taken(interrupts, player.line_of):
            return await player.run()


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[CastLine]:
    reader = CastReader()
    async for piece in pieces:
        for line in reader.read(piece):
            yield line
    for line in reader.end():
        yield line


class _Player:
    def __init__(
        self,
        header: Header,
        lines: AsyncIterator[CastLine],
        pace: Pace,
        window: Window,
        terminal: Terminal,
    ) -> None:
        self._header, self._lines, self._pace, self._window = header, lines, pace, window
        self._terminal, self._slices = terminal, Slices()
        self._at_s = 0.0
        self._is_paused = False

    def line_of(self, text: str = "") -> str:
        """The line of something to be told, with what the keys are, and that it is paused."""
        said = [f"paused at {clock(self._at_s)}"] if self._is_paused else []
        line = " · ".join([*said, text] if text else said)
        return announced(line, self._keys, window_size(STDOUT)[1]) if line else self._keys

    def announce(self, text: str = "") -> None:
        """Has it shown for a moment."""
        self._window.announce(self.line_of(text))

    async def run(self) -> int:
        """Plays to the end, or until it is quit; returns the exit status."""
        self.announce()
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                tend = tasks.create_task(
                    self._window.tend(Source(self._tell_screen, self._resize, self._status))
                )
                left_by = await self._play()
                tend.cancel()
        return BY_SIGNAL + signal.SIGINT if left_by == _INTERRUPT else 0

    @property
    def _keys(self) -> str:
        return _PAUSED_KEYS if self._is_paused else _KEYS

    async def _play(self) -> bytes | None:
        """Plays it; returns the key that it was left by, if it was."""
        keyboard = Keyboard(STDIN)
        await self._tell_screen()
        async for line in self._lines:
            if isinstance(line, Header):
                continue
            left_by = await self._wait(self._pace.wait_s(line.at_s - self._at_s), keyboard)
            if left_by is not None:
                return left_by
            self._at_s = line.at_s
            await self._show(line)
        if self._window.is_painted:
            self._window.announce("the end · any key leaves")
            return await keyboard.read()
        return None

    async def _wait(self, wait_s: float, keyboard: Keyboard) -> bytes | None:
        """Waits for the next thing to happen; returns the key that leaves instead, if one was pressed."""
        now = asyncio.get_running_loop().time
        while True:
            began = now()
            typed = await keyboard.read(None if self._is_paused else max(wait_s, 0))
            wait_s -= 0 if self._is_paused else now() - began
            if typed is None or (typed == b"." and self._is_paused):
                return None
            if typed in _LEAVES:
                return typed
            if typed == b" ":
                self._is_paused = not self._is_paused
                self.announce()

    async def _show(self, line: Shown | SizeChanged | Marked) -> None:
        match line:
            case Shown(_, data):
                async for piece in self._slices.of(data):
                    self._terminal.feed(piece)
                    await self._window.take(Output(piece))
            case SizeChanged(_, rows, cols):
                self._terminal.resize(rows, cols)
                await self._window.take(Resized(rows, cols))
            case Marked(_, text):
                self.announce(text)
        if self._is_paused and not isinstance(line, Marked):
            # A step may have been shown over the line that says so.
            self.announce()

    async def _tell_screen(self) -> None:
        size = self._terminal.rows, self._terminal.cols
        dump = self._terminal.dump(scrollback_lines=0)
        await self._window.take(ScreenBegins(*size, 0), Output(dump), Live(0))

    async def _resize(self, _window: Size) -> None:
        """A recording keeps its own size."""

    def _status(self) -> str:
        title = self._header.title or "a recording"
        size = f"{self._terminal.cols}x{self._terminal.rows}"
        at = f"paused at {clock(self._at_s)}" if self._is_paused else clock(self._at_s)
        return announced(f"{at} · {title} · {size}", self._keys, window_size(STDOUT)[1])
