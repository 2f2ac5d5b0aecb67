"""Machines that stop answering, or die, under everything that can be under way."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass

import pytest

from cloche import aio
from cloche.approval_messages import ApprovalInfo
from cloche.errors import CodedError, Conflict, LinkSilent, MachineFailed, WrongState
from tests.e2e.guarded import connected, happened, held, machine_of, still_serves, within
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


@dataclass
class Underway:
    """What is under way in a sandbox."""

    ends: Sequence[asyncio.Task[type[CodedError] | None]]
    """What a command, a console and an upload end with; None: in good order."""
    waiting: ApprovalInfo


async def test_a_silent_guest_costs_its_callers_their_requests_and_can_be_used_again(
    guarded_hub: RealHub,
) -> None:
    async with (
        connected(guarded_hub.address, guarded_hub.token) as hub,
        hub.create() as other,
        hub.create() as sandbox,
        everything_underway(hub, sandbox) as underway,
    ):
        machine = machine_of(guarded_hub.home, sandbox)
        os.kill(machine, signal.SIGSTOP)
        try:
            ends = within(asyncio.gather(*underway.ends, *later(sandbox)))
            assert set(await ends) == {LinkSilent}
            await still_serves(other)
        finally:
            os.kill(machine, signal.SIGCONT)
        await still_serves(sandbox)
        assert b"root" in await within(sandbox.files.read("/etc/passwd"))
        await happened(hub, sandbox.id, "approval.abandoned", approval=underway.waiting.id)


async def test_a_killed_machine_fails_everything_of_its_sandbox_and_nothing_else(
    guarded_hub: RealHub,
) -> None:
    async with (
        connected(guarded_hub.address, guarded_hub.token) as hub,
        hub.create() as other,
        hub.create() as sandbox,
        everything_underway(hub, sandbox) as underway,
        other.exec(["cat"], stdin=True) as untouched,
    ):
        os.kill(machine_of(guarded_hub.home, sandbox), signal.SIGKILL)
        assert set(await within(asyncio.gather(*underway.ends))) == {MachineFailed}
        assert set(await within(asyncio.gather(*later(sandbox)))) <= {MachineFailed, WrongState}
        failed = await happened(hub, sandbox.id, "sandbox.failed")
        assert "SIGKILL" in str(failed.detail["reason"])
        await happened(hub, sandbox.id, "approval.abandoned", approval=underway.waiting.id)
        with pytest.raises(Conflict):
            await hub.approvals.approve(underway.waiting.id)
        await untouched.write(b"as ever")
        assert await within(untouched.stdout.read()) == b"as ever"


@contextlib.asynccontextmanager
async def everything_underway(hub: aio.Hub, sandbox: aio.Sandbox) -> AsyncIterator[Underway]:
    """Starts whatever can be under way in a sandbox; ended afterwards."""
    sandbox.callback("pay.*")(lambda call: call.params)
    is_passing = asyncio.Event()

    async def stalled() -> AsyncIterator[bytes]:
        yield bytes(1 << 20)
        is_passing.set()
        await asyncio.Event().wait()

    async with (
        sandbox.exec(["sh", "-c", "cloche-callback pay.send 1"]) as process,
        sandbox.console(["sleep", "600"]) as console,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = await held(hub, sandbox)
        works = (process.wait(), console.wait(), sandbox.files.write("upload", stalled()))
        ends = [tasks.create_task(_end(work)) for work in works]
        await within(is_passing.wait())
        try:
            yield Underway(ends, waiting)
        finally:
            for end in ends:
                end.cancel()


def later(sandbox: aio.Sandbox) -> Sequence[Awaitable[type[CodedError] | None]]:
    """What requests end with that are made now."""
    requests = (
        sandbox.run("true"),
        sandbox.files.read("/etc/passwd"),
        sandbox.files.list(),
        _opened(sandbox),
    )
    return [_end(request) for request in requests]


async def _opened(sandbox: aio.Sandbox) -> None:
    async with sandbox.console(["true"]):
        pass


async def _end(work: Awaitable[object]) -> type[CodedError] | None:
    try:
        await work
    except CodedError as error:
        return type(error)
    return None
