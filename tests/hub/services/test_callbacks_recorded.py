"""What is told of a callback, and when: nothing before it is durable."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    NoSpace,
)
from cloche_wire.aio import Channel
from tests.support.callbacks import ALLOW, ASK, DENY, answering, pending, result_of, write_policy
from tests.support.hub import running_hub, until, within


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_a_call_is_seen_by_nobody_before_it_is_durable(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.store.gate.clear()
        called = hub.machine.agent.callback("pay")
        await until(lambda: hub.store.waiting)
        for _ in range(5):
            await shop.client.call("sandbox.list")
        assert shop.calls == []
        hub.store.gate.set()
        await result_of(called)


async def test_an_approval_is_seen_and_a_call_is_taken_only_when_it_is_durable(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.store.gate.clear()
        called = hub.machine.agent.callback("pay", wait=False)
        async with asyncio.TaskGroup() as tasks:
            accepted = tasks.create_task(within(called.wait_accepted()))
            await until(lambda: hub.store.waiting)
            for _ in range(5):
                assert (await shop.client.call("approval.list"))["approvals"] == []
            async with hub.client() as operator:
                await within(operator.peer.wait_up())
                assert operator.peer.greeting is not None
                assert operator.peer.greeting.info == {"waiting": 0}
            assert not accepted.done()
            hub.store.gate.set()
        assert len(await pending(shop.client)) == 1


async def test_a_handler_is_asked_only_when_the_decision_is_durable(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        hub.store.gate.clear()
        decision = shop.client.open("approval.approve", approval=approval["id"])
        await until(lambda: hub.store.waiting)
        for _ in range(5):
            await shop.client.call("sandbox.list")
        assert shop.calls == []
        hub.store.gate.set()
        assert (await within(decision.result()))["state"] == "approved"
        await result_of(called)


async def test_the_guest_hears_the_answer_only_when_it_is_durable(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub:

        async def answer(_channel: Channel) -> object:
            hub.store.gate.clear()
            return "paid"

        async with answering(hub, "*", answer=answer) as shop:
            await shop.client.create(name="a")
            called = hub.machine.agent.callback("pay")
            async with asyncio.TaskGroup() as tasks:
                heard = tasks.create_task(result_of(called))
                await until(lambda: not hub.store.gate.is_set() and hub.store.waiting)
                for _ in range(5):
                    await shop.client.call("sandbox.list")
                assert not heard.done()
                hub.store.gate.set()
            assert heard.result() == "paid"


@pytest.mark.parametrize("policy", [ALLOW, ASK, DENY])
async def test_a_call_that_cannot_be_recorded_reaches_nobody(home: Path, policy: str) -> None:
    write_policy(home, policy)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        before = await hub.names()
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await within(hub.machine.agent.callback("pay").result())
        hub.store.refuses = None
        assert shop.calls == []
        await shop.client.call("sandbox.remove", sandbox="a")
        # What could not be recorded would have been by now, for endings are in order.
        assert await hub.names() == [*before, "sandbox.removed"]
        assert (await shop.client.call("approval.list"))["approvals"] == []


async def test_an_answer_that_cannot_be_recorded_now_is_not_told_and_recorded_later(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub:

        async def answer(_channel: Channel) -> object:
            hub.store.refuses = NoSpace("the disk is full")
            return "paid"

        async with answering(hub, "*", answer=answer) as shop:
            await shop.client.create(name="a")
            with pytest.raises(NoSpace, match="was answered, but the hub cannot record it"):
                await within(hub.machine.agent.callback("pay").result())
            hub.store.refuses = None
            await hub.happened(AuditName.CALLBACK_ANSWERED)
            assert await hub.events(AuditName.CALLBACK_FAILED) == []
