"""What the next hub knows of what a killed one had under way."""

from __future__ import annotations

import asyncio

import pytest

from cloche import aio
from cloche.callback_messages import CallbackCall
from cloche.errors import Conflict, LinkLost
from tests.e2e.conftest import RealHub
from tests.e2e.guarded import POLICY, connected, held, story, within

pytestmark = pytest.mark.machine


async def test_what_waited_in_a_killed_hub_can_not_be_approved_in_the_next(own_hub: RealHub) -> None:
    (own_hub.home / "policy.toml").write_text(POLICY)
    own_hub.start()
    answering = asyncio.Event()
    async with aio.Hub.connect(own_hub.address, own_hub.token, reconnect_s=0.1) as hub:
        sandbox = await hub.create(name="box")

        @sandbox.callback("pay.*", "free.*")
        async def answer(_call: CallbackCall) -> None:
            answering.set()
            await asyncio.Event().wait()

        async with (
            sandbox.exec(["cloche-callback", "free.work"]) as works,
            sandbox.exec(["cloche-callback", "pay.send", "1"]) as waits,
        ):
            waiting = await held(hub, sandbox)
            await within(answering.wait())
            own_hub.kill()
            for program in (works, waits):
                with pytest.raises(LinkLost):
                    await within(program.wait())

    own_hub.start()
    async with connected(own_hub.address, own_hub.token) as hub:
        abandoned = await hub.approvals.get(waiting.id)
        assert (abandoned.state, abandoned.decided_by) == ("abandoned", "hub")
        with pytest.raises(Conflict):
            await hub.approvals.approve(waiting.id)
        assert await hub.approvals.list() == []
        assert (await hub.sandbox(sandbox.id)).info.state == "failed"
        # Nobody can know how either call ended, and the audit says so.
        assert sorted(await story(hub, sandbox.id)) == [
            "approval.abandoned", "approval.requested",
            "callback.failed", "callback.failed", "callback.requested", "callback.requested",
        ]  # fmt: skip
        assert (await hub.verify_audit()).events > 8
        await (await hub.sandbox("box")).remove()
