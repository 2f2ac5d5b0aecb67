"""Requests about approvals: who sees which, and who decides."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from cloche_hub.domain.approval import SHORT_BYTES, ApprovalState
from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import BadRequest, Cancelled, Conflict, Forbidden, NotFound, TooLarge
from cloche_hub.server.handlers import context
from cloche_hub.server.handlers.approvals import MAX_LISTED
from cloche_wire.frames import Closed, Decoder, Open, Reset, encode
from cloche_wire.limits import Limits
from tests.hub.domain.examples import approval
from tests.support.callbacks import ASK, answering, pending, result_of, write_policy
from tests.support.hub import RunningHub, open_socket, running_hub, within
from tests.support.strangers import hello


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_policy(tmp_path / "home", ASK)
    return tmp_path / "home"


async def test_what_waits_is_listed_and_shown_with_everything_an_operator_needs(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        made = await shop.client.create(name="a", labels={"team": "ml"})
        hub.machine.agent.callback("pay.send", {"amount": 5})
        (listed,) = await pending(shop.client)
        assert (
            listed.items()
            >= {
                "sandbox": made["id"],
                "sandbox_name": "a",
                "owner": made["owner"],
                "labels": {"team": "ml"},
                "callback": "cb_1",
                "method": "pay.send",
                "params": '{"amount":5}',
                "rule": "by hand",
                "state": "pending",
                "on_deadline": "deny",
                "decided_by": None,
                "decided_by_name": None,
                "rule_reason": "money leaves by hand",
                "reason": None,
                "outcome": None,
            }.items()
        )
        for reference in (listed["id"], listed["id"][:8]):
            assert await shop.client.call("approval.show", approval=reference) == listed


async def test_they_are_listed_by_state_and_sandbox_newest_first(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        for number in range(3):
            hub.machine.agent.callback("pay", number)
            await pending(shop.client, number + 1)
        await shop.client.create(name="b")
        hub.machine.agent.callback("pay", 3)
        newest = await pending(shop.client, 4)
        assert [json.loads(one["params"]) for one in newest] == [3, 2, 1, 0]
        await shop.client.call("approval.deny", approval=newest[0]["id"], reason="no")

        async def listed(**params: Any) -> list[int]:
            found = await shop.client.call("approval.list", **params)
            assert found["omitted"] == 0
            return [json.loads(one["params"]) for one in found["approvals"]]

        assert await listed() == [2, 1, 0]
        assert await listed(limit=1) == [2]
        assert await listed(states=["denied"]) == [3]
        assert await listed(states=["pending", "denied"]) == [3, 2, 1, 0]
        assert await listed(sandbox="b", states=list(ApprovalState)) == [3]
        await shop.client.call("sandbox.remove", sandbox="b")
        assert await listed(sandbox=newest[0]["sandbox"], states=["denied"]) == [3]


async def test_an_owner_sees_its_own_and_decides_nothing(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*", token=await hub.mint("alice")) as alice:
        await alice.client.create(name="a")
        hub.machine.agent.callback("pay")
        (approval_,) = await pending(alice.client)
        assert (await alice.client.call("approval.show", approval=approval_["id"]))["id"] == approval_["id"]
        with pytest.raises(
            Forbidden, match=r"does not allow approval\.approve: it takes scope admin or operator"
        ):
            await alice.client.call("approval.approve", approval=approval_["id"])
        with pytest.raises(Forbidden):
            await alice.client.call("approval.deny", approval=approval_["id"], reason="no")
        assert len(await pending(alice.client)) == 1


async def test_another_owners_approval_does_not_exist(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*", token=await hub.mint("alice")) as alice:
        await alice.client.create(name="a")
        hub.machine.agent.callback("pay")
        (approval_,) = await pending(alice.client)
        async with hub.client(await hub.mint("bob")) as bob:
            assert (await bob.call("approval.list"))["approvals"] == []
            with pytest.raises(NotFound) as missing:
                await bob.call("approval.show", approval="apr_never")
            for reference in (approval_["id"], approval_["id"][:6]):
                with pytest.raises(NotFound) as raised:
                    await bob.call("approval.show", approval=reference)
                said = raised.value.message.replace(reference, "apr_never")
                assert said == missing.value.message
            with pytest.raises(NotFound):
                await bob.call("approval.list", sandbox="a")


async def test_an_operator_decides_everybodys_and_the_second_learns_who_was_first(home: Path) -> None:
    async with (
        running_hub(home) as hub,
        answering(hub, "*") as shop,
        hub.client(await hub.mint("alice")) as alice,
        hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator,
    ):
        await alice.create(name="a")
        called = hub.machine.agent.callback("pay", 1)
        (approval_,) = await pending(operator)
        decided = await operator.call("approval.approve", approval=approval_["id"])
        assert decided["state"] == "approved"
        assert decided["decided_by"].startswith("tok_")
        assert (decided["decided_by_name"], decided["outcome"]) == ("test", "let_through")
        assert await result_of(called) == 1
        with pytest.raises(Conflict) as raised:
            await shop.client.call("approval.deny", approval=approval_["id"], reason="no")
        assert raised.value.details["decided_by"] == decided["decided_by"]
        assert decided["decided_by"] in raised.value.message


async def test_edited_parameters_are_checked_canonical_and_shown_with_a_diff(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay", {"amount": 5, "to": "ann"})
        (approval_,) = await pending(shop.client)
        for wrong in ("{", '{"a":1,"a":2}', "NaN"):
            with pytest.raises(BadRequest):
                await shop.client.call("approval.approve", approval=approval_["id"], params=wrong)
        with pytest.raises(TooLarge):
            await shop.client.call(
                "approval.approve", approval=approval_["id"], params='"' + "x" * (1 << 17) + '"'
            )
        text = '{ "to": "ann", "amount": 1.0e0 }'
        edited = await shop.client.call("approval.approve", approval=approval_["id"], params=text)
        assert (edited["state"], edited["approved_params"]) == ("edited", '{"amount":1.0,"to":"ann"}')
        assert [line for line in edited["diff"] if line[0] in "+-" and line[:3] not in ("+++", "---")] == [
            '-  "amount": 5,',
            '+  "amount": 1.0,',
        ]
        assert await result_of(called) == {"amount": 1.0, "to": "ann"}
        assert (await shop.client.call("approval.show", approval=approval_["id"])) == edited


async def test_a_denial_needs_a_reason(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        called = hub.machine.agent.callback("pay")
        (approval_,) = await pending(shop.client)
        with pytest.raises(BadRequest, match="needs a reason"):
            await shop.client.call("approval.deny", approval=approval_["id"])
        denied = await shop.client.call("approval.deny", approval=approval_["id"], reason="not today")
        assert (denied["reason"], denied["rule_reason"]) == ("not today", "money leaves by hand")
        assert denied["outcome"] == "refused"
        with pytest.raises(Forbidden, match="not today"):
            await within(called.result())


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("approval.list", {"states": ["waiting"]}),
        ("approval.list", {"states": "pending"}),
        ("approval.list", {"limit": 0}),
        ("approval.list", {"limit": MAX_LISTED + 1}),
        ("approval.list", {"sandbox": ""}),
        ("approval.show", {}),
        ("approval.show", {"approval": "x" * 65}),
        ("approval.approve", {"approval": 7}),
    ],
)
async def test_a_request_that_will_not_do_is_refused(home: Path, kind: str, params: dict[str, Any]) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        with pytest.raises(BadRequest):
            await client.call(kind, **params)


async def filled(hub: RunningHub, count: int, size: int) -> None:
    """Approvals of a sandbox, let through long ago."""
    (sandbox,) = await hub.store.sandboxes()
    for number in range(count):
        old = approval(
            id=f"apr_{number:03}",
            sandbox=sandbox.id,
            callback=f"cb_{number}",
            params=json.dumps("x" * size),
            state=ApprovalState.APPROVED,
        )
        await hub.store.write(lambda transaction, old=old: transaction.insert_approval(old))  # type: ignore[misc]


@pytest.mark.parametrize(("size", "whole"), [(SHORT_BYTES, 0), (SHORT_BYTES - 2, 64), (100, 80)])
async def test_long_parameters_push_nobodys_approval_out_of_a_list(home: Path, size: int, whole: int) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        await filled(hub, 80, size)
        found = await client.call("approval.list", states=["approved"], limit=MAX_LISTED)
        assert (len(found["approvals"]), found["omitted"]) == (80, 0)
        assert [one["params"] is not None for one in found["approvals"]] == [True] * whole + [False] * (
            80 - whole
        )
        last = found["approvals"][-1]
        assert last["params_bytes"] == size + 2
        shown = await client.call("approval.show", approval=last["id"])
        assert len(shown["params"]) == size + 2
        assert shown["params_sha256"] == last["params_sha256"]


@contextlib.asynccontextmanager
async def deaf(hub: RunningHub, token: str) -> AsyncIterator[ClientConnection]:
    """A client that has been answered a list, and does not say that it has it."""
    socket = await open_socket(hub.address)
    try:
        await socket.send(encode(hello(token), Limits()))
        await within(socket.recv())
        await socket.send(encode(Open(1, "approval.list", {}, 0), Limits()))
        await within(socket.recv())
        yield socket
    finally:
        socket.transport.abort()


async def test_for_each_token_one_list_is_made_and_held_at_a_time(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as other, asyncio.TaskGroup() as tasks:
        token = await hub.mint("ops", Scope.OPERATOR)
        async with deaf(hub, token) as socket, hub.client(token) as client:
            second = tasks.create_task(client.call("approval.list"))
            assert (await other.call("approval.list"))["approvals"] == []
            await client.call("hub.status")
            assert not second.done()
            await socket.send(encode(Closed(1), Limits()))
            assert (await within(second))["approvals"] == []


async def test_a_list_that_its_client_does_not_take_is_dropped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "DELIVERY_S", 0.01)
    async with running_hub(home) as hub, deaf(hub, hub.admin) as socket:
        message = await within(socket.recv())
        assert isinstance(message, bytes)
        (frame,) = Decoder(Limits()).frames(message)
        assert isinstance(frame, Reset)
        assert (frame.channel, frame.code) == (1, "timed_out")


async def test_what_a_client_asked_for_that_has_given_up_is_not_read(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        asked = client.open("approval.list")
        asked.reset(Cancelled("enough"))
        assert (await client.call("approval.list"))["approvals"] == []


async def test_whoever_can_decide_is_told_at_the_start_how_many_wait(home: Path) -> None:
    async with running_hub(home) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        for number in range(2):
            hub.machine.agent.callback("pay", number)
        waiting = await pending(shop.client, 2)
        for scope, told in [
            (Scope.OWNER, {}),
            (Scope.OPERATOR, {"waiting": 2}),
            (Scope.ADMIN, {"waiting": 2}),
        ]:
            async with hub.client(await hub.mint("somebody", scope)) as client:
                assert client.peer.greeting is not None
                assert client.peer.greeting.info == told
        await shop.client.call("approval.approve", approval=waiting[0]["id"])
        async with hub.client() as client:
            assert client.peer.greeting is not None
            assert client.peer.greeting.info == {"waiting": 1}


async def test_what_a_killed_hub_has_left_pending_is_abandoned_at_the_next_start(home: Path) -> None:
    async with running_hub(home) as hub, hub.client() as client:
        await client.create(name="a")
        (sandbox,) = await hub.store.sandboxes()
        left = approval(sandbox=sandbox.id, params="1")
        await hub.store.write(lambda transaction: transaction.insert_approval(left))
    async with running_hub(home) as hub, hub.client() as client:
        assert (await client.call("approval.list"))["approvals"] == []
        shown = await client.call("approval.show", approval=left.id)
        assert (shown["state"], shown["decided_by"]) == ("abandoned", "hub")
        assert (shown["outcome"], shown["decided_by_name"]) == ("gone", "hub")
        names = await hub.names()
        assert names.index("approval.abandoned") > names.index("hub.started")
