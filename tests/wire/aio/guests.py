"""What the other ends of channels do in these tests: handlers, readers, writers, whole conversations."""

from __future__ import annotations

import asyncio
from typing import Any

from cloche_wire.aio import Channel, Peer
from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError
from tests.support.links import SESSION, SMALL, Pair

WINDOW = SMALL.window

BULK = bytes(range(256)) * 8
"""32 windows."""


class Guests:
    """A handler that hands its channels to the test, which serves them by hand."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[Channel] = asyncio.Queue()

    async def __call__(self, channel: Channel) -> None:
        await self._arrived.put(channel)
        # A handler that returns without closing its channel would be a defect.
        try:
            await channel.wait_confirmed()
        except CodedError:
            return

    async def next(self) -> Channel:
        """The next channel that has arrived."""
        return await self._arrived.get()


async def answer(channel: Channel) -> None:
    """Closes with the channel's kind."""
    channel.close({"kind": channel.kind})


async def wait_for_ever(channel: Channel) -> None:
    """Serves until its caller gives up."""
    await channel.wait_confirmed()


async def echo(channel: Channel) -> None:
    """Sends back what comes on stream 1, and closes with its length."""
    channel.accept({"kind": channel.kind})
    total = 0
    while piece := await channel.read(1):
        total += len(piece)
        await channel.write(1, piece)
    channel.end(1)
    channel.close({"total": total})
    await channel.wait_confirmed()


async def read_all(channel: Channel, stream: int = 1) -> bytes:
    """A stream to its end."""
    data = b""
    while piece := await channel.read(stream):
        data += piece
    return data


async def collect(channel: Channel) -> list[Any]:
    """All messages."""
    return [message async for message in channel.messages()]


async def write_and_end(channel: Channel, data: bytes, stream: int = 1) -> None:
    """A whole stream."""
    await channel.write(stream, data)
    channel.end(stream)


def unacknowledged(channel: Channel) -> int:
    """Bytes that a channel's own side keeps for sending."""
    state = channel._connection.channels[channel.number]
    return sum(
        len(piece) for sending in state.sending.values() for piece in (*sending.unsent, *sending.unacked)
    )


def unread(channel: Channel) -> int:
    """Bytes that have arrived and wait to be read."""
    return sum(len(piece) for buffer in channel._inbox._buffers for piece in buffer)


class Conversation:
    """Everything a channel can do, both ways at once; whatever is lost or comes twice shows."""

    def __init__(self) -> None:
        self.opened: list[int] = []

    async def serve(self, channel: Channel) -> None:
        """The follower's part."""
        self.opened.append(channel.params["number"])
        channel.accept({"number": channel.params["number"]})
        async with asyncio.TaskGroup() as tasks:
            numbers = tasks.create_task(self._count(channel))
            arriving = tasks.create_task(read_all(channel, 1))
            tasks.create_task(write_and_end(channel, BULK[::-1], 1))
            tasks.create_task(write_and_end(channel, BULK, 2))
        channel.close({"numbers": numbers.result(), "right": arriving.result() == BULK})
        await channel.wait_confirmed()

    async def _count(self, channel: Channel) -> list[int]:
        numbers = [number async for number in channel.messages()]
        for number in numbers:
            await channel.send_message(number)
        channel.end(0)
        return numbers

    async def hold(self, pair: Pair, number: int) -> None:
        """The leader's part."""
        channel = pair.leader.open("talk", {"number": number})
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_numbers(channel))
            tasks.create_task(write_and_end(channel, BULK, 1))
            back = tasks.create_task(read_all(channel, 1))
            forth = tasks.create_task(read_all(channel, 2))
            assert await channel.wait_accepted() == {"number": number}
        assert [message async for message in channel.messages()] == list(range(10))
        assert (back.result(), forth.result()) == (BULK[::-1], BULK)
        assert await channel.result() == {"numbers": list(range(10)), "right": True}

    async def _send_numbers(self, channel: Channel) -> None:
        for number in range(10):
            await channel.send_message(number)
        channel.end(0)


def lone_leader() -> Peer:
    """A leader that nobody is linked to yet."""
    return Peer(Connection(leader=True, software="l", session=SESSION, limits=SMALL))


async def for_ever() -> None:
    """Waits until it is cancelled."""
    await asyncio.Event().wait()
