"""Two ways to run the command line: in this process, which is quick, and as a user does, which is the truth."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from cloche.cli.main import run_command

CLOCHE = [sys.executable, "-m", "cloche.cli.main"]


class Ran(NamedTuple):
    """A command line that has ended."""

    status: int
    out: str
    err: str


Cloche = Callable[..., Awaitable[Ran]]


@pytest.fixture
def cloche(capfd: pytest.CaptureFixture[str]) -> Cloche:
    """Runs a command line in this process; what it would read is empty."""

    async def run(*argv: str) -> Ran:
        capfd.readouterr()
        async with asyncio.timeout(30):
            status = await asyncio.to_thread(run_command, list(argv))
        return Ran(status, *capfd.readouterr())

    return run


@pytest.fixture
def program() -> Cloche:
    """Runs a command line as a process of its own, with the input it is given."""

    async def run(*argv: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Ran:
        async with asyncio.timeout(30):
            process = await start(*argv, stdin=stdin is not None, env=env)
            out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return Ran(process.returncode, out.decode(), err.decode())

    return run


async def start(
    *argv: str, stdin: bool = False, env: dict[str, str] | None = None, **more: Any
) -> asyncio.subprocess.Process:
    """Starts a command line as a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return await asyncio.create_subprocess_exec(
        *CLOCHE,
        *argv,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        **options,
    )
