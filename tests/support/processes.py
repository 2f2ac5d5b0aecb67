"""Processes that tests have started: ended, so that nothing of them is left for the loop's end, and looked at."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Ends a command, its whole group and its pipes, however often this is cancelled meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # asyncio leaves pipes open that were not read to their end, and then waits for them.
    process._transport.close()  # type: ignore[attr-defined]
    cancelled = None
    while process.returncode is None:
        try:
            await process.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def runs(pid: int) -> bool:
    """Whether a process has not ended; whether somebody has reaped it is not its matter."""
    try:
        # The name, in parentheses, may hold spaces; the state comes after it.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False
