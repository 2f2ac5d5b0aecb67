"""A command joined to this program's streams: what can be seen without a second program.

The rest is in `test_execute`, where there is one.
"""

from __future__ import annotations

import asyncio

import pytest

from cloche.aio import Sandbox
from cloche.cli import attach
from cloche.cli.failures import PipeClosed
from cloche.cli.session import Interrupts
from tests.support.local_hub import LocalHub


def _interrupts() -> Interrupts:
    task = asyncio.current_task()
    assert task is not None
    return Interrupts(task)


async def test_what_a_command_writes_is_written_here(
    hub: LocalHub, capfd: pytest.CaptureFixture[str]
) -> None:
    async with (
        Sandbox.create() as sandbox,
        sandbox.exec(["sh", "-c", "echo out; echo err >&2; exit 3"]) as process,
    ):
        ended = await attach.attach(process, _interrupts(), stdin=False)
    assert ended.exit_code == 3
    assert capfd.readouterr() == ("out\n", "err\n")


async def test_what_a_command_writes_can_be_kept_instead(
    hub: LocalHub, capfd: pytest.CaptureFixture[str]
) -> None:
    async with Sandbox.create() as sandbox, sandbox.exec(["sh", "-c", "echo out; echo err >&2"]) as process:
        completed = await attach.collect(process, _interrupts(), stdin=False)
    assert (completed.stdout, completed.stderr) == ("out\n", "err\n")
    assert capfd.readouterr() == ("", "")


async def test_a_forwarded_signal_reaches_the_command(hub: LocalHub) -> None:
    interrupts = _interrupts()
    async with (
        Sandbox.create() as sandbox,
        sandbox.exec(["sleep", "60"]) as process,
        asyncio.TaskGroup() as tasks,
    ):
        ending = tasks.create_task(attach.collect(process, interrupts, stdin=False))
        await asyncio.sleep(0)
        interrupts.on_signal(15)
        assert (await ending).signal == "TERM"
    assert interrupts.number is None


async def test_a_failure_to_write_ends_the_command(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _piece: bytes) -> None:
        raise PipeClosed

    monkeypatch.setattr(attach, "write_all", refuse)
    async with Sandbox.create() as sandbox:
        with pytest.raises(PipeClosed):
            async with sandbox.exec(["yes"]) as process:
                await attach.attach(process, _interrupts(), stdin=False)
