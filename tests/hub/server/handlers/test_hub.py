"""Requests about the hub itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from cloche_hub.app import VERSION
from cloche_wire.frames import Bye, Close, Decoder, Open, encode
from cloche_wire.limits import Limits
from tests.support.hub import open_socket, running_hub, within
from tests.support.strangers import hello


async def test_the_status_says_where_and_what_the_hub_is(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        status = await client.call("hub.status")
        assert status["started_at"].endswith("Z")
        del status["started_at"]
        assert status == {
            "version": VERSION,
            "pid": os.getpid(),
            "address": hub.address,
            "accelerator": "tcg",
            "accelerator_reason": "a fake runs no machines",
            "hypervisor_version": "0",
            "arch": "x86_64",
            "machines": 1,
        }


async def test_stopping_is_answered_before_it_happens(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        assert await client.call("hub.stop") == {}
        await within(asyncio.wait({hub.serving}))
        assert hub.hypervisor.alive == []


async def test_the_hub_stops_although_who_asked_for_it_is_gone(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=3600) as hub, hub.client() as client:
        client.open("hub.stop")
        # The request is on its way before the link is cut; its answer meets nobody.
        await client.call("hub.status")
        await client.cut()
        await within(asyncio.wait({hub.serving}))


async def test_the_hub_stops_although_who_asked_for_it_leaves_before_it_has_heard_the_answer(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=3600) as hub:
        socket = await open_socket(hub.address)
        await socket.send(encode(hello(hub.admin), Limits()))
        await within(socket.recv())
        await socket.send(encode(Open(1, "hub.stop", {}, 1024), Limits()))
        (answer,) = Decoder(Limits()).frames(await within(socket.recv(decode=False)))
        assert isinstance(answer, Close)
        await socket.send(encode(Bye(0, "cancelled", "goodbye"), Limits()))
        await within(asyncio.wait({hub.serving}))
        socket.transport.abort()
