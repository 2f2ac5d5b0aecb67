"""A terminal with `cloche` in it, and somebody in front of it: a real one, of this host."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import sys
import termios
from collections.abc import AsyncIterator, Callable, Mapping

from cloche_term import open_terminal

CLOCHE = [sys.executable, "-m", "cloche.cli.main"]


ROWS, COLS = 30, 100


class Terminal:
    """A terminal with a program in it, and somebody in front of it.

    Attributes:
        seen: all that was written to it.
        answers: what it would have typed by itself to answer what was written to it.
    """

    def __init__(self, ours: int, process: asyncio.subprocess.Process, rows: int, cols: int) -> None:
        self.ours, self.process = ours, process
        self.seen = self.answers = b""
        self._emulator = open_terminal(rows, cols)

    @property
    def screen(self) -> str:
        """What a person sees, its rows with line feeds between."""
        return "\n".join(self._emulator.text()).rstrip()

    @property
    def is_alternate(self) -> bool:
        """Whether the other screen is shown."""
        return self._emulator.modes.is_alternate

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def resize(self, rows: int, cols: int) -> None:
        termios.tcsetwinsize(self.ours, (rows, cols))
        self._emulator.resize(rows, cols)

    async def shows(self, wanted: bytes) -> None:
        """Waits until it has been written."""
        await self.until(lambda: wanted in self.seen)

    async def has_on_screen(self, *wanted: str) -> None:
        """Waits until a person sees all of this."""
        await self.until(lambda: all(text in self.screen for text in wanted))

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Waits until what has been written makes it so."""
        while not is_there():
            piece = await asyncio.to_thread(self._read)
            assert piece, f"it ended with {self.seen!r}"
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        self.seen += piece
        self.answers += self._emulator.feed(piece)

    async def ends(self) -> int:
        """Waits for the program's end; all it wrote is in `seen` then."""
        while piece := await asyncio.to_thread(self._read):
            self._take(piece)
        return await self.process.wait()

    def _read(self) -> bytes:
        with contextlib.suppress(OSError):
            return os.read(self.ours, 65536)
        return b""


@contextlib.asynccontextmanager
async def shell_in_terminal(
    *argv: str, env: Mapping[str, str] | None = None, bound_s: float = 50
) -> AsyncIterator[Terminal]:
    """`cloche shell …` in a terminal of 30 × 100."""
    async with cloche_in_terminal("shell", *argv, env=env, bound_s=bound_s) as terminal:
        yield terminal


@contextlib.asynccontextmanager
async def cloche_in_terminal(
    *argv: str,
    rows: int = ROWS,
    cols: int = COLS,
    env: Mapping[str, str] | None = None,
    bound_s: float = 50,
) -> AsyncIterator[Terminal]:
    """`cloche …` in a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, cols))
    process = await asyncio.create_subprocess_exec(
        *CLOCHE, *argv,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, **(env or {}), "TERM": "xterm-256color"},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )  # fmt: skip
    os.close(theirs)
    try:
        async with asyncio.timeout(bound_s):
            yield Terminal(ours, process, rows, cols)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        os.close(ours)
