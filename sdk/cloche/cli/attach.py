"""A command in a sandbox, joined to this program's standard input, output and error.

Bytes pass untouched, the two outputs apart, with back-pressure all the way: whoever reads our output slowly slows the
command down. Signals go to the command and everything it started; a second one of a kind gives up on it.

Rule: reading and writing here can block for ever (a terminal, a full pipe), so daemon threads do it: the loop goes on
answering the hub, and the program can end while they wait.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

from cloche.aio import Output, Process
from cloche.cli.failures import PipeClosed, unwritable
from cloche.cli.session import Interrupts
from cloche.errors import WrongState
from cloche.messages import Completed, ExitStatus
from cloche.together import together
from cloche_wire.errors import ungrouped

T = TypeVar("T")

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_PIECE = 64 << 10


async def attach(process: Process, interrupts: Interrupts, *, stdin: bool) -> ExitStatus:
    """Joins a command to our standard streams until it has ended and all it wrote is written here.

    Raises:
        PipeClosed: whoever reads our output wants no more.
        CodedError: the command was lost.
    """
    copies = (_copy(process.stdout, _STDOUT), _copy(process.stderr, _STDERR))
    ended, _ = await _attend(process, interrupts, copies, stdin=stdin)
    return ended


async def collect(process: Process, interrupts: Interrupts, *, stdin: bool) -> Completed:
    """Like `attach`, but keeps what the command writes instead of writing it here."""
    reads = (process.stdout.read_all(), process.stderr.read_all())
    ended, (stdout, stderr) = await _attend(process, interrupts, reads, stdin=stdin)
    return Completed(ended.exit_code, ended.signal, ended.timed_out, ended.duration_s, stdout, stderr)


async def _attend(
    process: Process, interrupts: Interrupts, outputs: Iterable[Coroutine[Any, Any, T]], *, stdin: bool
) -> tuple[ExitStatus, list[T]]:
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            feeding = tasks.create_task(_feed(process)) if stdin else None

            def forward(name: str) -> None:
                tasks.create_task(process.signal(name))

            with interrupts.forwarding(forward):
                written = await together(*outputs)
                ended = await process.wait()
            if feeding is not None:
                feeding.cancel()
    return ended, written


async def _copy(output: Output, descriptor: int) -> None:
    worker = _Worker("stdout" if descriptor == _STDOUT else "stderr")
    async for piece in output:
        await worker.do(partial(_write_all, descriptor, piece))


async def _feed(process: Process) -> None:
    worker = _Worker("stdin")
    try:
        while piece := await worker.do(partial(_read, _STDIN)):
            await process.write(piece)
        await process.close_stdin()
    except WrongState:
        return  # the command has ended, and needs no more


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _PIECE)
    except OSError:
        return b""  # a terminal that has gone away, a closed descriptor: no more input


def _write_all(descriptor: int, piece: bytes) -> None:
    view = memoryview(piece)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        raise PipeClosed from None
    except OSError as error:
        raise unwritable(error) from None


class _Worker:
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
