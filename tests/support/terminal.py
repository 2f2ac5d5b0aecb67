"""A terminal with `cloche shell` in it, and somebody in front of it: a real one, of this host."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import sys
import termios
from collections.abc import AsyncIterator, Mapping

CLOCHE = [sys.executable, "-m", "cloche.cli.main"]


class Terminal:
    """A terminal with a program in it, and somebody in front of it."""

    def __init__(self, ours: int, process: asyncio.subprocess.Process) -> None:
        self.ours, self.process = ours, process
        self.seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def resize(self, rows: int, cols: int) -> None:
        termios.tcsetwinsize(self.ours, (rows, cols))

    async def shows(self, wanted: bytes) -> None:
        """Waits until it is on the screen."""
        while wanted not in self.seen:
            piece = await asyncio.to_thread(self._read)
            assert piece, f"it ended with {self.seen!r}"
            self.seen += piece

    async def ends(self) -> int:
        """Waits for the program's end; all it wrote is in `seen` then."""
        while piece := await asyncio.to_thread(self._read):
            self.seen += piece
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
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    process = await asyncio.create_subprocess_exec(
        *CLOCHE, "shell", *argv,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, **(env or {}), "TERM": "xterm-256color"},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )  # fmt: skip
    os.close(theirs)
    try:
        async with asyncio.timeout(bound_s):
            yield Terminal(ours, process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        os.close(ours)
