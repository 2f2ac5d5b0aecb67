"""Long commands: everything they print, and their end for certain."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.images.command import run_command
from tests.support.fifo import fifo_at

_ENV = {"PATH": os.environ["PATH"]}


async def _run(script: str, *, stdin: bytes = b"", log: io.BytesIO | None = None) -> list[str]:
    lines: list[str] = []
    async with asyncio.timeout(20):
        await run_command(
            ["sh", "-c", script], log=log or io.BytesIO(), env=_ENV, stdin=stdin, on_line=lines.append
        )
    return lines


async def test_output_reaches_the_caller_by_line_and_the_log_whole() -> None:
    log = io.BytesIO()

    lines = await _run("echo one; echo two >&2; printf 'bar\\rbar2\\r\\n'; printf rest", log=log)

    assert lines == ["one", "two", "bar", "bar2"]
    assert log.getvalue().endswith(b"one\ntwo\nbar\rbar2\r\nrest")
    assert log.getvalue().startswith(b"$ sh -c echo one;")


async def test_input_is_given_and_ended() -> None:
    assert await _run("cat; echo; echo end", stdin=b"given") == ["given", "end"]


async def test_a_command_that_does_not_read_its_input_is_no_error() -> None:
    assert await _run("exec <&-; echo done", stdin=b"x" * 1_000_000) == ["done"]


async def test_a_command_may_print_much_before_it_reads_much() -> None:
    lines = await _run("seq 200000; wc -c", stdin=b"x" * 1_000_000)

    assert (len(lines), lines[-1]) == (200_001, "1000000")


async def test_a_failure_ends_with_the_last_lines() -> None:
    with pytest.raises(BuildFailed) as caught:
        await _run("seq 100; echo broken; exit 3")

    assert caught.value.message.startswith("sh ended with status 3; its last lines:\n")
    assert caught.value.message.endswith("\n99\n100\nbroken")
    assert len(caught.value.message.splitlines()) == 13


async def test_a_failure_without_a_final_newline_keeps_its_words() -> None:
    with pytest.raises(BuildFailed, match=r"the reason$"):
        await _run("printf 'the reason'; exit 1")


async def test_death_by_a_signal_is_named() -> None:
    with pytest.raises(BuildFailed, match="sh was ended by SIGTERM"):
        await _run("kill -TERM $$")


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(BuildFailed, match="no-such-program could not be started: No such file"):
        await run_command(["no-such-program"], log=io.BytesIO(), env=_ENV)


async def test_a_line_without_end_does_not_grow_for_ever() -> None:
    with pytest.raises(BuildFailed) as caught:
        await _run("head -c 3000000 /dev/zero | tr '\\0' x; exit 1")

    assert len(caught.value.message) < 3000


async def test_files_it_makes_can_be_read_by_others_whatever_the_caller_s_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        await _run(f"touch {tmp_path}/made")
    finally:
        os.umask(before)

    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644


async def test_cancelling_ends_the_command_and_all_it_started(tmp_path: Path) -> None:
    started = asyncio.Event()

    def on_line(_line: str) -> None:
        started.set()

    # A grandchild holds the pipe's writing end: its reader sees the end only when that one is gone too.
    script = f"(exec 3>{tmp_path}/alive; echo go; sleep 600) & wait"
    async with fifo_at(tmp_path / "alive") as alive, asyncio.timeout(20):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(
                run_command(["sh", "-c", script], log=io.BytesIO(), env=_ENV, on_line=on_line)
            )
            await started.wait()
            task.cancel()
        assert await alive.read() == b""

    assert task.cancelled()


async def test_a_listener_that_raises_ends_the_command() -> None:
    def on_line(line: str) -> None:
        raise ValueError(line)

    async with asyncio.timeout(20):
        with pytest.raises(ValueError, match="go"):
            await run_command(["sh", "-c", "echo go; sleep 600"], log=io.BytesIO(), env=_ENV, on_line=on_line)
