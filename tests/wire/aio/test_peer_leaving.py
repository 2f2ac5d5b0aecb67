"""A peer that is left leaves nothing behind; a far end that behaves badly costs little."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.aio import Channel, Peer, Transport
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, LinkLost, NotFound, WireError
from cloche_wire.frames import Open, Reset
from cloche_wire.limits import Limits
from tests.support.links import SESSION, SMALL, Link, Links, Stranger, joined, outcome, quiet
from tests.wire.aio.guests import Guests, answer, for_ever, lone_leader, wait_for_ever


class TestLeaving:
    async def test_leaving_fails_what_waits_tells_the_other_side_and_leaves_no_task(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, limits=SMALL, on_open=guests) as pair, asyncio.TaskGroup() as tasks:
            link = await links.make()
            follower_run = pair.start(pair.follower, link.follower)
            async with Peer(
                Connection(leader=True, software="l", session=SESSION, limits=SMALL), on_open=wait_for_ever
            ) as peer:
                run = pair.start(peer, link.leader)
                channel = peer.open("job")
                served = await guests.next()
                call = tasks.create_task(outcome(pair.follower.call("stuck")))
                writing = tasks.create_task(outcome(channel.write(1, b"never accepted")))
                waiting = tasks.create_task(outcome(channel.result()))
                await quiet()
            assert isinstance(await waiting, Cancelled)
            assert isinstance(await writing, Cancelled)
            assert isinstance(await run.reason(), Cancelled)
            reason = await follower_run.reason()
            assert isinstance(reason, Cancelled)
            assert "gone away" in reason.message
            with pytest.raises(Cancelled):
                peer.open("job")
            with pytest.raises(Cancelled):
                await peer.call("job")
            # Of the other side's channels only a new session can know that they are lost.
            pair.follower.fail(LinkLost("the client is gone"))
            assert isinstance(await call, LinkLost)
            assert not served.is_live

    async def test_handlers_that_wait_for_something_else_are_cancelled(self, links: Links) -> None:
        ended: list[str] = []

        async def work(channel: Channel) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append(channel.kind)
                raise

        async with joined(links, limits=SMALL) as pair:
            link = await links.make()
            async with (
                Peer(Connection(leader=False, software="f", limits=SMALL), on_open=work) as peer,
                asyncio.TaskGroup() as tasks,
            ):
                run = pair.start(peer, link.follower)
                leader_run = pair.start(pair.leader, link.leader)
                channels = [pair.leader.open(f"job {number}") for number in range(3)]
                await quiet()
                link.sever()
                await run.reason()
                await leader_run.reason()
                del tasks
        assert sorted(ended) == ["job 0", "job 1", "job 2"]
        assert not peer._handler_tasks
        assert all(not channel._inbox.is_closed_here for channel in channels)

    async def test_an_error_in_the_body_comes_out_as_it_is(self) -> None:
        with pytest.raises(NotFound):
            async with lone_leader():
                raise NotFound("plainly")

    async def test_a_cancelled_body_is_cancelled_and_its_handlers_with_it(self, memory: Links) -> None:
        ended = asyncio.Event()

        async def work(channel: Channel) -> None:
            try:
                await for_ever()
            finally:
                ended.set()

        async def live(link: Link) -> None:
            connection = Connection(leader=False, software="f", limits=SMALL)
            async with Peer(connection, on_open=work) as peer:
                await peer.run(link.follower)

        async with joined(memory, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            link = await memory.make()
            living = tasks.create_task(live(link))
            run = pair.start(pair.leader, link.leader)
            pair.leader.open("job")
            await quiet()
            living.cancel()
            await asyncio.wait({living})
            assert living.cancelled()
            assert ended.is_set()
            assert isinstance(await run.reason(), LinkLost)

    async def test_a_peer_that_was_left_turns_links_away(self, memory: Links) -> None:
        async with lone_leader() as peer:
            pass
        link = await memory.make()
        with pytest.raises(Cancelled, match="gone away"):
            await peer.run(link.leader)
        with pytest.raises(LinkLost):
            await link.leader.receive()

    async def test_nobody_waits_for_a_channel_that_only_the_connection_was_told_to_drop(
        self, memory: Links
    ) -> None:
        async with joined(memory, on_open=wait_for_ever, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("job")
            await quiet()
            pair.leader.connection.reset(channel.number, Cancelled("behind its back"))
            pair.leader.fail(LinkLost("over"))
            with pytest.raises(LinkLost, match="over"):
                await channel.result()

    async def test_giving_up_without_a_link_does_not_end_the_next(self, memory: Links) -> None:
        async with joined(memory, on_open=answer, limits=SMALL) as pair:
            waiting = pair.leader.open("job")
            pair.leader.fail(LinkLost("nobody came"))
            with pytest.raises(LinkLost, match="nobody came"):
                await waiting.result()
            await pair.link()
            assert await pair.leader.call("job") == {"kind": "job"}


class TestBounds:
    async def test_a_far_end_that_reads_nothing_costs_no_more_than_its_windows(self, links: Links) -> None:
        limits = Limits(window=1000, chunk=100, max_channels=4)

        async def flood(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, bytes(10_000_000))

        async with joined(links, on_open=flood, limits=limits) as pair:
            link = await links.make()
            run = pair.start(pair.follower, link.follower)
            stranger = Stranger(link.leader, leader=True, limits=limits)
            await stranger.greets()
            await stranger.says(*(Open(number, "flood", {}, 1000) for number in (1, 3, 5)))
            await quiet()
            held = sum(
                sending.end - sending.acked
                for channel in pair.follower.connection.channels.values()
                for sending in channel.sending.values()
            )
            assert held == 3 * 1000
            link.sever()
            await run.reason()

    async def test_a_far_end_that_opens_and_resets_without_end_is_bounded(self, links: Links) -> None:
        transport: Transport
        async with joined(links, on_open=wait_for_ever, limits=SMALL) as pair:
            link = await links.make()
            transport = link.leader
            run = pair.start(pair.follower, link.follower)
            stranger = Stranger(transport, leader=True, limits=SMALL)
            await stranger.greets()
            # It never reads what comes back.
            for number in range(1, 2001, 2):
                try:
                    await stranger.says(Open(number, "job", {}, 64), Reset(number, "cancelled", "", {}))
                except LinkLost:
                    break
                assert len(pair.follower._handler_tasks) <= SMALL.max_channels
                assert len(pair.follower._channels) <= SMALL.max_channels
            link.sever()
            assert isinstance(await run.reason(), WireError)
