"""Workers that say what a test has them say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import AsyncIterator

from cloche_term.apart.calls import Calls
from cloche_term.apart.process import WatchedProcess


class Worker:
    """A worker that says what a test has it say; its process is one that sleeps."""

    def __init__(self, calls: Calls, process: WatchedProcess, theirs: socket.socket) -> None:
        self.calls, self.process, self._theirs = calls, process, theirs

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            await asyncio.get_running_loop().sock_sendall(self._theirs, piece)

    def hang_up(self) -> None:
        """Ends the socket."""
        self._theirs.shutdown(socket.SHUT_RDWR)

    async def hear(self) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self._theirs, 1000)


@contextlib.asynccontextmanager
async def worker_of(patience_s: float = 30) -> AsyncIterator[Worker]:
    sleeper = subprocess.Popen(["sleep", "1000"])
    process = WatchedProcess(sleeper.pid, os.pidfd_open(sleeper.pid))
    ours, theirs = socket.socketpair()
    calls = Calls(process, patience_s=patience_s)
    try:
        ours.settimeout(0)
        theirs.settimeout(0)
        await asyncio.get_running_loop().create_unix_connection(lambda: calls, sock=ours)
        yield Worker(calls, process, theirs)
    finally:
        calls.lose("the test is over")
        assert await process.wait(within_s=10)
        sleeper.wait(10)
        theirs.close()
