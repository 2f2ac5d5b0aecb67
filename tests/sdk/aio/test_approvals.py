"""The hub's approvals from Python."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from cloche.aio import Hub
from cloche.errors import BadRequest, Conflict, NotFound
from cloche_wire.aio import Channel
from tests.support.local_hub import LocalHub


async def test_those_that_wait_are_listed_the_newest_first(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("a")
    hub.approvals.ask("b", state="denied")
    hub.approvals.ask("c")
    assert [approval.method for approval in await client.approvals.list()] == ["c", "a"]
    assert [approval.method for approval in await client.approvals.list(limit=1)] == ["c"]
    hub.approvals.omitted = 3
    assert (await client.approvals.list()).omitted == 3
    denied = await client.approvals.list(states=["denied"], sandbox="box")
    assert [approval.method for approval in denied] == ["b"]
    assert hub.asked[-1] == ("approval.list", {"states": ["denied"], "limit": 50, "sandbox": "box"})
    with pytest.raises(BadRequest):
        await client.approvals.list(states=["nonsense"])


async def test_one_is_found_by_the_beginning_of_its_id(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("a")
    assert (await client.approvals.get("apr_")).method == "a"
    with pytest.raises(NotFound):
        await client.approvals.get("none")


async def test_the_first_decision_stands(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("a")
    assert (await client.approvals.approve("apr_0001")).state == "approved"
    with pytest.raises(Conflict, match="is approved already by tok_other"):
        await client.approvals.deny("apr_0001", "late")
    assert hub.asked[0] == ("approval.approve", {"approval": "apr_0001"})


async def test_it_is_approved_with_other_parameters(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("a", {"amount": 3})
    edited = await client.approvals.approve("apr_0001", params={"é": 2})
    assert (edited.state, edited.params, edited.approved_params) == ("edited", {"amount": 3}, {"é": 2})
    assert hub.asked[0] == ("approval.approve", {"approval": "apr_0001", "params": '{"é": 2}'})


@pytest.mark.parametrize("params", [{1, 2}, float("nan"), b"bytes"])
async def test_parameters_json_has_not_are_refused_here(hub: LocalHub, client: Hub, params: object) -> None:
    with pytest.raises(BadRequest, match="params must be something JSON has"):
        await client.approvals.approve("apr_0001", params=params)
    assert hub.asked == []


async def test_it_is_denied_with_a_reason(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("a")
    denied = await client.approvals.deny("apr_0001", "too much")
    assert (denied.state, denied.reason, denied.decided_by) == ("denied", "too much", "tok_me")


async def test_whoever_watches_sees_those_that_wait_and_then_each_change(hub: LocalHub, client: Hub) -> None:
    hub.approvals.ask("old", state="denied")
    first = hub.approvals.ask("first")
    async with asyncio.timeout(10), aclosing(client.approvals.watch(sandbox="box")) as watched:
        seen = await anext(watched)
        assert (seen.method, seen.state) == ("first", "pending")
        await hub.approvals.change(first, state="expired")
        seen = await anext(watched)
        assert (seen.method, seen.state) == ("first", "expired")
        await hub.approvals.change(hub.approvals.ask("second"))
        assert (await anext(watched)).method == "second"
    assert hub.asked == [("events", {"topics": ["approval"], "sandbox": "box"})]


async def test_what_is_no_approval_any_more_is_none_to_a_watcher(hub: LocalHub, client: Hub) -> None:
    asked = hub.approvals.ask("a")

    async def tell(channel: Channel) -> None:
        channel.accept()
        await channel.send_message({"topic": "approval", "change": "gone", "value": asked})
        await channel.send_message({"topic": "novelty", "change": "changed", "value": {}})
        channel.end(0)
        channel.close({})

    hub.handlers["events"] = tell
    assert [approval async for approval in client.approvals.watch()] == []


async def test_how_many_wait_is_known_from_the_start(hub: LocalHub) -> None:
    hub.info["waiting"] = 2
    async with Hub.connect() as client:
        assert client.approvals.waiting == 2
    hub.info["waiting"] = "many"
    async with Hub.connect() as client:
        assert client.approvals.waiting == 0
