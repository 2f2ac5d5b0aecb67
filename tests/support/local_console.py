"""`console.open` for a hub without machines: a real terminal, right here."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import signal
import struct
import termios
import time
from collections.abc import Mapping
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, WireError, ungrouped
from tests.support.processes import end_process

_BYTES = 1


async def serve_console(channel: Channel, environ: Mapping[str, str]) -> None:
    """Runs a program in a terminal until it ends, or until the client leaves.

    Args:
        channel: offered; its parameters are those of `console.open`.
        environ: the sandbox's variables.
    """
    params = channel.params
    began = time.monotonic()
    ours, theirs = pty.openpty()
    try:
        _resize(ours, params["rows"], params["cols"])
        process = await asyncio.create_subprocess_exec(
            *(params.get("argv") or ["/bin/sh"]),
            env={**os.environ, **environ, **params.get("env", {}), "TERM": params.get("term", "")},
            cwd=params.get("cwd"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )
    finally:
        os.close(theirs)
    try:
        channel.accept({"console": "con_1", "pid": process.pid})
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                inputs = [
                    tasks.create_task(_type(channel, ours)),
                    tasks.create_task(_obey(channel, ours, process.pid)),
                    tasks.create_task(channel.wait_confirmed()),
                ]
                await _show(channel, ours)
                code = await process.wait()
                for task in inputs:
                    task.cancel()
        ended = {"signal": signal.Signals(-code).name[3:]} if code < 0 else {"exit_code": code}
        channel.close({**ended, "duration_s": time.monotonic() - began})
    finally:
        try:
            await end_process(process)
        finally:
            os.close(ours)


async def _show(channel: Channel, ours: int) -> None:
    while piece := await asyncio.to_thread(_read, ours):
        await channel.write(_BYTES, piece)
    channel.end(_BYTES)


def _read(ours: int) -> bytes:
    try:
        return os.read(ours, 65536)
    except OSError as error:
        if error.errno != errno.EIO:  # nobody has the terminal open any more
            raise
        return b""


async def _type(channel: Channel, ours: int) -> None:
    with contextlib.suppress(WireError):
        while piece := await channel.read(_BYTES):
            os.write(ours, piece)


async def _obey(channel: Channel, ours: int, pid: int) -> None:
    async for message in channel.messages():
        match message:
            case {"resize": {"rows": rows, "cols": cols}}:
                _resize(ours, rows, cols)
            case {"signal": name}:
                os.killpg(pid, signal.Signals[f"SIG{name}"])


def _resize(ours: int, rows: Any, cols: Any) -> None:
    if not (type(rows) is int and type(cols) is int and 1 <= rows <= 1000 and 1 <= cols <= 1000):
        raise BadRequest(f"rows and cols must be from 1 to 1000, not {rows!r} and {cols!r}")
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
