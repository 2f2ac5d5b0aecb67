"""The request `events`, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.sandbox import State
from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import Cancelled, NotFound, TooLarge
from cloche_hub.services.changes import MOST, MOST_OF_ONE, Changes, News
from cloche_hub.services.held import HUB
from cloche_wire.aio import Channel
from cloche_wire.limits import Limits
from tests.hub.domain.examples import sandbox
from tests.support.callbacks import ASK, answering, pending, write_policy
from tests.support.consoles import attach, create
from tests.support.hub import Client, running_hub, until, within

TINY = Limits(window=2048, max_peer_window=2048)


@contextlib.asynccontextmanager
async def events(client: Client, **params: Any) -> AsyncIterator[Channel]:
    """A subscription, given up at the end."""
    channel = client.open("events", **params)
    try:
        yield channel
    finally:
        channel.reset(Cancelled("enough"))


async def heard(channel: Channel) -> tuple[Any, ...]:
    """The next event: topic, change, and what it is about."""
    message = await within(anext(channel.messages()))
    value = message.get("value", {})
    return (
        message["topic"],
        message.get("change"),
        value.get("name", value.get("sandbox")),
        value.get("state"),
    )


END = ("current_end", None, None, None)


async def until_state(channel: Channel, name: str, state: str) -> str:
    """Reads until a sandbox is in a state; returns the kind of change that said so."""
    while True:
        _, change, told, now = await heard(channel)
        if (told, now) == (name, state):
            return str(change)


async def test_the_current_state_comes_first_and_then_what_changes(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="old")
        async with events(client, topics=["sandbox", "approval"]) as channel:
            assert await heard(channel) == ("sandbox", "current", "old", "running")
            assert await heard(channel) == END
            await client.create(name="new")
            assert await until_state(channel, "new", "running") == "changed"
            await client.call("sandbox.remove", sandbox="old")
            assert await until_state(channel, "old", "removed") == "gone"
            hub.machine.crash()
            assert await until_state(channel, "new", "failed") == "changed"


async def test_a_token_hears_of_what_it_may_see_only(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        await admin.create(name="secret")
        async with hub.client(await hub.mint("bob")) as bob, events(bob) as channel:
            assert await heard(channel) == END
            await admin.create(name="more-secrets")
            await bob.create(name="own", labels={"a": "b"})
            assert await until_state(channel, "own", "running") == "changed"
            async with events(bob, owner="root") as others:
                assert await heard(others) == END
            with pytest.raises(NotFound):
                await bob.call("events", sandbox="secret")


async def test_an_operator_hears_of_everybody_or_of_whom_it_asks_for(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(await hub.mint("ann")) as ann,
        hub.client(await hub.mint("bob")) as bob,
        hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator,
    ):
        await ann.create(name="a", labels={"team": "ml-infra"})
        await bob.create(name="b", labels={"team": "web"})
        for params, names in (
            ({}, ["b", "a"]),
            ({"owner": "bob"}, ["b"]),
            ({"labels": {"team": "ml-*"}}, ["a"]),
            ({"sandbox": "b"}, ["b"]),
            ({"states": ["failed"]}, []),
        ):
            async with events(operator, topics=["sandbox"], **params) as channel:
                told = []
                while (event := await heard(channel)) != END:
                    told.append(event[2])
                assert sorted(told) == sorted(names)


async def test_usage_is_sampled_while_somebody_listens(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", usage_interval_s=0.1) as hub, hub.client() as client:
        made = await client.create(name="a")
        async with events(client, topics=["usage"]) as channel:
            assert await heard(channel) == END
            first = await within(anext(channel.messages()))
            assert first["value"] == {
                "sandbox": made["id"],
                "at": first["value"]["at"],
                "cpu_s": 0.1,
                "cpu_percent": None,
                "memory_pss_bytes": 1 << 20,
                "disk_bytes": 1 << 16,
            }
            assert (await within(anext(channel.messages())))["value"]["cpu_percent"] == 0.0


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> Changes:
    """Where the services of the next hub publish."""
    there = Changes()
    monkeypatch.setattr("cloche_hub.app.Changes", lambda: there)
    return there


def of_clients(changes: Changes) -> list[News]:
    """The subscriptions that are not the hub's own."""
    return [news for news in changes._subscribers if news.of != HUB]


