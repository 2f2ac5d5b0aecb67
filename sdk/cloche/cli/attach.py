"""A command in a sandbox, joined to this program's standard input, output and error.

Bytes pass untouched, the two outputs apart, with back-pressure all the way: whoever reads our output slowly slows the
command down. Signals go to the command and everything it started; a second one of a kind gives up on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

from cloche.aio import Output, Process
from cloche.cli.session import Interrupts
from cloche.cli.streams import STDERR, STDIN, STDOUT, Worker, read, write_all
from cloche.errors import WrongState
from cloche.messages import Completed, ExitStatus
from cloche.together import together
from cloche_wire.errors import ungrouped

T = TypeVar("T")


async def attach(process: Process, interrupts: Interrupts, *, stdin: bool) -> ExitStatus:
    """Joins a command to our standard streams until it has ended and all it wrote is written here.

    Raises:
        PipeClosed: whoever reads our output wants no more.
        CodedError: the command was lost.
    """
    copies = (_copy(process.stdout, STDOUT), _copy(process.stderr, STDERR))
    ended, _ = await _attend(process, interrupts, copies, stdin=stdin)
    return ended


async def collect(process: Process, interrupts: Interrupts, *, stdin: bool) -> Completed:
    """Like `attach`, but keeps what the command writes instead of writing it here."""
    reads = (process.stdout.read_all(), process.stderr.read_all())
    ended, (stdout, stderr) = await _attend(process, interrupts, reads, stdin=stdin)
    return Completed.of(ended, stdout, stderr, process.recording)


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
    worker = Worker("stdout" if descriptor == STDOUT else "stderr")
    async for piece in output:
        await worker.do(partial(write_all, descriptor, piece))


async def _feed(process: Process) -> None:
    worker = Worker("stdin")
    try:
        while piece := await worker.do(partial(read, STDIN)):
            await process.write(piece)
        await process.close_stdin()
    except WrongState:
        return  # the command has ended, and needs no more
