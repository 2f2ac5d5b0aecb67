"""Links of a peer: made, cut, made again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_wire.aio import Peer, StreamTransport
from cloche_wire.connection import Connection
from cloche_wire.errors import LinkLost, LocalProtocolError
from tests.support.links import (
    SESSION,
    SMALL,
    Link,
    Links,
    Pair,
    joined,
    memory_link,
    open_links,
    quiet,
    stream_pair,
)
from tests.wire.aio import fake_clock
from tests.wire.aio.guests import Conversation, Guests, answer


class TestLinks:
    async def test_both_sides_learn_who_the_other_is(self, links: Links) -> None:
        async with joined(links, limits=SMALL) as pair:
            pair.leader.connection.info = {"token": "t"}
            await pair.link()
            assert (await pair.leader.wait_up()).software == "follower/1"
            assert (await pair.follower.wait_up()).info == {"token": "t"}
            was_up = pair.leader.is_up
            await pair.cut()
            assert (was_up, pair.leader.is_up) == (True, False)
            assert not pair.leader.connection.is_up
            assert pair.leader.greeting is not None

    @pytest.mark.usefixtures("small_messages")
    @pytest.mark.parametrize("cut_after", [8, 9, 10, 11, 13, 17, 29, 60])
    async def test_whatever_is_cut_in_the_middle_goes_on_and_nothing_is_lost_or_doubled(
        self, links: Links, cut_after: int
    ) -> None:
        talk = Conversation()
        async with joined(links, on_open=talk.serve, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(pair.keep_up(cut_after=cut_after))
            async with asyncio.TaskGroup() as talks:
                for number in range(2):
                    talks.create_task(talk.hold(pair, number))
            # What is left to say is only that the results have arrived.
            while pair.leader._channels or pair.follower._channels:
                await asyncio.sleep(0)
            keeping.cancel()
        assert sorted(talk.opened) == [0, 1]
        assert pair.links_made > 150 / cut_after, "too few cuts to prove anything"

    async def test_a_stream_cut_after_any_byte_goes_on(self) -> None:
        talk = Conversation()
        connection = Connection(leader=True, software="leader/1", session=SESSION, limits=SMALL)
        far = Connection(leader=False, software="follower/1", limits=SMALL)
        async with (
            Peer(connection) as leader,
            Peer(far, on_open=talk.serve) as follower,
            asyncio.TaskGroup() as tasks,
        ):
            pair = Pair(Links("stream", _memory_link), leader, follower, tasks)
            talking = tasks.create_task(talk.hold(pair, 1))
            length = 300
            while not talking.done():
                link, relaying = await _relayed(length, tasks)
                runs = (pair.start(leader, link.leader), pair.start(follower, link.follower))
                await asyncio.wait({talking, relaying}, return_when=asyncio.FIRST_COMPLETED)
                link.sever()
                for run in runs:
                    await run.reason()
                # Another place in another message each time.
                length += 37
        assert talk.opened == [1]

    async def test_channels_opened_without_a_link_wait_for_it(self, links: Links) -> None:
        talk = Conversation()
        async with joined(links, on_open=talk.serve, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(talk.hold(pair, 7))
            await quiet()
            assert not talking.done()
            await pair.link()
            await talking

    async def test_a_link_that_breaks_is_lost_to_both_and_their_channels_wait(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            reasons = await pair.cut()
            assert [type(reason) for reason in reasons] == [LinkLost, LinkLost]
            assert channel.is_live
            served.close({"code": 0})
            await pair.link()
            assert await channel.result() == {"code": 0}

    async def test_cancelling_a_run_ends_the_link_but_not_the_channels(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            assert pair.runs is not None
            channel = pair.leader.open("exec")
            served = await guests.next()
            pair.runs[0].task.cancel()
            assert isinstance(await pair.runs[1].reason(), LinkLost)
            assert pair.runs[0].task.cancelled()
            served.close({"code": 0})
            await pair.link()
            assert await channel.result() == {"code": 0}

    async def test_a_session_that_one_side_has_given_up_is_lost_to_the_other_on_the_next_link(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            await pair.cut()
            pair.follower.fail(LinkLost("nobody came back"))
            with pytest.raises(LinkLost, match="nobody"):
                await served.read(1)
            await pair.link()
            with pytest.raises(LinkLost, match="lost"):
                await channel.result()
            # The link itself is good.
            again = pair.leader.open("again")
            (await guests.next()).close({"fine": True})
            assert await again.result() == {"fine": True}

    async def test_the_first_message_may_have_been_read_by_somebody_else(self, memory: Links) -> None:
        async with joined(memory, on_open=answer, limits=SMALL) as pair:
            link = await memory.make()
            runs = [pair.start(pair.leader, link.leader)]
            first = await link.follower.receive()
            runs.append(pair.start(pair.follower, link.follower, first=first))
            assert await pair.leader.call("hello") == {"kind": "hello"}
            link.sever()
            for run in runs:
                await run.reason()

    async def test_two_peers_that_flood_each_other_over_the_narrowest_link_do_not_deadlock(self) -> None:
        talk = Conversation()
        links = Links("memory", _narrow_link)
        async with joined(links, on_open=talk.serve, limits=SMALL) as pair:
            await pair.link()
            async with asyncio.TaskGroup() as tasks:
                for number in range(6):
                    tasks.create_task(talk.hold(pair, number))

    async def test_one_link_at_a_time(self, memory: Links) -> None:
        async with joined(memory, on_open=answer, limits=SMALL) as pair:
            await pair.link()
            await pair.leader.wait_up()
            link = await memory.make()
            with pytest.raises(LocalProtocolError, match="one link at a time"):
                await pair.leader.run(link.leader)
            assert await pair.leader.call("hello") == {"kind": "hello"}


def test_nothing_waits_for_a_timer_while_there_is_something_to_do(tmp_path: Path) -> None:
    async def main() -> float:
        talk = Conversation()
        async with (
            open_links("memory", tmp_path) as links,
            joined(links, on_open=talk.serve, limits=SMALL) as pair,
            asyncio.TaskGroup() as tasks,
        ):
            begun = asyncio.get_running_loop().time()
            keeping = tasks.create_task(pair.keep_up(cut_after=50))
            async with asyncio.TaskGroup() as talks:
                for number in range(3):
                    talks.create_task(talk.hold(pair, number))
            took = asyncio.get_running_loop().time() - begun
            keeping.cancel()
        return took

    # A wake-up that is missed would be mended by the heartbeat, seconds later.
    assert fake_clock.run(main()) == 0


async def _memory_link() -> Link:
    return memory_link()


async def _narrow_link() -> Link:
    return memory_link(depth=1)


async def _relayed(length: int, tasks: asyncio.TaskGroup) -> tuple[Link, asyncio.Task[None]]:
    """A byte stream through somebody who passes on only so many bytes each way, wherever a message ends."""
    (reader, writer), (near_reader, near_writer) = await stream_pair()
    (far_reader, far_writer), (other_reader, other_writer) = await stream_pair()

    async def relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        left = length
        while left and (data := await source.read(left)):
            left -= len(data)
            sink.write(data)
        await quiet()

    async def relay_both() -> None:
        async with asyncio.TaskGroup() as inner:
            directions = [
                inner.create_task(relay(near_reader, other_writer)),
                inner.create_task(relay(other_reader, near_writer)),
            ]
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            for direction in directions:
                direction.cancel()
        near_writer.transport.abort()
        other_writer.transport.abort()

    relaying = tasks.create_task(relay_both())
    leader = StreamTransport(reader, writer, leader=True, limits=SMALL)
    follower = StreamTransport(far_reader, far_writer, leader=False, limits=SMALL)
    async with asyncio.TaskGroup() as syncs:
        syncs.create_task(follower.synced())
        syncs.create_task(leader.sync(attempt_s=10, deadline_s=20))

    def sever() -> None:
        relaying.cancel()
        for each in (writer, far_writer, near_writer, other_writer):
            each.transport.abort()

    return Link(leader, follower, sever), relaying
