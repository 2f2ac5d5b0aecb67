"""Why a link ends, as both sides learn it."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_wire.aio import Channel, Peer, StreamTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    BadRequest,
    LinkLost,
    RemoteProtocolError,
    ShuttingDown,
    Unauthenticated,
    Undecodable,
)
from cloche_wire.frames import Accept, Bye, Data, Open
from tests.support.links import SESSION, SMALL, Links, Stranger, joined, quiet, stream_pair
from tests.wire.aio.guests import Guests, read_all


class TestWhyALinkEnds:
    async def test_who_gives_up_tells_the_other_side_why_and_its_own_run_too(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            pair.follower.fail(ShuttingDown("back in a minute"))
            reasons = await pair.ended()
            for reason in reasons:
                assert isinstance(reason, ShuttingDown)
                assert reason.message == "back in a minute"
            with pytest.raises(ShuttingDown):
                await served.read(1)
            # The other side's channels wait: whoever it was may come back.
            assert channel.is_live

    async def test_the_reason_arrives_even_when_both_sides_are_flooding(self, links: Links) -> None:
        async def flood(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, bytes(100_000_000))

        async with joined(links, on_open=flood, on_open_at_leader=flood) as pair:
            await pair.link()
            ours, theirs = pair.leader.open("flood"), pair.follower.open("flood")
            for _ in range(20):
                await ours.read(1)
                await theirs.read(1)
            pair.follower.fail(ShuttingDown("enough"))
            reasons = await pair.ended()
            assert [type(reason) for reason in reasons] == [ShuttingDown, ShuttingDown]

    async def test_a_stranger_is_told_why_it_is_turned_away(self, links: Links) -> None:
        async with joined(links, limits=SMALL) as pair:
            link = await links.make()
            run = pair.start(pair.leader, link.leader)
            await link.follower.receive()
            pair.follower.connection.link_up()
            await pair.follower.part(link.follower, Unauthenticated("no such token"))
            await link.follower.close()
            reason = await run.reason()
            assert isinstance(reason, Unauthenticated)
            assert reason.message == "no such token"

    @pytest.mark.parametrize(
        "frames",
        [
            [Data(1, 1, 0, b"x")],
            [Data(99, 1, 0, b"x")],
            [Accept(1, {}, 64), Data(1, 1, 5, b"x")],
            [Accept(1, {}, 64), Data(1, 9, 0, b"x")],
            [Accept(1, {}, 64), Data(1, 1, 0, bytes(65))],
            [Accept(1, {}, 64), Accept(1, {}, 64)],
            [Open(1, "mine", {}, 64)],
        ],
        ids=lambda frames: "-".join(type(frame).__name__ for frame in frames),
    )
    async def test_a_breach_of_the_protocol_fails_all_channels_and_drops_the_link_with_a_bye(
        self, links: Links, frames: list[Any]
    ) -> None:
        async with joined(links, limits=SMALL) as pair:
            link = await links.make()
            channels = [pair.leader.open("exec"), pair.leader.open("exec")]
            run = pair.start(pair.leader, link.leader)
            stranger = Stranger(link.follower, limits=SMALL)
            await stranger.greets()
            await stranger.hears(Open)
            await stranger.says(*frames)
            bye = await stranger.hears(Bye)
            assert bye.code == "bad_request"
            assert "protocol" in bye.message
            reason = await run.reason()
            assert isinstance(reason, RemoteProtocolError)
            assert not isinstance(reason, Undecodable)
            for channel in channels:
                with pytest.raises(LinkLost, match="broke the protocol"):
                    await channel.result()
            with pytest.raises(LinkLost):
                await link.follower.receive()

    async def test_after_bytes_that_make_no_sense_the_channels_wait_for_the_next_link(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            assert pair.fuse is not None
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            await served.write(1, b"before")
            await quiet()
            await pair.fuse.follower.send(b"\xc1 no frame")
            reasons = await pair.ended()
            assert isinstance(reasons[0], Undecodable)
            assert isinstance(reasons[1], BadRequest)
            assert "protocol error" in reasons[1].message
            await served.write(1, b" and after")
            served.close({"code": 0})
            await pair.link()
            assert await channel.result() == {"code": 0}
            assert await read_all(channel) == b"before and after"

    async def test_a_peer_that_vanishes_within_a_message_is_lost(self) -> None:
        (reader, writer), (_far_reader, far_writer) = await stream_pair()
        transport = StreamTransport(reader, writer, leader=True, in_step=True)
        async with Peer(Connection(leader=True, software="l", session=SESSION)) as peer:
            far_writer.write(b"\xc1\x00\x10\x00 half a message")
            far_writer.close()
            with pytest.raises(LinkLost):
                await peer.run(transport)
