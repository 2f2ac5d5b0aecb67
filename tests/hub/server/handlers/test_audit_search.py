"""Searching the audit, and following what a search would find."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, Cancelled, TooLarge
from cloche_hub.server.handlers.audit_search import NEWS_S
from cloche_hub.server.handlers.context import MOST_FOLLOWERS
from cloche_hub.services.records import noting
from cloche_wire.aio import Channel
from tests.support.hub import RunningHub, running_hub, until, within


async def note(hub: RunningHub, count: int = 1, *, actor: str = "hub") -> None:
    def change(transaction: Any) -> None:
        for number in range(count):
            noting(AuditName.CACHE_PRUNED, actor=actor, detail={"number": number})(transaction)

    await hub.store.write(change)


def text(wanted: str) -> list[dict[str, Any]]:
    return [{"kind": "text", "values": [wanted]}]


async def parts(channel: Channel) -> list[dict[str, Any]]:
    """All that a search tells that ends."""
    told = [message async for message in channel.messages()]
    assert await within(channel.result()) == {}
    return told


async def test_who_sees_all_and_wants_all_is_told_how_far_the_chain_reaches(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await note(hub, 1000)
        head = hub.store.audit.head.seq
        assert await parts(client.open("audit.search")) == [
            {"first": 1, "last": head, "numbers": None, "head": head}
        ]


async def test_a_search_finds_the_newest_first_and_looks_at_everything_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await note(hub, 1500)
        await note(hub, actor="tok-x")
        head = hub.store.audit.head.seq
        told = await parts(client.open("audit.search", filter=text("tok-x")))
        assert [part["numbers"] for part in told] == [[head], *[[]] * (len(told) - 1)]
        assert [part["last"] for part in told] == [head, *(part["first"] - 1 for part in told[:-1])]
        assert told[-1]["first"] == 1


async def test_a_follower_is_told_what_comes_and_is_wanted(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("audit.search", filter=text("tok-x"), follow=True)
        messages = channel.messages()
        first = await within(anext(messages))
        assert first["first"] == 1
        await note(hub, actor="tok-y")
        await note(hub, actor="tok-x")
        found: list[int] = []
        while not found:
            found += (await within(anext(messages)))["numbers"]
        assert found == [first["head"] + 2]
        channel.reset(Cancelled("enough"))


@pytest.mark.parametrize("terms", [[], text("hub")])
async def test_a_follower_is_not_told_more_often_than_anybody_looks(
    tmp_path: Path, terms: list[dict[str, Any]]
) -> None:
    clock = asyncio.get_running_loop().time
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("audit.search", filter=terms, follow=True)
        messages = channel.messages()
        last = (await within(anext(messages)))["head"]
        began, told, wanted = clock(), 0, last + 40
        for _ in range(40):
            await note(hub)
        while last < wanted:
            last, told = (await within(anext(messages)))["last"], told + 1
        assert told <= (clock() - began) / NEWS_S + 2
        channel.reset(Cancelled("enough"))


async def test_a_follower_of_everything_is_told_how_far_it_has_come_and_not_each_event(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("audit.search", follow=True)
        messages = channel.messages()
        begun = (await within(anext(messages)))["last"]
        await note(hub, 2000)
        told, last = 0, begun
        while last < begun + 2000:
            part = await within(anext(messages))
            assert part["first"] == last + 1
            last, told = part["last"], told + 1
        assert told <= 2
        channel.reset(Cancelled("enough"))


async def test_an_owner_finds_the_events_of_its_own_sandboxes_only(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        async with hub.client(await hub.mint("alice")) as alice:
            await admin.create(name="theirs")
            made = await alice.create(name="mine")
            told = await parts(alice.open("audit.search"))
            numbers = [number for part in told for number in part["numbers"]]
            channel = alice.open("audit.read", numbers=list(range(1, hub.store.audit.head.seq + 1)))
            events = [message async for message in channel.messages()]
        assert [event["seq"] for event in events] == numbers
        assert {event["sandbox"] for event in events} == {made["id"]}
        assert [event["event"] for event in events] == ["sandbox.created", "sandbox.started"]


async def test_a_search_that_is_given_up_ends(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        before = len(asyncio.all_tasks())
        for _ in range(5):
            channel = client.open("audit.search", follow=True)
            await within(anext(channel.messages()))
            channel.reset(Cancelled("enough"))
        await until(lambda: len(asyncio.all_tasks()) <= before + 1)


@pytest.mark.parametrize(
    "params",
    [{"filter": "x"}, {"filter": [{"kind": "regex", "values": ["a*"]}]}, {"follow": 1}, {"limit": 5}],
)
async def test_a_senseless_search_is_refused_before_it_is_taken(
    tmp_path: Path, params: dict[str, object]
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(BadRequest):
            await within(client.open("audit.search", **params).wait_accepted())


async def test_a_token_follows_only_so_many_searches_at_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channels = [client.open("audit.search", follow=True) for _ in range(MOST_FOLLOWERS)]
        for channel in channels:
            await within(channel.wait_accepted())
        with pytest.raises(TooLarge, match="follows the audit 32 times already"):
            await within(client.open("audit.search", follow=True).wait_accepted())
        assert await parts(client.open("audit.search"))
        channels[0].reset(Cancelled("enough"))
        await client.call("hub.status")
        await within(client.open("audit.search", follow=True).wait_accepted())
