"""This program's own standard streams, read and written without ever holding up the loop.

Rule: reading and writing here can block for ever (a terminal, a full pipe), so daemon threads do it: the loop goes on
answering the hub, and the program can end while they wait.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from cloche.cli.failures import PipeClosed, unwritable

T = TypeVar("T")

STDIN, STDOUT, STDERR = 0, 1, 2
_PIECE = 64 << 10


def read(descriptor: int) -> bytes:
    """The next bytes; empty at the end, which a terminal that went away and a closed descriptor are too. Blocks."""
    try:
        return os.read(descriptor, _PIECE)
    except OSError:
        return b""


def write_all(descriptor: int, piece: bytes) -> None:
    """Writes all of it. Blocks.

    Raises:
        PipeClosed: nobody reads it any more.
        CodedError: it cannot be written.
    """
    view = memoryview(piece)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        raise PipeClosed from None
    except OSError as error:
        raise unwritable(error) from None


class Worker:
    """A daemon thread that does one blocking thing at a time; it ends with the program."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    async def do(self, function: Callable[[], T]) -> T:
        """Runs it in the thread. Cancelling does not stop it: its result is lost."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._work.put((function, done))
        return await done

    def _run(self) -> None:
        while True:
            function, done = self._work.get()
            result, error = None, None
            try:
                result = function()
            except Exception as raised:
                # It belongs to whoever asked for the work.
                error = raised
            try:
                self._loop.call_soon_threadsafe(_settle, done, result, error)
            except RuntimeError:
                return  # the loop has ended, and nobody waits any more


def _settle(done: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
