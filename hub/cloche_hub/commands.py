"""Commands of this host that the hub runs: each in a group of its own, of which nothing outlives its context.

Rule: whoever is cancelled, be it in the middle of a start, leaves neither the command nor anything it has started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence

from cloche_wire.errors import ungrouped

_PIECE = 64 << 10


@contextlib.asynccontextmanager
async def running_command(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    is_read: bool = False,
    env: Mapping[str, str] | None = None,
    umask: int = -1,
) -> AsyncIterator[Process]:
    """A command that runs; left before it has ended, it is killed, with what it has started, and waited for.

    Args:
        argv: the command. No shell is between.
        stdin: what it reads.
        is_read: whether what it prints is read, from the `stdout` of what is given; else it goes nowhere.
        env: its whole environment; None: ours.
        umask: its; -1: ours.

    Raises:
        OSError: it cannot be started.
    """
    given = _file_of(stdin)
    try:
        process = await _start(argv, given, is_read=is_read, env=env, umask=umask)
    finally:
        os.close(given)
    try:
        yield process
    finally:
        await _end(process)


def _file_of(data: bytes) -> int:
    """A file in memory rather than a pipe: nobody has to write while the command runs."""
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


async def _start(
    argv: Sequence[str], stdin: int, *, is_read: bool, env: Mapping[str, str] | None, umask: int
) -> Process:
    """Cancelling it ends what has begun: asyncio alone would end the command only, not what that has started."""
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(
                asyncio.create_subprocess_exec(
                    *argv,
                    stdin=stdin,
                    stdout=PIPE if is_read else DEVNULL,
                    stderr=STDOUT if is_read else DEVNULL,
                    env=None if env is None else dict(env),
                    start_new_session=True,
                    umask=umask,
                )
            )
            try:
                await asyncio.shield(starting)
            except asyncio.CancelledError:
                await _end(await starting)
                raise
    return starting.result()


async def _end(process: Process) -> None:
    """Ends a command that has not ended by itself."""
    if process.returncode is not None:
        return
    # SAFETY: the group is the one made for this command; it cannot be another's while its leader is not reaped.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        await _wait_gone(process)
    except asyncio.CancelledError:
        # Killed, it ends at once: who is cancelled at this moment waits for that too, so that it is reaped.
        await _wait_gone(process)
        raise


async def _wait_gone(process: Process) -> None:
    # What it prints ends when the last process that holds it is gone, grandchildren included.
    while process.stdout is not None and await process.stdout.read(_PIECE):
        pass
    await process.wait()
