"""A named pipe that tells a test what a command does, and whether anything of it still runs.

Rule: nothing here waits in a thread: where a command fails there is no writer, and such a thread could not be ended.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path


@asynccontextmanager
async def fifo_at(path: Path) -> AsyncIterator[asyncio.StreamReader]:
    """Makes a named pipe; what is written to it is read here, to its end when nobody has it open any more."""
    os.mkfifo(path)
    reader = asyncio.StreamReader()
    pipe = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    with closing(transport):
        yield reader