async def test_a_client_that_reads_nothing_gets_the_newest_state_and_costs_nothing(
    tmp_path: Path, changes: Changes
) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=TINY) as slow,
        events(slow, topics=["sandbox"]) as channel,
    ):
        assert await heard(channel) == END
        (news,) = of_clients(changes)
        for number in range(10_000):
            thing = f"box-{number % 10}"
            changes.publish(
                "sandbox", thing, sandbox(id=thing, name=f"{thing}-{number}", state=State.RUNNING)
            )
            if number % 10 == 9:
                await asyncio.sleep(0)
                # One for each thing at most; what is on its way is bounded by the client's window.
                assert len(news._waiting) <= 10
        missing, names = {f"box-{thing}-{9990 + thing}" for thing in range(10)}, 0
        while missing:
            missing.discard((await heard(channel))[2])
            names += 1
        assert names < 100, "what nobody has read has been replaced"


async def test_a_client_behind_in_more_things_than_are_kept_is_told_to_begin_anew(
    tmp_path: Path, changes: Changes
) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client() as client,
        events(client, topics=["sandbox"]) as channel,
    ):
        assert await heard(channel) == END
        for number in range(MOST + 1):
            changes.publish("sandbox", f"sb_{number}", sandbox(id=f"sb_{number}", state=State.RUNNING))
        with pytest.raises(TooLarge, match="subscribe again"):
            await until_state(channel, "a", "never")


async def test_a_subscription_that_is_given_up_leaves_nothing_behind(
    tmp_path: Path, changes: Changes
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        async with events(client) as channel:
            assert await heard(channel) == END
            assert len(of_clients(changes)) == 1
        await until(lambda: not of_clients(changes))


async def test_consoles_are_told_of_as_they_come_change_and_end(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        async with events(client, topics=["console"]) as channel:
            assert await heard(channel) == ("console", "current", "1", "open")
            assert await heard(channel) == ("console", "current", "boot", "open")
            assert await heard(channel) == END
            viewer = await attach(client)
            await viewer.type(b"\x1b]2;vim\x07")
            titles = set()
            while "vim" not in titles:
                titles.add((await within(anext(channel.messages())))["value"]["title"])
            await client.call("console.close", sandbox="a")
            assert await until_state(channel, "1", "ended") == "changed"


async def test_what_waits_is_told_newest_first_and_what_is_decided_without_long_parameters(
    tmp_path: Path,
) -> None:
    write_policy(tmp_path / "home", ASK)
    async with running_hub(tmp_path / "home") as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        for number in range(3):
            hub.machine.agent.callback("pay", str(number) * 5000)
            await pending(shop.client, number + 1)
        async with events(shop.client, topics=["approval"]) as channel:
            told = [await within(anext(channel.messages())) for _ in range(4)]
            assert [json.loads(one["value"]["params"])[0] for one in told[:3]] == ["2", "1", "0"]
            assert told[3] == {"topic": "current_end"}
            await shop.client.call("approval.approve", approval=told[0]["value"]["id"])
            decided = (await within(anext(channel.messages())))["value"]
            assert (decided["state"], decided["params"], decided["params_bytes"]) == ("approved", None, 5002)


async def test_what_is_decided_before_it_could_be_told_is_not_told_as_it_was(tmp_path: Path) -> None:
    write_policy(tmp_path / "home", ASK)
    async with running_hub(tmp_path / "home") as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        for number in range(3):
            hub.machine.agent.callback("pay", "x" * 4000)
            waiting = await pending(shop.client, number + 1)
        async with hub.client(limits=TINY) as slow, events(slow, topics=["approval"]) as channel:
            # The window holds a part of the first: the hub waits with the others.
            await within(channel.wait_accepted())
            await shop.client.call("approval.deny", approval=waiting[-1]["id"], reason="no")
            states = [(one[1], one[3]) for one in [await heard(channel) for _ in range(3)]]
            assert states == [("current", "pending"), ("current", "pending"), (None, None)]


async def test_a_token_follows_events_so_many_times_and_others_do_not_care(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client() as client,
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(MOST_OF_ONE):
            channel = await stack.enter_async_context(events(client))
            await within(channel.wait_accepted())
        with pytest.raises(TooLarge, match="follows events 32 times already"):
            await within(client.open("events").result())
        async with hub.client(await hub.mint("bob")) as bob, events(bob) as other:
            assert await heard(other) == END
