"""A connection to a hub."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche.background import Started
from cloche.errors import (
    Cancelled,
    Conflict,
    HubNotRunning,
    LinkLost,
    NotFound,
    ShuttingDown,
    Unauthenticated,
)
from cloche.link_news import LinkNews
from cloche.messages import Progress
from cloche_wire.aio import Channel
from tests.sdk.test_event_messages import SANDBOX, told
from tests.support.local_hub import LocalHub, local_hub
from tests.support.scripted_hub import TOKEN, refuse


async def test_this_user_s_own_hub_is_found_with_its_token(hub: LocalHub) -> None:
    async with Hub.connect() as client:
        assert client.address == hub.address
        assert (await client.status()).accelerator == "tcg"
        assert repr(client) == f"<Hub {hub.address}>"


async def test_the_environment_names_another_hub(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", "/nonexistent")
    monkeypatch.setenv("CLOCHE_HUB", hub.address)
    monkeypatch.setenv("CLOCHE_TOKEN", TOKEN)
    async with Hub.connect() as client:
        await client.status()


async def test_arguments_name_another_hub(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", "/nonexistent")
    async with Hub.connect(hub.address, TOKEN) as client:
        await client.status()
    with pytest.raises(Unauthenticated):
        await Hub.connect(hub.address)


async def test_a_connection_can_be_held_without_a_block(hub: LocalHub) -> None:
    client = await Hub.connect()
    await client.close()
    await client.close()


async def test_no_hub_is_an_error_unless_it_may_be_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HubNotRunning):
        await Hub.connect()
    async with AsyncExitStack() as stack:

        async def start() -> Started:
            running = await stack.enter_async_context(local_hub(home))
            return Started(running.address, 1)

        monkeypatch.setattr("cloche.background.start_hub", start)
        async with Hub.connect(start=True) as client:
            await client.status()


async def test_a_hub_that_is_not_one_s_own_is_never_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche.background.start_hub", None)
    with pytest.raises(HubNotRunning):
        await Hub.connect(f"unix://{home}/other.sock", start=True)


async def test_how_long_to_look_for_a_lost_hub_can_be_said(hub: LocalHub) -> None:
    told: list[LinkNews] = []
    async with Hub.connect(reconnect_s=0.2, on_link=told.append) as client:
        await hub.vanish()
        with pytest.raises(Exception, match=r"did not come back within 0\.2 s"):
            await client.status()
    assert [news.attempt for news in told if news.is_turn] == [1]


async def test_creating_tells_its_steps(client: Hub) -> None:
    steps: list[Progress] = []
    await client.create(on_progress=steps.append)
    assert steps == [
        Progress("packages", "making packages", 0.25),
        Progress("template", "making template", None),
    ]


async def test_what_is_asked_of_creating_reaches_the_hub(client: Hub, hub: LocalHub) -> None:
    await client.create(
        "minimal", "large", name="box", env={"A": "1"}, labels={"b": "2"}, lease_s=60, secrets={"KEY": "abcd"},
        build=False,
    )  # fmt: skip
    await client.create()
    (_, full), (_, plain) = hub.asked
    assert full == {
        "recipe": "minimal",
        "flavor": "large",
        "name": "box",
        "env": {"A": "1"},
        "labels": {"b": "2"},
        "lease_s": 60.0,
        "secrets": {"KEY": "abcd"},
        "build": False,
    }
    assert plain == {"recipe": "python", "flavor": "small", "env": {}, "labels": {}, "build": True}


async def test_cancelling_the_creation_calls_it_off_at_the_hub(client: Hub, hub: LocalHub) -> None:
    begun, called_off = asyncio.Event(), asyncio.Event()

    async def ask() -> None:
        await client.create()

    async def create(channel: Channel) -> None:
        channel.accept()
        begun.set()
        try:
            await channel.read(0)
        except Cancelled:
            called_off.set()

    hub.handlers["sandbox.create"] = create
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(ask())
        await begun.wait()
        asking.cancel()
        await called_off.wait()


async def test_a_refused_creation_raises_what_the_hub_said(client: Hub) -> None:
    await client.create(name="box")
    with pytest.raises(Conflict, match="choose another name"):
        await client.create(name="box")


async def test_sandboxes_are_listed_and_found(client: Hub, hub: LocalHub) -> None:
    assert await client.sandboxes() == []
    created = await client.create(name="box")
    assert [sandbox.info for sandbox in await client.sandboxes(all=True)] == [created.info]
    assert (await client.sandbox("box")).id == created.id
    with pytest.raises(NotFound):
        await client.sandbox("nosuch")
    assert [params for kind, params in hub.asked if kind == "sandbox.list"] == [{"all": False}, {"all": True}]


async def test_images_are_built_listed_and_removed(client: Hub) -> None:
    steps: list[Progress] = []
    image = await client.build_image("python", on_progress=steps.append)
    assert [step.step for step in steps] == ["packages"]
    assert await client.images() == [image]
    await client.remove_image(image.digest)
    assert await client.images() == []
    with pytest.raises(NotFound):
        await client.remove_image(image.digest)


async def test_disk_is_told_and_pruned(client: Hub) -> None:
    await client.build_image("python")
    usage = await client.disk_usage()
    assert [(entry.kind, entry.recipe) for entry in usage.entries] == [("image", "python")]
    assert await client.prune() == 3 << 20


async def test_stopping_returns_when_the_hub_has_begun_to(client: Hub, hub: LocalHub) -> None:
    await client.stop()
    async with asyncio.timeout(5):
        await hub.stopped.wait()


async def test_a_hub_that_is_gone_before_it_answers_has_stopped(client: Hub, hub: LocalHub) -> None:
    hub.handlers["hub.stop"] = refuse(ShuttingDown("going"))
    await client.stop()


# Events.


async def test_events_are_typed_and_their_filters_are_structured(hub: LocalHub, client: Hub) -> None:
    async def handle(channel: Channel) -> None:
        channel.accept()
        await channel.send_message(told("sandbox", SANDBOX, "current"))
        await channel.send_message({"topic": "current_end"})
        channel.close({})

    hub.handlers["events"] = handle
    heard = [event async for event in client.events(topics=["sandbox"], owner="ann", states=["running"])]
    assert [(event.topic, event.change) for event in heard] == [("sandbox", "current"), ("current_end", None)]
    assert hub.asked[-1] == (
        "events",
        {"topics": ["sandbox"], "labels": {}, "states": ["running"], "owner": "ann"},
    )


async def test_events_end_with_an_error_when_the_hub_has_forgotten_them(hub: LocalHub, client: Hub) -> None:
    async def handle(channel: Channel) -> None:
        channel.accept()
        await channel.send_message({"topic": "current_end"})
        await channel.wait_confirmed()

    hub.handlers["events"] = handle
    async with asyncio.timeout(10):
        events = client.events()
        assert (await anext(events)).topic == "current_end"
        hub.forget()
        hub.cut()
        with pytest.raises(LinkLost):
            await anext(events)


async def test_who_has_heard_enough_tells_the_hub(hub: LocalHub, client: Hub) -> None:
    given_up = asyncio.Event()

    async def handle(channel: Channel) -> None:
        channel.accept()
        await channel.send_message({"topic": "current_end"})
        try:
            await channel.wait_confirmed()
        except Cancelled:
            given_up.set()
            raise

    hub.handlers["events"] = handle
    async with asyncio.timeout(10):
        async with aclosing(client.events()) as events:
            await anext(events)
        await given_up.wait()
