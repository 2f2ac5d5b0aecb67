"""A local command that answers a callback: parameters on its standard input, the result on its standard output.

Rules:
- SAFETY: nothing that a guest says is ever in a command line or seen by a shell of ours. The parameters are the
  command's input; method and sandbox are variables, in a form that the hub has checked and this module checks again.
- A command whose caller has given up is told to end, with everything it has started; it has a moment for that.
- What it writes is kept only as far as it can be used.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cloche.errors import BadRequest, CallbackFailed
from cloche.json_text import parse_json
from cloche.together import together
from cloche_wire.aio.bounds import within
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche import CallbackCall

_METHOD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_MAX_RESULT = 128 << 10
_MAX_TAIL = 4 << 10
_PIECE = 64 << 10
_END_S = 2.0
"""How long a command may take to end once it is told to."""


async def answer_with(command: Sequence[str], call: CallbackCall, params: bytes) -> Any:
    """What a command makes of a call: the one JSON value that it writes. Cancelling ends the command.

    Args:
        command: the program and its arguments; no shell is between.
        call: what is asked.
        params: its parameters as JSON text.

    Raises:
        CallbackFailed: it ended with another status than 0, which the last line of its stderr explains; or what it
            wrote is not one JSON value.
        BadRequest: the hub said what it never says.
        OSError: it cannot be started.
    """
    process = await _start(command, {**os.environ, **variables_of(call)})
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        _, written, said = await together(
            _feed(process.stdin, params), _read(process.stdout), _read_tail(process.stderr)
        )
        status = await process.wait()
    finally:
        await _end(process)
    if status != 0:
        raise CallbackFailed(_last_line(said) or f"the command that answers it ended with status {status}")
    return parse_output(written)


def variables_of(call: CallbackCall) -> Mapping[str, str]:
    """What a command finds in its environment.

    Raises:
        BadRequest: one is in no form that the hub lets pass.
    """
    if not _METHOD.fullmatch(call.method) or not _ID.fullmatch(call.sandbox):
        raise BadRequest("the hub has named a method or a sandbox as none can be named")
    return {"CLOCHE_CALLBACK_METHOD": call.method, "CLOCHE_CALLBACK_SANDBOX": call.sandbox}


def parse_output(written: bytes) -> Any:
    """The value that a command has written.

    Raises:
        CallbackFailed: it is not one JSON value, or too large.
    """
    if len(written) > _MAX_RESULT:
        raise CallbackFailed(f"the command that answers it wrote more than {_MAX_RESULT} bytes")
    try:
        return parse_json(written.decode())
    except ValueError as error:
        raise CallbackFailed(f"the command that answers it did not write one JSON value: {error}") from None


async def _start(command: Sequence[str], env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Starts a command. Cancelling ends it, with what it has started by then: asyncio alone would end only itself."""
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(
                asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env=env,
                    start_new_session=True,
                )
            )
            try:
                await asyncio.shield(starting)
            except asyncio.CancelledError:
                await _end(await starting)
                raise
    return starting.result()


def _last_line(said: bytes) -> str:
    return said.decode(errors="replace").strip().rpartition("\n")[2].strip()


async def _feed(stdin: asyncio.StreamWriter, params: bytes) -> bytes:
    # A command need not read what it is asked.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(params + b"\n")
        await stdin.drain()
    # Not waited for: a wait that is cancelled leaves asyncio with an error that it prints.
    stdin.close()
    return b""


async def _read(stream: asyncio.StreamReader) -> bytes:
    """All of it, as far as it is of use."""
    kept = b""
    while piece := await stream.read(_PIECE):
        kept += piece[: _MAX_RESULT + 1 - len(kept)]
    return kept


async def _read_tail(stream: asyncio.StreamReader) -> bytes:
    kept = b""
    while piece := await stream.read(_PIECE):
        kept = (kept + piece)[-_MAX_TAIL:]
    return kept


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a command that has not, with its whole group."""
    try:
        if process.returncode is None:
            _signal(process, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with within(_END_S):
                    await process.wait()
            # Itself, if it takes no notice, and what it has started.
            _signal(process, signal.SIGKILL)
            await process.wait()
    finally:
        # asyncio leaves pipes open that were not read to their end, and complains later.
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
