"""Link messages over a byte stream: syncs, and everything that can be in their way."""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios
from collections.abc import AsyncIterator

import pytest

from cloche_wire.aio import StreamTransport
from cloche_wire.errors import LinkLost, LinkSilent, LocalProtocolError, Undecodable
from cloche_wire.framing import Framing
from cloche_wire.limits import Limits
from tests.support.links import Stream, quiet, stream_link, stream_pair

TINY = Limits(max_message=100, max_frame=50)


@pytest.fixture
async def streams() -> AsyncIterator[tuple[Stream, Stream]]:
    """The two raw ends of a byte stream, the leader's first."""
    near, far = await stream_pair()
    yield near, far
    for _reader, writer in (near, far):
        writer.transport.abort()


def leader_on(stream: Stream) -> StreamTransport:
    return StreamTransport(*stream, leader=True, limits=TINY)


def follower_on(stream: Stream) -> StreamTransport:
    return StreamTransport(*stream, leader=False, limits=TINY)


async def in_step(leader: StreamTransport, follower: StreamTransport) -> None:
    """Syncs both."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follower.synced())
        tasks.create_task(leader.sync(attempt_s=10, deadline_s=20))


class TestByteStream:
    async def test_a_stream_that_starts_in_step_needs_no_sync(self, streams: tuple[Stream, Stream]) -> None:
        leader = StreamTransport(*streams[0], leader=True, limits=TINY, in_step=True)
        follower = StreamTransport(*streams[1], leader=False, limits=TINY, in_step=True)
        await leader.send(b"hello")
        assert await follower.receive() == b"hello"

    async def test_a_sync_drops_what_was_on_its_way_before_it(self, streams: tuple[Stream, Stream]) -> None:
        streams[0][1].write(b"\xc1\x00\x00\x05junk")
        streams[1][1].write(b"old words of the agent")
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        await leader.send(b"fresh")
        await follower.send(b"answer")
        assert await follower.receive() == b"fresh"
        assert await leader.receive() == b"answer"

    @pytest.mark.parametrize("missing", [1, 2, 40, 9_999])
    async def test_filler_frees_a_follower_that_waits_for_the_rest_of_a_message(
        self, streams: tuple[Stream, Stream], missing: int
    ) -> None:
        limits = Limits(max_message=10_000)
        leader, again = (StreamTransport(*streams[0], leader=True, limits=limits) for _ in range(2))
        follower = StreamTransport(*streams[1], leader=False, limits=limits)
        await in_step(leader, follower)
        # The hub was killed in the middle of a message: the rest of it never comes.
        streams[0][1].write(Framing(leader=True, max_message=10_000).wrap(b"m" * 10_000)[: -1 - missing])

        async def serve() -> None:
            # The filler is no message of ours; the sync is behind it.
            with pytest.raises((Undecodable, LinkLost)):
                await follower.receive()
            await follower.synced()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve())
            # So few attempts that their markers alone would not complete it.
            await again.sync(attempt_s=0.05, deadline_s=1)
        await again.send(b"works")
        assert await follower.receive() == b"works"
        await follower.send(b"both ways")
        assert await again.receive() == b"both ways"

    async def test_a_follower_that_was_only_slow_loses_nothing_to_the_second_attempt(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        async with asyncio.TaskGroup() as tasks:
            syncing = tasks.create_task(leader.sync(attempt_s=0.001, deadline_s=20))
            # Several markers with filler between them are on their way before the follower reads the first.
            await _until_held(streams[0][1], 3 * len(bytes(100)))
            await follower.synced()
            await syncing
        await leader.send(b"for the next link")
        # The filler behind the first marker makes no sense; the next marker is behind it.
        while True:
            try:
                message = await follower.receive()
                break
            except (LinkLost, Undecodable):
                await follower.synced()
        assert message == b"for the next link"
        # The echoes of all markers reach the leader, which has been in step since the first.
        await follower.send(b"answer")
        assert await leader.receive() == b"answer"

    async def test_a_sync_that_was_swallowed_by_half_a_message_is_found_there(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        streams[0][1].write(Framing(leader=True, max_message=100).wrap(b"m" * 100)[:20])
        async with asyncio.TaskGroup() as tasks:
            receiving = tasks.create_task(follower.receive())
            syncing = tasks.create_task(leader_on(streams[0]).sync(attempt_s=10, deadline_s=20))
            await quiet()
            # The link is given up here, say for its silence; no further byte comes.
            receiving.cancel()
            await follower.synced()
            await syncing

    async def test_a_sync_is_not_satisfied_by_the_echo_of_the_one_before(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        with pytest.raises(LinkSilent):
            await leader.sync(attempt_s=10, deadline_s=0.01)

    async def test_a_silent_follower_is_given_up_at_the_deadline(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        with pytest.raises(LinkSilent, match=r"within 0\.02 s"):
            await leader_on(streams[0]).sync(attempt_s=0.004, deadline_s=0.02)

    async def test_a_follower_that_takes_no_bytes_is_given_up_at_the_deadline_and_costs_no_memory(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader = StreamTransport(*streams[0], leader=True)
        with pytest.raises(LinkSilent):
            await leader.sync(attempt_s=0.001, deadline_s=0.05)
        transport = streams[0][1].transport
        assert transport.get_write_buffer_size() < 2 * Limits().max_message

    async def test_a_follower_that_babbles_is_given_up_at_the_deadline(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        async def babble() -> None:
            while True:
                streams[1][1].write(b"\xc1\x00\x00\x00cloche-sync!" + b"0" * 32 + b"x" * 100)
                await streams[1][1].drain()
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            babbling = tasks.create_task(babble())
            with pytest.raises(LinkSilent):
                await leader_on(streams[0]).sync(attempt_s=10, deadline_s=0.02)
            babbling.cancel()

    async def test_a_stream_that_ends_during_a_sync_is_lost(self, streams: tuple[Stream, Stream]) -> None:
        streams[1][1].close()
        with pytest.raises(LinkLost):
            await leader_on(streams[0]).sync(attempt_s=10, deadline_s=20)
        with pytest.raises(LinkLost):
            await follower_on(streams[0]).synced()

    async def test_a_new_sync_ends_the_followers_link_and_begins_the_next(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        await leader.send(b"old")
        assert await follower.receive() == b"old"
        async with asyncio.TaskGroup() as tasks:
            syncing = tasks.create_task(leader_on(streams[0]).sync(attempt_s=10, deadline_s=20))
            with pytest.raises(LinkLost, match="began anew"):
                await follower.receive()
            # Whoever served the link closes it; the stream is already the next link's.
            await follower.close()
            await follower.synced()
            await syncing

    async def test_what_stands_behind_a_new_sync_belongs_to_the_next_link(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        again = Framing(leader=True, max_message=100)
        streams[0][1].write(again.wrap(b"old") + again.sync(b"of the next sync") + again.wrap(b"new"))
        with pytest.raises(LinkLost, match="began anew"):
            await follower.receive()
        await follower.synced()
        assert await follower.receive() == b"new"

    async def test_two_syncs_in_one_breath_are_answered_by_the_second(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        follower = follower_on(streams[1])
        first, second = leader_on(streams[0]), leader_on(streams[0])
        async with asyncio.TaskGroup() as tasks:
            giving_up = tasks.create_task(first.sync(attempt_s=10, deadline_s=20))
            await quiet()
            giving_up.cancel()
            syncing = tasks.create_task(second.sync(attempt_s=10, deadline_s=20))
            await quiet()
            await follower.synced()
            await syncing
        await second.send(b"hello")
        assert await follower.receive() == b"hello"

    async def test_a_leader_may_sync_again_on_the_same_stream(self, streams: tuple[Stream, Stream]) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        for number in range(3):
            await in_step(leader, follower)
            await follower.send(b"unread, so void with the next sync")
            await leader.send(bytes([number + 1]))
            assert await follower.receive() == bytes([number + 1])

    async def test_waiting_for_a_sync_keeps_nothing_of_what_comes_before_it(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(follower.synced())
            for _ in range(1000):
                await leader.send(bytes(100))
            await quiet()
            assert not follower._messages
            assert len(follower._framing._buffer) < 100
            waiting.cancel()

    async def test_bytes_that_are_no_message_are_undecodable(self, streams: tuple[Stream, Stream]) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        await in_step(leader, follower)
        streams[1][1].write(b"GET / HTTP/1.1\r\n")
        with pytest.raises(Undecodable):
            await leader.receive()

    async def test_a_message_over_the_limit_is_our_own_mistake(self) -> None:
        link = await stream_link(TINY)
        with pytest.raises(LocalProtocolError):
            await link.leader.send(bytes(101))
        await link.leader.close()
        await link.follower.close()

    async def test_a_cancelled_sync_can_be_begun_again(self, streams: tuple[Stream, Stream]) -> None:
        leader, follower = leader_on(streams[0]), follower_on(streams[1])
        async with asyncio.TaskGroup() as tasks:
            syncing = tasks.create_task(leader.sync(attempt_s=10, deadline_s=20))
            waiting = tasks.create_task(follower.synced())
            await asyncio.sleep(0)
            syncing.cancel()
            waiting.cancel()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(leader.sync(attempt_s=10, deadline_s=20))
            await quiet()
            # Both markers are there, and the last one counts.
            await follower.synced()
        await leader.send(b"hello")
        assert await follower.receive() == b"hello"

    async def test_errors_of_the_operating_system_are_a_lost_link(
        self, streams: tuple[Stream, Stream]
    ) -> None:
        leader = StreamTransport(*streams[0], leader=True, limits=TINY, in_step=True)
        streams[0][0].set_exception(ConnectionResetError(104, "Connection reset by peer"))
        with pytest.raises(LinkLost, match="Connection reset"):
            await leader.receive()
        with pytest.raises(LinkLost, match="Connection reset"):
            await leader.send(b"x")


async def _until_held(writer: asyncio.StreamWriter, least: int) -> None:
    """Waits until the kernel holds at least this much for the far end."""
    connected = writer.get_extra_info("socket")
    while struct.unpack("i", fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, bytes(4)))[0] < least:
        await asyncio.sleep(0)
