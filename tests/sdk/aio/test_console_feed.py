"""A console's events on their way to whoever reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cloche.aio.console_feed import ConsoleFeed
from cloche.console_events import ConsoleEvent, Live, Notice, Output, ScreenBegins
from cloche.errors import Cancelled, InternalError
from cloche_wire.aio import Channel
from tests.sdk.links import link_to
from tests.support.scripted_hub import ScriptedHub

Says = Callable[[Channel], Awaitable[None]]


@asynccontextmanager
async def _feed(
    hub: ScriptedHub, says: Says, *, most_kept_bytes: int = 1 << 20
) -> AsyncIterator[tuple[ConsoleFeed, Channel, list[ConsoleEvent]]]:
    """A feed of what the hub says, and the events that were noted."""
    noted: list[ConsoleEvent] = []

    async def attach(channel: Channel) -> None:
        channel.accept()
        await says(channel)
        channel.close({"exit_code": 0})

    hub.handlers["console.attach"] = attach
    async with asyncio.timeout(20), link_to(hub) as link:
        channel = link.open("console.attach", {})
        await channel.wait_accepted()
        try:
            yield ConsoleFeed(channel, noted.append, most_kept_bytes=most_kept_bytes), channel, noted
        finally:
            channel.reset(Cancelled("the test is over"))


def _saying(*messages: Any) -> Says:
    async def says(channel: Channel) -> None:
        for message in messages:
            await channel.send_message(message)

    return says


async def _rest(feed: ConsoleFeed) -> list[ConsoleEvent]:
    events = []
    while (event := await feed.next()) is not None:
        events.append(event)
    return events


async def test_events_come_in_order_to_the_end_and_are_noted(scripted_hub: ScriptedHub) -> None:
    async with _feed(scripted_hub, _saying({"output": b"a"}, {"novelty": 1}, {"live": 1})) as (
        feed,
        _,
        noted,
    ):
        assert await _rest(feed) == [Output(b"a"), Live(1)]
        assert await feed.next() is None
        assert noted == [Output(b"a"), Live(1)]


async def test_who_waits_for_the_end_leaves_what_nobody_has_read_to_be_read(
    scripted_hub: ScriptedHub,
) -> None:
    messages = ({"output": b"a"}, {"notice": "n"}, {"output": b"b"})
    async with _feed(scripted_hub, _saying(*messages)) as (feed, channel, _):
        assert await feed.next() == Output(b"a")
        await feed.finish()
        assert await channel.result() == {"exit_code": 0}
        assert await _rest(feed) == [Notice("n"), Output(b"b")]


async def test_who_reads_gets_all_in_order_while_others_wait_for_the_end(scripted_hub: ScriptedHub) -> None:
    messages = [{"live": number} for number in range(50)]
    async with (
        _feed(scripted_hub, _saying(*messages)) as (feed, _, _),
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(2):
            tasks.create_task(feed.finish())
        reading = tasks.create_task(_rest(feed))
    assert reading.result() == [Live(number) for number in range(50)]


async def test_what_nobody_reads_is_forgotten_beyond_the_bound_and_the_screen_asked_for(
    scripted_hub: ScriptedHub,
) -> None:
    async def says(channel: Channel) -> None:
        for _ in range(4):
            await channel.send_message({"output": b"x" * 400})
        async for message in channel.messages():
            assert message == {"refresh": True}
            break
        await channel.send_message({"output": b"y" * 10})
        await channel.send_message({"screen": {"rows": 2, "cols": 3, "lost_bytes": 5}})
        await channel.send_message({"output": b"whole"})

    async with _feed(scripted_hub, says, most_kept_bytes=2000) as (feed, _, noted):
        await feed.finish()
        assert await _rest(feed) == [ScreenBegins(2, 3, 5 + 1600 + 10), Output(b"whole")]
        assert len(noted) == 7


async def test_a_flood_at_the_very_end_is_forgotten_and_ends(scripted_hub: ScriptedHub) -> None:
    flood = [{"output": b"x" * 1000}] * 20
    async with _feed(scripted_hub, _saying(*flood), most_kept_bytes=2000) as (feed, channel, _):
        await channel.result()  # all of it has come
        await feed.finish()
        assert sum(len(event.data) for event in await _rest(feed) if isinstance(event, Output)) <= 2000


async def test_cancelling_loses_nothing(scripted_hub: ScriptedHub) -> None:
    goes_on = asyncio.Event()

    async def says(channel: Channel) -> None:
        await goes_on.wait()
        await channel.send_message({"live": 1})

    async with _feed(scripted_hub, says) as (feed, _, _):
        for wait in (feed.next, feed.finish):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await wait()
        goes_on.set()
        assert await _rest(feed) == [Live(1)]


async def test_a_message_that_is_odd_is_an_error(scripted_hub: ScriptedHub) -> None:
    async with _feed(scripted_hub, _saying({"output": 1})) as (feed, _, _):
        with pytest.raises(InternalError, match="console event has output"):
            await feed.next()


async def test_an_attachment_that_was_left_says_so(scripted_hub: ScriptedHub) -> None:
    async def says(channel: Channel) -> None:
        await channel.wait_confirmed()

    async with _feed(scripted_hub, says) as (feed, channel, _):
        channel.reset(Cancelled("left it"))
        with pytest.raises(Cancelled, match="left it"):
            await feed.finish()
