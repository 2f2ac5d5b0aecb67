"""Commands that the hub runs, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from cloche_hub import commands
from cloche_hub.commands import running_command
from tests.support.fifo import fifo_at
from tests.support.hub import within


async def test_it_reads_what_it_is_given_and_what_it_prints_is_there() -> None:
    script = "cat; echo $A; echo error >&2; umask"
    env = {"A": "b", "PATH": os.environ["PATH"]}
    async with running_command(
        ["sh", "-c", script], stdin=b"given\n", is_read=True, env=env, umask=0o027
    ) as process:
        assert process.stdout is not None
        assert await within(process.stdout.read()) == b"given\nb\nerror\n0027\n"
        assert await within(process.wait()) == 0


async def test_where_nobody_reads_it_may_print_as_much_as_it_likes() -> None:
    async with running_command(["seq", "100000"]) as process:
        assert await within(process.wait()) == 0


async def test_what_cannot_be_started_says_why() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        async with running_command(["no-such-program"]):
            pass


@pytest.mark.parametrize("is_read", [True, False])
async def test_left_early_it_is_killed_with_what_it_has_started(tmp_path: Path, *, is_read: bool) -> None:
    async with fifo_at(tmp_path / "alive") as alive:
        script = f"exec 3>{tmp_path}/alive; echo up >&3; sleep 1000 & wait"
        async with running_command(["sh", "-c", script], is_read=is_read) as process:
            assert await within(alive.readline()) == b"up\n"
        assert process.returncode == -signal.SIGKILL
        assert await within(alive.read()) == b""


async def test_what_it_has_left_behind_lives_on_when_it_has_ended_by_itself(tmp_path: Path) -> None:
    async with fifo_at(tmp_path / "alive") as alive:
        script = f"(exec 3>{tmp_path}/alive; sleep 0.2; echo still here >&3) &"
        async with running_command(["sh", "-c", script]) as process:
            await within(process.wait())
        assert await within(alive.read()) == b"still here\n"


@pytest.mark.parametrize("is_read", [True, False])
async def test_who_is_cancelled_in_the_moment_of_the_kill_leaves_nothing_to_be_reaped(
    *, is_read: bool
) -> None:
    async with running_command(["sleep", "1000"], is_read=is_read) as process:
        async with asyncio.TaskGroup() as tasks:
            killing = tasks.create_task(commands._end(process))
            await asyncio.sleep(0)
            killing.cancel()
        assert killing.cancelled()
        assert process.returncode == -signal.SIGKILL


async def test_a_start_that_is_cancelled_ends_what_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, has_begun = asyncio.create_subprocess_exec, asyncio.Event()

    async def slowly(*words: str, **options: object) -> asyncio.subprocess.Process:
        process = await real(*words, **options)  # type: ignore[arg-type]
        assert await within(alive.readline()) == b"up\n"
        has_begun.set()
        await asyncio.sleep(0.01)
        return process

    async def run() -> None:
        async with running_command(["sh", "-c", f"exec 3>{tmp_path}/alive; echo up >&3; sleep 1000 & wait"]):
            pytest.fail("it was to be cancelled before")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    async with fifo_at(tmp_path / "alive") as alive:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run())
            await within(has_begun.wait())
            running.cancel()
        assert running.cancelled()
        assert await within(alive.read()) == b""
