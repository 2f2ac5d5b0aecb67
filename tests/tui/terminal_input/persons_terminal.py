"""A real terminal device with a Textual program in this process on it, and a person in front.

async with persons_terminal(app) as person:
    person.type(b"q")
    await person.sees(b"…")
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from textual.app import App

BOUND_S = 20
_SIGNALS = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGTTOU, signal.SIGTTIN)


class Person:
    """Somebody who types, and sees what is written.

    Attributes:
        seen: all that was written to the terminal.
    """

    def __init__(self, ours: int) -> None:
        self.ours = ours
        self.seen = b""
        self._changed = asyncio.Event()

    def type(self, keys: bytes) -> None:
        """Types."""
        os.write(self.ours, keys)

    def resize(self, rows: int, cols: int) -> None:
        """Gives the terminal another size, which is told as the kernel tells those whose terminal it is."""
        termios.tcsetwinsize(self.ours, (rows, cols))
        signal.raise_signal(signal.SIGWINCH)

    async def sees(self, wanted: bytes) -> None:
        """Waits until this has been written."""
        await self.until(lambda: wanted in self.seen)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until something is so, looking after each piece that is written and now and then."""
        async with asyncio.timeout(BOUND_S):
            while not holds():
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await self._changed.wait()

    def forget(self) -> None:
        """Forgets what was written."""
        self.seen = b""

    def read(self) -> None:
        """Takes what has been written."""
        with contextlib.suppress(OSError):
            self.seen += os.read(self.ours, 65536)
        self._changed.set()


@contextlib.asynccontextmanager
async def persons_terminal(app: App[Any], *, rows: int = 24, cols: int = 80) -> AsyncIterator[Person]:
    """Runs a program on a terminal of its own until the end of the context, or its own."""
    with _device(rows, cols) as (ours, theirs), _as_this_process_has_it(theirs):
        person = Person(ours)
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, person.read)
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(app.run_async())
                try:
                    await person.until(lambda: app._running or running.done())
                    yield person
                finally:
                    if app._running:
                        app.exit()
                    async with asyncio.timeout(BOUND_S):
                        await asyncio.wait([running])
                    person.read()
        finally:
            loop.remove_reader(ours)


@contextlib.contextmanager
def _device(rows: int, cols: int) -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    termios.tcsetwinsize(theirs, (rows, cols))
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


@contextlib.contextmanager
def _as_this_process_has_it(device: int) -> Iterator[None]:
    """The device is this process's terminal, as Textual finds it; signals are as before afterwards."""
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    with (
        pytest.MonkeyPatch.context() as patch,
        io.FileIO(device, "r", closefd=False) as typed,
        open(device, "w", encoding="utf-8", closefd=False) as shown,
    ):
        patch.setattr(sys, "__stdin__", typed)
        patch.setattr(sys, "__stderr__", shown)
        patch.setenv("COLUMNS", "80")
        patch.setenv("LINES", "24")
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
