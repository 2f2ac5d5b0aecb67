"""Callbacks of which somebody goes away: the caller, its sandbox, the hub, whoever answers."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    Cancelled,
    CodedError,
    LinkLost,
    NoHandler,
    TimedOut,
)
from cloche_wire.aio import Channel
from tests.support.callbacks import ALLOW, ASK, answering, echo, never, pending, result_of, write_policy
from tests.support.hub import running_hub, until, within


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_a_caller_that_gives_up_leaves_an_approval_that_nobody_can_approve(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        called.reset(Cancelled("the caller is gone"))
        abandoned = await hub.happened(AuditName.APPROVAL_ABANDONED)
        assert abandoned.detail["reason"] == "its caller gave up"
        with pytest.raises(CodedError, match="is abandoned already by hub") as raised:
            await shop.client.call("approval.approve", approval=approval["id"])
        assert (raised.value.code, raised.value.details["decided_by"]) == ("conflict", "hub")
        assert shop.calls == []
        failed = await hub.happened(AuditName.CALLBACK_FAILED)
        assert (failed.detail["code"], failed.detail["approval"]) == ("cancelled", approval["id"])


async def test_a_caller_that_gives_up_while_its_call_is_being_recorded_leaves_nothing_pending(
    home: Path,
) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.store.gate.clear()
        called = hub.machine.agent.callback("pay")
        await until(lambda: hub.store.waiting)
        called.reset(Cancelled("the caller is gone"))
        await within(shop.client.call("hub.status"))
        hub.store.gate.set()
        await hub.happened(AuditName.CALLBACK_FAILED)
        assert (await shop.client.call("approval.list"))["approvals"] == []


async def test_a_handler_learns_that_its_caller_has_given_up(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*", answer=never) as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        await until(lambda: shop.calls)
        called.reset(Cancelled("the caller is gone"))
        await until(lambda: shop.given_up)
        assert (await hub.happened(AuditName.CALLBACK_FAILED)).detail["reason"] == "its caller gave up"


async def test_the_callers_patience_bounds_a_handler_that_never_answers(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*", answer=never) as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay", timeout_s=0.05)
        with pytest.raises(TimedOut, match=r"no answer within the caller's 0\.05 s"):
            await within(called.result())
        await until(lambda: shop.given_up)
        assert (await hub.happened(AuditName.CALLBACK_FAILED)).detail["code"] == "timed_out"


async def test_the_callers_patience_bounds_a_pending_approval(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        with pytest.raises(TimedOut):
            await within(hub.machine.agent.callback("pay", timeout_s=0.05).result())
        abandoned = await hub.happened(AuditName.APPROVAL_ABANDONED)
        assert "the caller's 0.05 s" in str(abandoned.detail["reason"])


async def test_a_sandbox_that_is_removed_abandons_what_it_asked(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        await shop.client.call("sandbox.remove", sandbox="a")
        shown = await shop.client.call("approval.show", approval=approval["id"])
        assert (shown["state"], shown["decided_by"]) == ("abandoned", "hub")
        assert "removed by" in shown["reason"]


async def test_a_sandbox_that_fails_abandons_what_it_asked_and_takes_calls_back(home: Path) -> None:
    write_policy(home, ALLOW.replace('"*"', '"free"') + ASK)
    async with running_hub(home) as hub, answering(hub, "*", answer=never) as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay")
        hub.machine.agent.callback("free")
        (approval,) = await pending(shop.client)
        await until(lambda: shop.calls)
        hub.machine.crash()
        abandoned = await hub.happened(AuditName.APPROVAL_ABANDONED)
        assert "has failed" in str(abandoned.detail["reason"])
        await until(lambda: shop.given_up)
        assert (await shop.client.call("approval.show", approval=approval["id"]))["state"] == "abandoned"
        codes = [event.detail["code"] for event in await hub.events(AuditName.CALLBACK_FAILED)]
        assert codes == ["machine_failed", "machine_failed"]


async def test_a_hub_that_ends_abandons_what_waits(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        await hub.end()
        assert (await hub.store.find_approval(approval["id"])).state == "abandoned"
        assert await hub.store.pending_approvals() == 0


async def test_a_handlers_client_that_goes_away_is_a_lost_link_to_the_guest(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home, resume_grace_s=0.05) as hub, hub.client() as client:
        await client.create(name="a")
        async with answering(hub, "*", answer=never) as shop:
            called = hub.machine.agent.callback("pay")
            await until(lambda: shop.calls)
            await shop.client.cut()
            with pytest.raises(
                LinkLost, match="has gone away; whether the call was carried out is not known"
            ):
                await within(called.result())
        failed = await hub.happened(AuditName.CALLBACK_FAILED)
        assert failed.detail["code"] == "link_lost"
        with pytest.raises(NoHandler):
            await within(hub.machine.agent.callback("pay").result())


async def test_a_handlers_client_that_leaves_in_good_order_is_a_lost_link_too(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        async with answering(hub, "*", answer=never) as shop:
            called = hub.machine.agent.callback("pay")
            await until(lambda: shop.calls)
            shop.client.peer.fail(Cancelled("bye"))
            with pytest.raises(LinkLost):
                await within(called.result())


async def test_a_call_outlives_a_broken_link_of_its_handler_and_of_its_guest(home: Path) -> None:
    write_policy(home, ASK)
    gate = asyncio.Event()

    async def answer(channel: Channel) -> object:
        await gate.wait()
        return await echo(channel)

    async with running_hub(home) as hub, answering(hub, "*", answer=answer) as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay", 7)
        (approval,) = await pending(shop.client)
        await shop.client.cut()
        hub.machine.agent.drop_link()
        await shop.client.link()
        assert [one["id"] for one in await pending(shop.client)] == [approval["id"]]
        await shop.client.call("approval.approve", approval=approval["id"])
        await until(lambda: shop.calls)
        await shop.client.cut()
        gate.set()
        await shop.client.link()
        assert await result_of(called) == 7


async def test_a_call_that_is_cut_off_has_its_end_in_the_audit(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody watches the channel: all that ends the call is that its task is cancelled with the link.
    monkeypatch.setattr(
        "cloche_hub.services.callbacks.while_wanted", lambda _channel: contextlib.nullcontext()
    )
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay")
        await pending(shop.client)
        await shop.client.call("sandbox.remove", sandbox="a")
        failed = await hub.happened(AuditName.CALLBACK_FAILED)
        assert failed.detail["reason"] == "the hub has given it up"
        assert (await hub.names()).count("approval.abandoned") == 1
