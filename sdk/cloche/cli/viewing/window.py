"""The window a console is shown in: our terminal, taken and given back, and what has to be done in it in time.

What is to be written is decided in `view`; this is what writes it, for a console and for a recording alike.

Rules:
- One writer: what `view` returns is written in the order it was asked for. A terminal that takes nothing is waited for
  in a thread, so that nothing else has to wait.
- However it ends, the terminal is put back.
- Where a console is emulated here and comes faster than that, what it has shown meanwhile is left out, and the screen
  told anew: what is seen is a moment old at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cloche.cli.output import said_elsewhere
from cloche.cli.streams import STDIN, STDOUT, Worker, write_all
from cloche.cli.terminal import drop_typed, raw_mode, set_raw, window_size
from cloche.cli.viewing.emulator import Slices
from cloche.cli.viewing.last_line import LastLine
from cloche.cli.viewing.view import Size, View
from cloche.console_events import Live, Output
from cloche_wire.aio.bounds import within

if TYPE_CHECKING:
    from cloche.cli.session import Interrupts
    from cloche.console_events import ConsoleEvent
    from cloche_term import Terminal

_FRAME_S = 1 / 30
_UPDATE_S = 1.0
"""How long a program that is in the middle of changing its screen is waited for."""
_LAST_WORD_S = 2.0
_MOST_BEHIND_S = 1.0
_IDLE_S = 0.05
"""When nothing has come for so long, all that had come is shown."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where what is shown comes from."""

    refresh: Callable[[], Awaitable[None]]
    """Has the screen told anew."""
    resize: Callable[[Size], Awaitable[None]]
    """Is told the window's size when it has changed."""
    status: Callable[[], str]
    """The last line of a painted console."""


class Window:
    """Our terminal, with a console in it."""

    def __init__(self, *, is_driving: bool, source: Terminal | None = None) -> None:
        """Takes nothing yet.

        Args:
            is_driving: whether the keyboard is the console's.
            source: the terminal that the console is in, if it is at hand; see `View`.
        """
        size, encoding = Size(*window_size(STDOUT)), sys.stdout.encoding or "utf-8"
        self._view = View(size, is_driving=is_driving, encoding=encoding, source=source)
        self._slices = Slices()
        self._busy_since = self._idle_since = 0.0
        self._screen, self._turn = Worker("terminal"), asyncio.Lock()
        self._news = asyncio.Event()
        self._has_other_size = False
        self._line = LastLine()

    @contextlib.asynccontextmanager
    async def taken(self, interrupts: Interrupts, line_of: Callable[[str], str]) -> AsyncIterator[None]:
        """Takes the terminal; gives it back afterwards, however that comes.

        Args:
            interrupts: what signals do.
            line_of: makes the line of what would be said on stderr.
        """
        with (
            raw_mode(STDIN) as put_back,
            interrupts.before_exit(partial(self._leave_at_once, put_back)),
            said_elsewhere(lambda text, lasts: self._say(line_of(text), lasts=lasts)),
            self._told_of_signals(),
        ):
            try:
                yield
            finally:
                await self._close()

    @property
    def is_painted(self) -> bool:
        """Whether what is shown goes when the terminal is given back."""
        return self._view.is_painted

    async def take(self, *events: ConsoleEvent) -> None:
        """Shows what has happened, with nothing in between."""
        async with self._turn:
            for event in events:
                if isinstance(event, Output) and self._view.is_emulated:
                    await self._emulate(event.data)
                else:
                    await self._write(self._view.take(event))
                if isinstance(event, Live):
                    self._busy_since = asyncio.get_running_loop().time()
        self._news.set()

    def drive(self, *, is_driving: bool) -> None:
        """The keyboard is the console's from now on, or no longer is."""
        self._view.drive(is_driving=is_driving)
        self._news.set()

    def announce(self, line: str) -> None:
        """Has a line shown for a moment, unless one lasts that says more."""
        self._line.announce(line)
        self._news.set()

    async def tend(self, source: Source) -> None:
        """Does what becomes due: another size, a line that comes or goes, the screen anew, a frame. Never returns."""
        now = asyncio.get_running_loop().time
        held_since: float | None = None
        while True:
            await self._wait_for_news(now())
            if self._has_other_size:
                self._has_other_size = False
                window = Size(*window_size(STDOUT))
                self._view.resize(window)
                await source.resize(window)
            await self._change_line(now())
            if self._view.needs_screen():
                await source.refresh()
            held_since = (held_since or now()) if self._view.is_in_update else None
            if held_since is None or now() >= held_since + _UPDATE_S:
                async with self._turn:
                    await self._write(self._view.let_go() if held_since is not None else b"")
                    await self._write(self._view.frame(source.status()))
            if self._view.is_painted:
                await asyncio.sleep(_FRAME_S)

    def _say(self, line: str, *, lasts: bool) -> None:
        self._line.say(line, lasts=lasts)
        self._news.set()

    async def _emulate(self, data: bytes) -> None:
        now = asyncio.get_running_loop().time
        if now() - self._idle_since > _IDLE_S:
            self._busy_since = now()
        async for piece in self._slices.of(data):
            self._view.take(Output(piece))
            if now() - self._busy_since > _MOST_BEHIND_S:
                self._view.skip()
        self._idle_since = now()

    async def _wait_for_news(self, now: float) -> None:
        until = [self._line.until] if self._line.until is not None else []
        until += [now + _UPDATE_S] if self._view.is_in_update else []
        with contextlib.suppress(TimeoutError):
            async with within(max(min(until) - now, 0) if until else None):
                await self._news.wait()
        self._news.clear()

    async def _change_line(self, now: float) -> None:
        line = self._line.take(now)
        if line is not None:
            async with self._turn:
                await self._write(self._view.announce(line))
        elif self._line.ends(now):
            self._view.withdraw()

    async def _write(self, data: bytes) -> None:
        if data:
            await self._screen.do(partial(write_all, STDOUT, data))

    @contextlib.contextmanager
    def _told_of_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._on_size)
        loop.add_signal_handler(signal.SIGCONT, self._on_continue)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_signal_handler(signal.SIGCONT)

    def _on_size(self) -> None:
        self._has_other_size = True
        self._news.set()

    def _on_continue(self) -> None:
        """We were stopped, and our shell has had the terminal."""
        set_raw(STDIN)
        self._view.spoil()
        self._on_size()

    async def _close(self) -> None:
        is_reporting, last = self._view.is_reporting, self._view.close()
        # A terminal that is gone or takes nothing needs nothing; the error that is on its way tells more.
        with contextlib.suppress(Exception):
            async with within(_LAST_WORD_S):
                await self._write(last)
        # What was typed ahead is for the shell behind us, but not what the mouse has typed.
        if is_reporting:
            drop_typed(STDIN)

    def _leave_at_once(self, put_back: Callable[[], None]) -> None:
        """As `_close`, for a program that ends on the spot."""
        if select.select([], [STDOUT], [], 0)[1]:
            with contextlib.suppress(OSError):
                os.write(STDOUT, self._view.close())
        put_back()
