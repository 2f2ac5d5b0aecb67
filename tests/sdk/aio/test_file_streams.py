"""A file's content on its way, and the hash that covers all of it."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from cloche.aio.file_streams import Digest, Push, asked, pull
from cloche.errors import Cancelled, Forbidden, InternalError, NoSpace
from cloche_wire.aio import Channel
from tests.sdk.links import link_to
from tests.sdk.test_file_messages import ENTRY
from tests.support.scripted_hub import ScriptedHub, refuse

HELLO = hashlib.sha256(b"hello").hexdigest()
PARAMS = {"sandbox": "sb_1", "path": "a"}


def _giving(result: dict[str, Any]) -> Any:
    async def handle(channel: Channel) -> None:
        channel.accept(ENTRY)
        await channel.write(1, b"hello")
        channel.end(1)
        channel.close(result)

    return handle


async def test_a_digest_is_the_same_however_the_pieces_are_hashed() -> None:
    digest, large = Digest(), bytes(1 << 20)
    await digest.add(b"a")
    await digest.add(large)
    assert digest.sha256 == hashlib.sha256(b"a" + large).hexdigest()


def test_what_is_not_given_is_not_asked() -> None:
    assert asked("sb_1", "a", None, mode=None, follow=False) == {**PARAMS, "follow": False}


async def test_what_was_pulled_is_compared_with_what_the_hub_saw(scripted_hub: ScriptedHub) -> None:
    for result in ({"size_bytes": 5, "sha256": "00"}, {"size_bytes": 4, "sha256": HELLO}):
        scripted_hub.handlers["file.read"] = _giving(result)
        async with link_to(scripted_hub) as link, pull(link, PARAMS) as source:
            assert source.entry.path == ENTRY["path"]
            assert [await source.read(), await source.read()] == [b"hello", b""]
            with pytest.raises(InternalError, match="not what the hub sent"):
                source.check(await source.end(), HELLO)


async def test_leaving_a_pull_gives_it_up(scripted_hub: ScriptedHub) -> None:
    gone = asyncio.Event()

    async def endless(channel: Channel) -> None:
        channel.accept(ENTRY)
        try:
            while True:
                await channel.write(1, bytes(1 << 16))
        except Cancelled:
            gone.set()

    scripted_hub.handlers["file.read"] = endless
    async with link_to(scripted_hub) as link:
        async with pull(link, PARAMS) as source:
            assert await source.read()
        await gone.wait()


async def test_what_cannot_be_opened_says_why(scripted_hub: ScriptedHub) -> None:
    scripted_hub.handlers |= dict.fromkeys(("file.read", "file.write"), refuse(Forbidden("/x: no")))
    async with link_to(scripted_hub) as link:
        with pytest.raises(Forbidden):
            async with pull(link, PARAMS):
                pytest.fail("it was opened")
        with pytest.raises(Forbidden):
            async with Push(link, PARAMS):
                pytest.fail("it was opened")


def _taking(result: dict[str, Any], taken: list[bytes]) -> Any:
    async def handle(channel: Channel) -> None:
        channel.accept()
        while piece := await channel.read(1):
            taken.append(piece)
        channel.close(result)

    return handle


async def test_what_was_pushed_is_compared_with_what_the_hub_saw(scripted_hub: ScriptedHub) -> None:
    taken: list[bytes] = []
    scripted_hub.handlers["file.write"] = _taking({**ENTRY, "size_bytes": 5, "sha256": HELLO}, taken)
    async with link_to(scripted_hub) as link:
        async with Push(link, PARAMS) as sink:
            await sink.write(b"hello")
            assert (await sink.finish(HELLO)).size_bytes == 5
        async with Push(link, PARAMS) as sink:
            await sink.write(b"hellO")
            with pytest.raises(InternalError, match="not what was sent"):
                await sink.finish("00")
    assert taken == [b"hello", b"hellO"]


async def test_a_push_left_without_its_end_never_ends(scripted_hub: ScriptedHub) -> None:
    errors: asyncio.Queue[Exception] = asyncio.Queue()

    async def handle(channel: Channel) -> None:
        channel.accept()
        try:
            while await channel.read(1):
                pass
            pytest.fail("it ended")
        except Cancelled as error:
            errors.put_nowait(error)

    scripted_hub.handlers["file.write"] = handle
    async with link_to(scripted_hub) as link:
        async with Push(link, PARAMS) as sink:
            await sink.write(b"hel")
        assert "given up the file" in str(await errors.get())


async def test_a_refusal_in_the_middle_is_what_is_raised(scripted_hub: ScriptedHub) -> None:
    async def handle(channel: Channel) -> None:
        channel.accept()
        await channel.read(1)
        raise NoSpace("/a: the machine's disk is full")

    scripted_hub.handlers["file.write"] = handle
    async with link_to(scripted_hub) as link, Push(link, PARAMS) as sink:
        with pytest.raises(NoSpace, match="disk is full"):
            await sink.write(bytes(8 << 20))
