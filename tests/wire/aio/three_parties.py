"""A client, a hub that splices, a guest: three parties and the links between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from cloche_wire.aio import Channel, Gate, Handler, Tap, splice
from cloche_wire.errors import WireError
from cloche_wire.frames import Fields
from cloche_wire.limits import Limits
from tests.support.links import SMALL, Links, Pair, joined
from tests.wire.aio.guests import BULK, Guests, collect, read_all, write_and_end

BeforeClose = Callable[[Fields], Awaitable[Fields]]


class Hub:
    """A client and a guest, each with a link to the hub, which splices what the client opens to the guest."""

    def __init__(self) -> None:
        self.client_side: Pair
        """The client leads."""
        self.guest_side: Pair
        """The hub leads."""
        self.before_close: BeforeClose | None = None
        self.check_info: Callable[[Fields], Fields] = dict
        self.front_tap: Tap | None = None
        self.back_tap: Tap | None = None
        self.back_gate: Gate | None = None
        self.before_answer: Callable[[], Awaitable[None]] | None = None
        """What is done after a failure, before the client is told."""
        self.results: list[Fields | WireError] = []
        """What each splice has returned or raised."""
        self.splicing: list[asyncio.Task[Any] | None] = []
        self.most_held = 0

    async def serve(self, front: Channel) -> None:
        """The hub's handler."""
        back = self.guest_side.leader.open(front.kind, front.params, window=front.window)
        self.splicing.append(asyncio.current_task())
        try:
            result = await splice(
                front,
                back,
                check_info=self.check_info,
                before_close=self.before_close,
                front_tap=self.front_tap,
                back_tap=self.back_tap,
                back_gate=self.back_gate,
            )
            self.results.append(result)
        except WireError as error:
            self.results.append(error)
            if self.before_answer is not None:
                await self.before_answer()
            raise

    def open(self, kind: str = "exec", *, window: int | None = None) -> Channel:
        """A channel of the client's."""
        return self.client_side.leader.open(kind, {"for": "guest"}, window=window)

    @property
    def held(self) -> dict[tuple[str, int], int]:
        """Bytes the hub keeps, by where they go and stream; the most of them ever seen is noted."""
        held = {
            (name, stream): sending.end - sending.acked
            for name, peer in (("client", self.client_side.follower), ("guest", self.guest_side.leader))
            for channel in peer.connection.channels.values()
            for stream, sending in channel.sending.items()
        }
        self.most_held = max([self.most_held, *held.values()])
        return held

    def peers_are_clean(self) -> bool:
        """Whether nobody remembers any channel."""
        peers = [
            peer for side in (self.client_side, self.guest_side) for peer in (side.leader, side.follower)
        ]
        return not any(peer._channels or peer.connection.channels for peer in peers)


@contextlib.asynccontextmanager
async def spliced(
    client_links: Links,
    guest_links: Links,
    on_open: Handler | None,
    *,
    client_limits: Limits = SMALL,
    hub_limits: Limits = SMALL,
    hub_limits_for_guests: Limits | None = None,
    guest_limits: Limits = SMALL,
) -> AsyncIterator[Hub]:
    """The three parties; links are the test's to make."""
    hub = Hub()
    async with (
        joined(
            guest_links,
            on_open=on_open,
            limits=hub_limits_for_guests or hub_limits,
            follower_limits=guest_limits,
        ) as guest_side,
        joined(
            client_links, on_open=hub.serve, limits=client_limits, follower_limits=hub_limits
        ) as client_side,
    ):
        hub.client_side, hub.guest_side = client_side, guest_side
        yield hub


Make = Callable[..., contextlib.AbstractAsyncContextManager[Hub]]


async def link_both(hub: Hub) -> None:
    """Both links, once."""
    await hub.client_side.link()
    await hub.guest_side.link()


@contextlib.asynccontextmanager
async def served_command(three: Make) -> AsyncIterator[tuple[Hub, Channel, Channel]]:
    """The three parties, linked; a channel of the client's; and the guest's end of it, which the test serves."""
    guests = Guests()
    async with three(guests) as hub:
        await link_both(hub)
        channel = hub.open()
        yield hub, channel, await guests.next()


async def talkative(channel: Channel) -> None:
    """A guest's command: messages and bytes both ways at once, and a result that says what came."""
    channel.accept({"pid": 3})
    async with asyncio.TaskGroup() as tasks:
        arriving = tasks.create_task(read_all(channel, 1))
        messages = tasks.create_task(collect(channel))
        tasks.create_task(write_and_end(channel, BULK[::-1], 1))
        tasks.create_task(write_and_end(channel, BULK, 2))
    channel.close({"right": arriving.result() == BULK, "messages": messages.result()})
    await channel.wait_confirmed()


async def talk_to(channel: Channel) -> None:
    """The client's part of `talkative`."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write_and_end(channel, BULK, 1))
        out = tasks.create_task(read_all(channel, 1))
        err = tasks.create_task(read_all(channel, 2))
        for number in range(5):
            await channel.send_message({"signal": number})
        channel.end(0)
    assert (out.result(), err.result()) == (BULK[::-1], BULK)
    result = await channel.result()
    assert result == {"right": True, "messages": [{"signal": number} for number in range(5)]}
