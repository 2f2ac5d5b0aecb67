"""A terminal with `cloche` in it, and somebody in front of it: a real one, of this host."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import sys
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from cloche_term import open_terminal
from cloche_term.terminal import Modes

CLOCHE = [sys.executable, "-m", "cloche.cli.main"]


ROWS, COLS = 30, 100


class Terminal:
    """A terminal with a program in it, and somebody in front of it.

    Attributes:
        seen: all that was written to it.
        answers: what it would have typed by itself to answer what was written to it.
        first_settings: of its line, before the program began.
    """

    def __init__(
        self, ours: int, process: asyncio.subprocess.Process, rows: int, cols: int, first_settings: list[Any]
    ) -> None:
        self.ours, self.process, self.first_settings = ours, process, first_settings
        self.seen = self.answers = b""
        self._emulator = open_terminal(rows, cols)

    @property
    def screen(self) -> str:
        """What a person sees, its rows with line feeds between."""
        return "\n".join(self._emulator.text()).rstrip()

    @property
    def settings(self) -> list[Any]:
        """Of its line, as `termios` has them."""
        return termios.tcgetattr(self.ours)

    @property
    def shows_cursor(self) -> bool:
        """Whether a person sees where they type."""
        return self._emulator.cursor.is_visible

    @property
    def modes(self) -> Modes:
        """What the program has switched on in it."""
        return self._emulator.modes

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

    async def lacks(self, *unwanted: str) -> None:
        """Waits until a person sees nothing of this any more."""
        await self.until(lambda: not any(text in self.screen for text in unwanted))

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Waits until what has been written makes it so."""
        while not is_there():
            piece = await asyncio.to_thread(self._read)
            assert piece, f"it ended with {self.seen!r}"
            self.take(piece)

    def take(self, piece: bytes) -> None:
        """Shows what was read from `ours` by others."""
        self.seen += piece
        self.answers += self._emulator.feed(piece)

    async def ends(self) -> int:
        """Waits for the program's end; all it wrote is in `seen` then."""
        while piece := await asyncio.to_thread(self._read):
            self.take(piece)
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
    async with program_in_terminal([*CLOCHE, *argv], rows, cols, env=env, bound_s=bound_s) as terminal:
        yield terminal


@contextlib.asynccontextmanager
async def program_in_terminal(
    argv: Sequence[str],
    rows: int = ROWS,
    cols: int = COLS,
    *,
    env: Mapping[str, str] | None = None,
    bound_s: float = 50,
) -> AsyncIterator[Terminal]:
    """Any program of this host in a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, cols))
    settings = termios.tcgetattr(theirs)
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, **(env or {}), "TERM": "xterm-256color"},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )  # fmt: skip
    os.close(theirs)
    terminal = Terminal(ours, process, rows, cols, settings)
    try:
        async with asyncio.timeout(bound_s):
            yield terminal
    except TimeoutError as error:
        raise AssertionError(f"not within {bound_s} s; on the screen is:\n{terminal.screen}") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        os.close(ours)
