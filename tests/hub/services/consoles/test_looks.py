"""Consoles' screens as text, for those who look without being viewers, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.errors import Cancelled, NotFound
from cloche_hub.services.consoles import screen_feed
from cloche_wire.aio import Channel
from cloche_wire.limits import Limits
from tests.support.consoles import attach, create
from tests.support.hub import Client, running_hub, until, within


def follow(client: Client, **params: Any) -> Channel:
    return client.open("console.screen", sandbox="a", follow=True, **params)


async def look(client: Client, **params: Any) -> dict[str, Any]:
    """A console's screen, once."""
    channel = client.open("console.screen", sandbox="a", **params)
    (told,) = [message async for message in channel.messages(max_bytes=4 << 20)]
    assert await within(channel.result()) == {}
    assert isinstance(told, dict)
    return told


async def until_line(screens: AsyncIterator[dict[str, Any]], text: str) -> dict[str, Any]:
    """The first screen that has a text."""
    while True:
        told = await within(anext(screens))
        if any(text in line for line in told["lines"]):
            return told


async def test_a_look_says_what_shows_now(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, rows=3, cols=20)
        driver = await attach(client)
        await driver.type(b"one\r\ntwo")
        await driver.until_shown("two")
        told = await look(client)
        assert told == {
            "rows": 24,
            "cols": 80,
            "lines": ["one", "two", *[""] * 22],
            "cursor": {"row": 1, "col": 3, "is_visible": True},
            "title": "",
            "is_alternate": False,
            "first_line": 0,
            "offset": 8,
            "state": "open",
            "driver": "v1",
        }
        driver.close()


async def test_who_follows_sees_each_change_that_stays_and_then_the_end(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        driver = await attach(client)
        channel = follow(client)
        screens = channel.messages()
        assert (await within(anext(screens)))["offset"] == 0
        for word in ("one", "two", "three"):
            await driver.type(word.encode())
            await until_line(screens, word)
        await driver.type(b"\x04")
        await within(driver.result())
        driver.close()
        last = [told async for told in screens][-1]
        assert (last["lines"][0], last["state"]) == ("onetwothree", "ended")
        assert await within(channel.result()) == {}


async def test_the_end_is_seen_although_nobody_reads_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen_feed, "MOST_A_SECOND", 1e9)
    monkeypatch.setattr(screen_feed, "_REST", 0)
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=Limits(window=8 << 10)) as slow,
        hub.client() as client,
    ):
        await client.create(name="a")
        await create(client)
        driver = await attach(client)
        channel = follow(slow)
        await within(channel.wait_accepted())
        for number in range(20):
            await driver.type(b"\x1b[H%02d" % number + b"x" * 1900)
            await driver.until_shown(f"{number:02}x")
        await driver.type(b"\x1b[Hlast\x04")
        await within(driver.result())
        driver.close()
        told = [screen async for screen in channel.messages()]
        # Half a window of old ones, no part of another, that nobody drives any more, and the last.
        assert len(told) <= 5
        assert (told[-1]["state"], told[-1]["lines"][0][:4]) == ("ended", "last")


async def test_the_end_is_seen_although_a_viewer_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche_hub.services.consoles.attachments.DELIVERY_S", 3600)
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=Limits(window=8 << 10)) as slow,
        hub.client() as client,
    ):
        await client.create(name="a")
        await create(client)
        stuck = await attach(slow, is_read=False)
        await stuck.type(b"x" * 20_000)
        screens = follow(client).messages()
        await until_line(screens, "x" * 80)
        await stuck.type(b"\x04")
        while (await within(anext(screens)))["state"] != "ended":
            pass
        stuck.channel.reset(Cancelled("enough"))


async def test_many_follow_and_leave_as_they_like(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        driver = await attach(client)
        channels = [follow(client) for _ in range(8)]
        for number, channel in enumerate(channels):
            await within(anext(channel.messages()))
            if number % 2:
                channel.reset(Cancelled("enough"))
        await driver.type(b"hello")
        for channel in channels[::2]:
            await until_line(channel.messages(), "hello")
            channel.reset(Cancelled("enough"))
        driver.close()


async def test_a_console_that_has_ended_shows_its_last_screen(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        made = await create(client, name="work")
        driver = await attach(client)
        await driver.type(b"goodbye\x04")
        await within(driver.result())
        driver.close()
        told = await look(client, console="work")
        assert (told["lines"][0], told["state"]) == ("goodbye", "ended")
        (still,) = [message async for message in follow(client, console=made["id"]).messages()]
        assert still == told


async def test_what_could_not_be_kept_is_said(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        made = await create(client, name="work")
        driver = await attach(client)
        await driver.type(b"\x04")
        await within(driver.result())
        driver.close()
        await hub.screens.remove(made["id"])
        with pytest.raises(NotFound, match="could not be kept"):
            await look(client, console="work")


async def test_who_follows_a_console_whose_sandbox_is_removed_is_not_left_waiting(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        channel = follow(client)
        await within(anext(channel.messages()))
        await client.call("sandbox.remove", sandbox="a")
        assert await within(channel.result()) == {}


async def test_there_must_be_a_console_and_it_must_be_ones_own(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(NotFound, match="no open console"):
            await look(client)
        await create(client)
        async with hub.client(await hub.mint("bob")) as bob:
            with pytest.raises(NotFound, match="no sandbox"):
                await look(bob)


async def test_a_look_is_no_viewer_and_leaves_no_trace(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        before = await hub.names()
        channel = follow(client)
        await within(anext(channel.messages()))
        (console,) = [one for one in (await client.call("console.list"))["consoles"] if one["kind"] == "pty"]
        assert console["viewers"] == []
        channel.reset(Cancelled("enough"))
        await until(lambda: not channel.is_live)
        await asyncio.sleep(0)
        assert await hub.names() == before
