"""A link that is lost, and what was underway on it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from cloche.errors import (
    CodedError,
    LinkLost,
    ShuttingDown,
    Unauthenticated,
)
from cloche.link import Link
from cloche.link_news import LinkNews
from cloche_wire.aio import Channel, Heartbeat
from cloche_wire.frames import Bye, encode
from cloche_wire.limits import Limits
from tests.sdk.links import FORSAKING, QUICK, at, hello_on, link_to
from tests.support.scripted_hub import ScriptedHub


async def test_a_call_underway_survives_a_cut(scripted_hub: ScriptedHub) -> None:
    go_on = asyncio.Event()

    async def slow(channel: Channel) -> None:
        await go_on.wait()
        channel.close({"done": True})

    scripted_hub.handlers["slow"] = slow
    async with link_to(scripted_hub) as link, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(link.call("slow"))
        while not scripted_hub.asked:
            await asyncio.sleep(0)
        scripted_hub.cut()
        await scripted_hub.wait_links(2)
        go_on.set()
        assert await call == {"done": True}
    assert len(scripted_hub.asked) == 1, "the request was not made twice"


async def test_a_stream_cut_again_and_again_arrives_whole_and_once(scripted_hub: ScriptedHub) -> None:
    sent = bytes(range(256)) * 8192

    async def pour(channel: Channel) -> None:
        channel.accept()
        await channel.write(1, sent)
        channel.end(1)
        channel.close({})

    scripted_hub.handlers["pour"] = pour
    async with link_to(scripted_hub) as link:
        channel = link.open("pour")
        received = b""
        cuts = 0
        while piece := await channel.read(1):
            received += piece
            if cuts < 5 and len(received) > cuts * len(sent) // 6:
                scripted_hub.cut()
                cuts += 1
    assert cuts == 5
    assert received == sent
    assert len({hello.session for hello in scripted_hub.hellos}) == 1


async def test_a_call_made_while_the_hub_is_away_waits_for_it(scripted_hub: ScriptedHub) -> None:
    async with link_to(scripted_hub) as link, asyncio.TaskGroup() as tasks:
        await scripted_hub.deafen()
        scripted_hub.cut()
        call = tasks.create_task(link.call("ping"))
        await asyncio.sleep(0)
        await scripted_hub.listen()
        assert await call == {"pong": 1}


async def test_a_hub_that_does_not_come_back_fails_what_was_underway(scripted_hub: ScriptedHub) -> None:
    async with link_to(scripted_hub, patience=FORSAKING) as link:
        channel = link.open("never")
        scripted_hub.handlers["never"] = lambda channel: asyncio.Event().wait()  # type: ignore[assignment,return-value]
        await scripted_hub.vanish()
        with pytest.raises(LinkLost, match=r"did not come back within 0\.3 s; whether"):
            await channel.result()
        with pytest.raises(LinkLost, match="did not come back"):
            await link.call("ping")


async def test_a_hub_that_was_started_again_fails_what_was_underway_and_serves_what_comes(
    scripted_hub: ScriptedHub,
) -> None:
    async def never(_channel: Channel) -> None:
        await asyncio.Event().wait()

    scripted_hub.handlers["never"] = never
    told: list[LinkNews] = []
    async with link_to(scripted_hub, on_link=told.append) as link, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(_outcome(link.call("never")))
        while not scripted_hub.asked:
            await asyncio.sleep(0)
        scripted_hub.forget()
        scripted_hub.cut()
        assert isinstance(await call, LinkLost)
        assert await link.call("ping") == {"pong": 1}
    assert [news.is_up for news in told if news.is_turn] == [False, True]
    assert told[-1] == LinkNews(is_up=True, text="the hub is back, but has forgotten what was underway")


async def test_losing_the_hub_and_finding_it_again_is_told(scripted_hub: ScriptedHub) -> None:
    told: list[LinkNews] = []
    async with link_to(scripted_hub, on_link=told.append) as link:
        scripted_hub.cut()
        await scripted_hub.wait_links(2)
        await link.call("ping")
    lost, found = told
    assert lost.reason
    assert lost.text == f"lost the hub ({lost.reason}); trying to reach it again for 10 s"
    assert 0 < lost.next_try_s <= QUICK.first_delay_s
    assert replace(lost, text="", reason="", next_try_s=0) == LinkNews(is_up=False, text="", attempt=1)
    assert found == LinkNews(is_up=True, text="the hub is back; what was underway goes on", resumed=True)


async def test_each_attempt_that_does_not_find_the_hub_is_told(scripted_hub: ScriptedHub) -> None:
    told: list[LinkNews] = []
    enough = asyncio.Event()

    def listen(news: LinkNews) -> None:
        told.append(news)
        if news.attempt == 3:
            enough.set()

    async with link_to(scripted_hub, on_link=listen), asyncio.timeout(10):
        await scripted_hub.deafen()
        scripted_hub.cut()
        await enough.wait()
    assert [news.attempt for news in told[:3]] == [1, 2, 3]
    assert [news.is_turn for news in told[:3]] == [True, False, False]
    assert told[1].reason.startswith("no hub answers at unix://")
    assert told[1].text == f"the hub is still away ({told[1].reason})"
    assert 0 < told[2].next_try_s <= QUICK.longest_delay_s


async def test_a_hub_that_goes_away_in_good_order_is_not_waited_for(scripted_hub: ScriptedHub) -> None:
    farewell = ShuttingDown("the hub is going away")

    async def leave(channel: Channel) -> None:
        # What the hub's own orderly end does: a word on the link, then its end.
        for socket in list(scripted_hub._sockets):
            await socket.send(encode(Bye(0, farewell.code, farewell.message), Limits()))

    scripted_hub.handlers["leave"] = leave
    async with link_to(scripted_hub) as link:
        with pytest.raises(ShuttingDown, match="going away"):
            await link.call("leave")
        with pytest.raises(ShuttingDown, match="going away"):
            link.open("ping")


async def test_a_token_that_was_revoked_meanwhile_ends_the_search(scripted_hub: ScriptedHub) -> None:
    async with link_to(scripted_hub) as link:
        scripted_hub.token = "another"
        scripted_hub.cut()
        with pytest.raises(Unauthenticated):
            await link.call("ping")


async def test_a_hub_that_falls_silent_is_lost(tmp_path: Path) -> None:
    told: list[LinkNews] = []
    came_again = asyncio.Event()

    async def greet_and_fall_silent(socket: ServerConnection) -> None:
        hello = await hello_on(socket)
        anew = hello if hello.resumes else hello._replace(generation=hello.generation + 1)
        await socket.send(encode(anew, Limits()))
        if told:
            came_again.set()
        await socket.wait_closed()

    beat = Heartbeat(interval_s=0.05, silent_after_s=0.1)
    async with unix_serve(greet_and_fall_silent, str(tmp_path / "hub.sock"), close_timeout=0.1):
        link = Link(at(tmp_path / "hub.sock"), None, patience=QUICK, heartbeat=beat, on_link=told.append)
        async with asyncio.timeout(10), link:
            await came_again.wait()
    assert told[0].text.startswith("lost the hub (the other side has not answered")
    assert told[0].silent_s == beat.silent_after_s


async def _outcome(work: Any) -> CodedError | dict[str, Any]:
    try:
        found: dict[str, Any] = await work
    except CodedError as error:
        return error
    return found
