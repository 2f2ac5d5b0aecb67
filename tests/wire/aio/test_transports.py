"""What every transport promises, and what only some of them do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import unix_connect
from websockets.asyncio.server import ServerConnection, unix_serve

from cloche_wire.aio import MemoryTransport, Transport, WebSocketTransport
from cloche_wire.errors import LinkLost, Undecodable
from tests.support.links import Link, Links, quiet


@pytest.fixture
async def link(links: Links) -> AsyncIterator[Link]:
    """A link of each kind."""
    link = await links.make()
    yield link
    await link.leader.close()
    await link.follower.close()


class TestEveryTransport:
    async def test_messages_arrive_whole_and_in_order_both_ways(self, link: Link) -> None:
        messages = [bytes([number]) * (number * 7 + 1) for number in range(50)]
        arrived: list[list[bytes]] = []

        async with asyncio.TaskGroup() as tasks:
            for sender, receiver in ((link.leader, link.follower), (link.follower, link.leader)):
                tasks.create_task(_send_all(sender, messages))
                receiving = tasks.create_task(_receive(receiver, len(messages)))
                receiving.add_done_callback(lambda task: arrived.append(task.result()))
        assert arrived == [messages, messages]

    async def test_sending_waits_when_the_far_end_does_not_receive(self, link: Link) -> None:
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await link.leader.send(bytes(100_000))
                sent += 1

        async with asyncio.TaskGroup() as tasks:
            flooding = tasks.create_task(flood())
            await quiet()
            stalled_at = sent
            await quiet()
            assert sent == stalled_at
            assert sent < 30, "the link holds megabytes"
            # Room for the next message makes it go on.
            for _ in range(stalled_at):
                await link.follower.receive()
            await quiet()
            assert sent > stalled_at
            flooding.cancel()

    async def test_what_was_sent_before_closing_arrives_before_the_end(self, link: Link) -> None:
        await link.leader.send(b"last")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(link.leader.close())
            assert await link.follower.receive() == b"last"
            with pytest.raises(LinkLost):
                await link.follower.receive()

    async def test_closing_ends_a_pending_receive_at_both_ends(self, link: Link) -> None:
        async def until_lost(end: Transport) -> None:
            with pytest.raises(LinkLost):
                await end.receive()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(until_lost(link.leader))
            tasks.create_task(until_lost(link.follower))
            await quiet()
            await link.leader.close()

    async def test_closing_ends_a_send_that_waits_at_the_far_end(self, link: Link) -> None:
        async with asyncio.TaskGroup() as tasks:
            flooding = tasks.create_task(_flood_until_lost(link.follower))
            await quiet()
            assert not flooding.done()
            await link.leader.close()

    async def test_a_closed_end_neither_sends_nor_receives(self, link: Link) -> None:
        await link.leader.close()
        with pytest.raises(LinkLost):
            await link.leader.send(b"x")
        with pytest.raises(LinkLost):
            await link.leader.receive()

    async def test_closing_twice_and_from_both_ends_is_once(self, link: Link) -> None:
        async with asyncio.TaskGroup() as tasks:
            for end in (link.leader, link.leader, link.follower, link.follower):
                tasks.create_task(end.close())
        await link.leader.close()

    async def test_closing_does_not_wait_for_a_far_end_that_takes_nothing(self, link: Link) -> None:

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_flood_until_lost(link.leader))
            await quiet()
            async with asyncio.timeout(5):
                await link.leader.close()

    async def test_a_broken_link_is_lost_to_both_ends(self, link: Link) -> None:
        link.sever()
        for end in (link.leader, link.follower):
            with pytest.raises(LinkLost):
                await end.receive()
            # A socket may take one more before it knows.
            await _flood_until_lost(end)

    async def test_a_cancelled_receive_loses_nothing(self, link: Link) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(20):
                receiving = tasks.create_task(link.follower.receive())
                await quiet()
                # It is cancelled in the very turn in which its message comes, and in every turn after that.
                await link.leader.send(bytes([number]))
                for _ in range(number):
                    await asyncio.sleep(0)
                receiving.cancel()
                await asyncio.wait({receiving})
                if receiving.cancelled():
                    assert await link.follower.receive() == bytes([number])
                else:
                    assert receiving.result() == bytes([number])

    async def test_a_close_that_is_cancelled_closes_all_the_same(self, link: Link) -> None:
        async with asyncio.TaskGroup() as tasks:
            closing = tasks.create_task(link.leader.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait({closing})
        with pytest.raises(LinkLost):
            await link.follower.receive()


class TestMemory:
    async def test_an_end_that_closes_loses_what_it_has_not_received_but_no_message_in_the_middle(
        self,
    ) -> None:
        near, far = MemoryTransport.pair(depth=2)
        await near.send(b"1")
        await near.send(b"2")
        await near.close()
        assert await far.receive() == b"1"
        assert await far.receive() == b"2"
        with pytest.raises(LinkLost):
            await far.receive()

        near, far = MemoryTransport.pair(depth=2)
        await near.send(b"1")
        await far.close()
        with pytest.raises(LinkLost):
            await far.receive()


class TestWebSocket:
    async def test_a_text_message_is_no_link_message(self, tmp_path: Path) -> None:
        async def on_socket(connection: ServerConnection) -> None:
            await connection.send("text")
            await connection.wait_closed()

        path = str(tmp_path / "ws.sock")
        async with (
            unix_serve(on_socket, path),
            unix_connect(path, "ws://localhost/") as client,
        ):
            with pytest.raises(Undecodable, match="text"):
                await WebSocketTransport(client).receive()

    async def test_the_reason_of_a_close_is_told(self, tmp_path: Path) -> None:
        async def on_socket(connection: ServerConnection) -> None:
            await connection.close(4000, "go away")

        path = str(tmp_path / "ws.sock")
        async with unix_serve(on_socket, path), unix_connect(path, "ws://localhost/") as client:
            with pytest.raises(LinkLost, match="go away"):
                await WebSocketTransport(client).receive()


async def _send_all(sender: Transport, messages: list[bytes]) -> None:
    for message in messages:
        await sender.send(message)


async def _flood_until_lost(end: Transport) -> None:
    with contextlib.suppress(LinkLost):
        while True:
            await end.send(bytes(100_000))


async def _receive(receiver: Transport, count: int) -> list[bytes]:
    return [await receiver.receive() for _ in range(count)]
