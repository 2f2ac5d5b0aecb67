"""Callbacks from a guest to whoever answers, through a whole hub on fakes: the order in which things happen."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from cloche_hub.domain.approval import OnDeadline
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.guest_limits import MOST_CALLBACKS
from cloche_hub.domain.policy import Decision, Verdict
from cloche_hub.errors import (
    Cancelled,
    Forbidden,
    NoHandler,
    TimedOut,
    TooLarge,
)
from cloche_wire.aio import Channel
from tests.support.callbacks import ALLOW, ASK, DENY, answering, echo, never, pending, result_of, write_policy
from tests.support.fake_hypervisor import FakeMachine
from tests.support.hub import running_hub, until, within


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_an_allowed_call_is_answered_by_who_registered(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "pay.*", registration="r1") as shop:
        made = await shop.client.create(name="a", labels={"team": "ml"})
        called = hub.machine.agent.callback("pay.send", {"to": "ann", "amount": 3})
        assert await result_of(called) == {"to": "ann", "amount": 3}
        assert shop.calls == [
            {
                "registration": "r1",
                "callback": "cb_1",
                "sandbox": made["id"],
                "sandbox_name": "a",
                "owner": made["owner"],
                "labels": {"team": "ml"},
                "method": "pay.send",
                "params": b'{"amount":3,"to":"ann"}',
                "approval": None,
            }
        ]


async def test_the_audit_has_a_call_and_its_answer_but_none_of_the_values(home: Path) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        made = await shop.client.create(name="a")
        await result_of(hub.machine.agent.callback("pay.send", {"key": "hunter2"}))
        requested, answered = await hub.events(AuditName.CALLBACK_REQUESTED, AuditName.CALLBACK_ANSWERED)
        text = b'{"key":"hunter2"}'
        digest = hashlib.sha256(text).hexdigest()
        assert (requested.actor, requested.sandbox) == (made["id"], made["id"])
        assert requested.detail == {
            "callback": "cb_1",
            "method": "pay.send",
            "rule": "everything",
            "verdict": "allow",
            "params_sha256": digest,
            "params_bytes": len(text),
            "wait": True,
        }
        assert answered.actor.startswith("tok_")
        assert answered.detail == {
            "callback": "cb_1",
            "method": "pay.send",
            "result_sha256": digest,
            "result_bytes": len(text),
        }
        assert "hunter2" not in str([await hub.events(), hub.logs])
        assert (await shop.client.call("audit.verify"))["events"] == len(await hub.events())


async def test_two_hundred_calls_at_once_are_all_answered(home: Path) -> None:
    write_policy(home, ALLOW)
    gate = asyncio.Event()

    async def wait_and_echo(channel: Channel) -> object:
        await gate.wait()
        return await echo(channel)

    async with running_hub(home) as hub, answering(hub, "*", answer=wait_and_echo) as shop:
        await shop.client.create(name="a")
        calls = [hub.machine.agent.callback("count", number) for number in range(200)]
        await until(lambda: len(shop.calls) == 200)
        gate.set()
        assert [await result_of(call) for call in calls] == list(range(200))


async def test_a_sandbox_has_so_many_calls_at_once_and_those_beyond_are_refused_one_by_one(
    home: Path,
) -> None:
    write_policy(home, ALLOW)
    async with running_hub(home) as hub, answering(hub, "*", answer=never) as shop:
        await shop.client.create(name="a")
        agent = hub.machine.agent
        calls = [agent.callback("m") for _ in range(MOST_CALLBACKS)]
        await until(lambda: len(shop.calls) == MOST_CALLBACKS)
        with pytest.raises(TooLarge, match="more than 256 channels"):
            await within(agent.callback("m").result())
        calls[0].reset(Cancelled("enough"))
        await until(lambda: shop.given_up)
        await hub.happened(AuditName.CALLBACK_FAILED)
        await shop.client.call("hub.status")
        shop.answer = echo
        assert await result_of(agent.callback("m", 1)) == 1
        assert all(call.is_live for call in calls[1:])


# The order: policy, then whether anybody answers, then people.


async def test_what_policy_denies_is_refused_with_the_rule_whoever_answers(home: Path) -> None:
    write_policy(home, DENY)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        with pytest.raises(Forbidden, match="denied by rule 'nothing': not from here"):
            await within(hub.machine.agent.callback("pay").result())
        assert shop.calls == []
        names = await hub.names()
        assert names[-2:] == ["callback.requested", "callback.refused"]
        (refused,) = await hub.events(AuditName.CALLBACK_REFUSED)
        assert (refused.detail["code"], refused.detail["rule"]) == ("forbidden", "nothing")


async def test_what_policy_denies_is_denied_also_where_nobody_answers(home: Path) -> None:
    write_policy(home, DENY)
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(Forbidden):
            await within(hub.machine.agent.callback("pay").result())


@pytest.mark.parametrize("policy", [ALLOW, ASK])
async def test_a_method_nobody_answers_is_told_at_once_and_nobody_is_asked(home: Path, policy: str) -> None:
    write_policy(home, policy)
    async with running_hub(home) as hub, answering(hub, "other.*") as shop:
        await shop.client.create(name="a")
        with pytest.raises(NoHandler, match=r"nobody who is connected to the hub answers 'pay\.send'"):
            await within(hub.machine.agent.callback("pay.send").result())
        assert (await shop.client.call("approval.list"))["approvals"] == []
        assert (await hub.names())[-2:] == ["callback.requested", "callback.refused"]


async def test_an_approved_call_goes_to_its_handler_with_the_approval(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "pay.*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay.send", {"amount": 5})
        (approval,) = await pending(shop.client)
        assert shop.calls == []
        assert approval["caller"] == {"pid": 7, "uid": 1000, "program": "python3"}
        await shop.client.call("approval.approve", approval=approval["id"])
        assert await result_of(called) == {"amount": 5}
        assert shop.calls[0]["approval"] == approval["id"]
        assert (await hub.names())[-4:] == [
            "callback.requested",
            "approval.requested",
            "approval.approved",
            "callback.answered",
        ]


async def test_an_edited_call_goes_to_its_handler_with_what_the_operator_made_of_it(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay", {"amount": 5})
        (approval,) = await pending(shop.client)
        await shop.client.call("approval.approve", approval=approval["id"], params='{ "amount": 1 }')
        assert await result_of(called) == {"amount": 1}
        assert shop.calls[0]["params"] == b'{"amount":1}'


async def test_a_denied_call_is_refused_with_the_operators_reason(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        await shop.client.call("approval.deny", approval=approval["id"], reason="too much")
        with pytest.raises(Forbidden, match="not approved: too much"):
            await within(called.result())
        assert shop.calls == []
        assert (await hub.names())[-2:] == ["approval.denied", "callback.refused"]


@pytest.mark.parametrize("on_deadline", OnDeadline)
async def test_what_nobody_decides_in_time_is_as_the_policy_says(
    home: Path, monkeypatch: pytest.MonkeyPatch, on_deadline: OnDeadline
) -> None:
    decision = Decision(Verdict.ASK, "quick", 0.02, on_deadline, "")
    monkeypatch.setattr("cloche_hub.services.callbacks.decide", lambda _policy, _call: decision)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay", 1)
        if on_deadline is OnDeadline.ALLOW:
            assert await result_of(called) == 1
        else:
            with pytest.raises(TimedOut, match=r"not approved: nobody decided within 0\.02 s"):
                await within(called.result())
            assert shop.calls == []
        expired = await hub.happened(AuditName.APPROVAL_EXPIRED)
        assert expired.actor == "hub"


async def test_a_handler_that_left_while_a_person_decided_is_missed(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub) as shop:
        registration = await shop.register("*")
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        (approval,) = await pending(shop.client)
        registration.reset(Cancelled("closing time"))
        await within(shop.client.call("hub.status"))
        await shop.client.call("approval.approve", approval=approval["id"])
        with pytest.raises(NoHandler, match="any more"):
            await within(called.result())


async def test_who_wants_no_result_is_told_that_the_call_is_taken_and_it_goes_on(home: Path) -> None:
    write_policy(home, ASK)
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("note", 1, wait=False)
        assert await within(called.wait_accepted()) == {"callback": "cb_1"}
        (approval,) = await pending(shop.client)
        await shop.client.call("approval.approve", approval=approval["id"])
        await hub.happened(AuditName.CALLBACK_ANSWERED)
        assert shop.calls[0]["params"] == b"1"


async def test_a_call_made_as_soon_as_the_guest_is_itself_waits_until_that_is_recorded(home: Path) -> None:
    write_policy(home, ALLOW)
    calls: list[Channel] = []
    async with running_hub(home) as hub, answering(hub, "*") as shop:

        def be_quick(machine: FakeMachine) -> None:
            async def become(channel: Channel) -> None:
                machine.agent.identity = channel.params
                hub.store.gate.clear()
                channel.close({})
                calls.append(machine.agent.callback("pay", 1))

            machine.agent.overrides["become"] = become

        hub.hypervisor.on_start = be_quick
        async with asyncio.TaskGroup() as tasks:
            creating = tasks.create_task(shop.client.create(name="a"))
            await until(lambda: calls and hub.store.waiting)
            await shop.client.call("hub.status")
            assert shop.calls == []
            hub.store.gate.set()
        assert creating.result()["state"] == "running"
        assert await result_of(calls[0]) == 1
        names = await hub.names()
        assert names.index("sandbox.started") < names.index("callback.requested")
