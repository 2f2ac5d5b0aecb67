"""Runs one long command of a build: its output to a log and line by line to the caller, its end for certain."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import BinaryIO

from cloche_hub.commands import running_command
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
    """Runs a command and waits for its end.

    Cancelling kills it with all it has started, and waits until the last of these is gone.

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
    last: deque[str] = deque(maxlen=_LAST_LINES)
    async with AsyncExitStack() as stack:
        # SAFETY: `argv` is built by `builder` from checked values.
        running = running_command(argv, stdin=stdin, is_read=True, env=env, umask=0o022)
        try:
            process = await stack.enter_async_context(running)
        except OSError as error:
            raise BuildFailed(f"{argv[0]} could not be started: {error.strerror}") from None
        assert process.stdout is not None
        await _follow(process.stdout, log, last, on_line)
        status = await process.wait()
    if status != 0:
        how = f"ended with status {status}" if status > 0 else f"was ended by {signal.Signals(-status).name}"
        raise BuildFailed(f"{_program(argv)} {how}; its last lines:\n" + "\n".join(last))


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


def _program(argv: Sequence[str]) -> str:
    """The word a person knows the command by: what the namespace wrapper runs."""
    return "mmdebstrap" if "mmdebstrap" in argv else Path(argv[0]).name
