"""Runs one long command of a build: its output to a log and line by line to the caller, its end for certain.

Rule: when the caller is cancelled, or this process is killed, nothing the command started is left running.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from cloche_hub.errors import BuildFailed

_LAST_LINES = 12
_LONGEST_LINE = 2000


async def run_command(
    argv: Sequence[str],
    *,
    log: BinaryIO,
    env: Mapping[str, str],
    stdin: bytes = b"",
    on_line: Callable[[str], None] = lambda _line: None,
) -> None:
    """Runs a command in a process group of its own and waits for its end.

    Cancelling kills the group and waits until its last process is gone.

    Args:
        argv: the command.
        log: gets everything it prints.
        env: its whole environment.
        stdin: what it reads.
        on_line: called with each line it prints, without the line's end; must not raise.

    Raises:
        BuildFailed: it could not be started, or ended with anything but 0; the message ends with its last lines.
    """
    log.write(f"$ {' '.join(argv)}\n".encode())
    given = _input_file(stdin)
    try:
        # SAFETY: `argv` is built by `builder` from checked values and passed without a shell; the command is its
        # own session, so that the whole group can be killed without touching the hub.
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=given,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=dict(env),
            start_new_session=True,
            umask=0o022,
        )
    except OSError as error:
        raise BuildFailed(f"{argv[0]} could not be started: {error.strerror}") from None
    finally:
        os.close(given)
    last: deque[str] = deque(maxlen=_LAST_LINES)
    try:
        assert process.stdout is not None
        await _follow(process.stdout, log, last, on_line)
        status = await process.wait()
    finally:
        if process.returncode is None:
            await asyncio.shield(_kill(process))
    if status != 0:
        how = f"ended with status {status}" if status > 0 else f"was ended by {signal.Signals(-status).name}"
        raise BuildFailed(f"{_program(argv)} {how}; its last lines:\n" + "\n".join(last))


def _input_file(data: bytes) -> int:
    # A file in memory rather than a pipe: nobody has to write while the command prints.
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _follow(
    pipe: asyncio.StreamReader, log: BinaryIO, last: deque[str], on_line: Callable[[str], None]
) -> None:
    rest = b""
    while chunk := await pipe.read(65536):
        log.write(chunk)
        *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
        # A line without an end must not grow for ever.
        rest = rest[-_LONGEST_LINE:]
        for line in filter(None, (raw.decode("utf-8", "replace").rstrip() for raw in lines)):
            last.append(line[:_LONGEST_LINE])
            on_line(line)
    if rest.strip():
        last.append(rest.decode("utf-8", "replace").rstrip())
    log.flush()


async def _kill(process: asyncio.subprocess.Process) -> None:
    # SAFETY: the group is the one made for this command: its leader has not been waited for, so the number
    # can not have been given to another process.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    # The pipe ends when the last process that holds it is gone, grandchildren included.
    while await process.stdout.read(65536):
        pass
    await process.wait()


def _program(argv: Sequence[str]) -> str:
    """The word a person knows the command by: what the namespace wrapper runs."""
    return "mmdebstrap" if "mmdebstrap" in argv else Path(argv[0]).name
