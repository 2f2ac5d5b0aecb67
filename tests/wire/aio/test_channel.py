"""What a channel promises to coroutines, over every kind of link."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import Cancelled, CommandNotStarted, LinkLost, NotFound
from cloche_wire.limits import Limits
from tests.support.links import SMALL, Links, joined, outcome, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, echo, read_all, unacknowledged, unread, write_and_end


class TestALife:
    async def test_a_channel_is_accepted_with_its_info_and_closed_with_its_result(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            assert (channel.kind, channel.params) == ("exec", {"argv": ["true"]})
            channel.accept({"pid": 7})
            channel.close({"exit_code": 0})
            await channel.wait_confirmed()
            assert not channel.is_live

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec", {"argv": ["true"]})
            assert await channel.wait_accepted() == {"pid": 7}
            assert channel.window == WINDOW
            assert await channel.result() == {"exit_code": 0}
            assert not channel.is_live
            await quiet()
            assert not pair.leader._channels
            assert not pair.follower._channels

    async def test_it_is_reachable_while_there_is_a_link_and_lives_on_without(self, links: Links) -> None:
        async with joined(links, on_open=echo, limits=SMALL) as pair:
            channel = pair.leader.open("exec")
            seen = [channel.is_reachable]
            await pair.link()
            await channel.wait_accepted()
            seen.append(channel.is_reachable)
            await pair.cut()
            seen.append(channel.is_reachable)
            assert channel.is_live
            await pair.link()
            await pair.leader.wait_up()
            seen.append(channel.is_reachable)
            assert seen == [False, True, False, True]

    async def test_the_follower_opens_channels_too(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"answer": 42})

        async with joined(links, on_open_at_leader=serve, limits=SMALL) as pair:
            await pair.link()
            assert await pair.follower.call("question") == {"answer": 42}

    async def test_a_channel_closed_before_it_was_accepted_has_a_result_and_no_bytes(
        self, links: Links
    ) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"short": True})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            assert await channel.wait_accepted() == {}
            assert await channel.read(1) == b""
            assert await channel.result() == {"short": True}

    async def test_a_refusal_reaches_everyone_who_waits_with_its_code_message_and_details(
        self, links: Links
    ) -> None:
        async def refuse(channel: Channel) -> None:
            raise CommandNotStarted("no such file", path="/bin/nope", errno=2)

        async with joined(links, on_open=refuse, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            waits: list[Awaitable[Any]] = [
                channel.wait_accepted(),
                channel.read(1),
                channel.read_any(1, 2),
                channel.write(1, b"x"),
                channel.send_message("x"),
                channel.result(),
                anext(channel.messages()),
            ]
            errors = await asyncio.gather(*waits, return_exceptions=True)
            for error in errors:
                assert isinstance(error, CommandNotStarted)
                assert error.message == "no such file"
                assert error.details == {"path": "/bin/nope", "errno": 2}
            # Each has its own, or one's traceback would grow with another's.
            assert len({id(error) for error in errors}) == len(waits)

    async def test_a_reset_by_the_opener_reaches_the_handler(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            await channel.wait_accepted()
            channel.reset(Cancelled("enough", by="user"))
            with pytest.raises(Cancelled, match="enough") as caught:
                await served.read(1)
            assert caught.value.details == {"by": "user"}
            with pytest.raises(Cancelled, match="given up"):
                served.close()
            with pytest.raises(Cancelled, match="enough"):
                await channel.result()

    async def test_a_reset_of_a_channel_that_is_gone_does_nothing(self, links: Links) -> None:
        async with joined(links, on_open=echo, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            channel.end(1)  # not accepted yet: nothing to end
            await channel.wait_accepted()
            channel.end(1)
            assert await channel.result() == {"total": 0}
            channel.reset(Cancelled("too late"))
            channel.consume(1, 0)
            channel.confirm()
            channel.end(1)
            assert await channel.result() == {"total": 0}


class TestBytes:
    async def test_bytes_far_over_the_window_pass_both_ways_at_once(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            async with asyncio.TaskGroup() as tasks:
                arriving = tasks.create_task(read_all(channel))
                tasks.create_task(write_and_end(channel, BULK[::-1]))
            channel.close({"arrived": arriving.result() == BULK})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            async with asyncio.TaskGroup() as tasks:
                arriving = tasks.create_task(read_all(channel))
                tasks.create_task(write_and_end(channel, BULK))
            assert arriving.result() == BULK[::-1]
            assert await channel.result() == {"arrived": True}

    async def test_many_channels_and_streams_at_once_do_not_mix(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            async with asyncio.TaskGroup() as tasks:
                for stream in range(4):
                    tasks.create_task(copy(channel, stream))
            channel.close()

        async def copy(channel: Channel, stream: int) -> None:
            while piece := await channel.read(stream):
                await channel.write(stream, piece)
            channel.end(stream)

        async def exchange(channel: Channel, stream: int) -> None:
            data = bytes([channel.number, stream]) * 300
            async with asyncio.TaskGroup() as inner:
                inner.create_task(write_and_end(channel, data, stream))
                arriving = inner.create_task(read_all(channel, stream))
            assert arriving.result() == data

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            async with asyncio.TaskGroup() as tasks:
                for _ in range(8):
                    channel = pair.leader.open("exec")
                    for stream in range(4):
                        tasks.create_task(exchange(channel, stream))

    async def test_a_window_of_one_byte_still_carries_everything(self, memory: Links) -> None:
        limits = Limits(window=1, chunk=16)
        async with joined(memory, on_open=echo, limits=limits) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            async with asyncio.TaskGroup() as tasks:
                arriving = tasks.create_task(read_all(channel))
                tasks.create_task(write_and_end(channel, b"one by one"))
            assert arriving.result() == b"one by one"

    async def test_a_reader_that_stops_stalls_only_its_own_channel_and_costs_no_more_than_windows(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            stalled, busy = pair.leader.open("exec"), pair.leader.open("exec")
            stalled_served, busy_served = await guests.next(), await guests.next()
            stalled_served.accept()
            busy_served.accept()
            writing = tasks.create_task(write_and_end(stalled, BULK))
            await quiet()
            assert not writing.done()
            # The writer's rest is the caller's memory, not ours.
            assert unread(stalled_served) == WINDOW
            assert unacknowledged(stalled) == WINDOW
            for number in range(100):
                await busy.write(1, bytes([number]))
                assert await busy_served.read(1) == bytes([number])
            # Somebody reads at last.
            assert await read_all(stalled_served) == BULK
            stalled_served.close()
            busy_served.close()
            await writing

    async def test_a_full_stream_does_not_stall_the_others_of_its_channel(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            writing = tasks.create_task(outcome(channel.write(1, BULK)))
            await quiet()
            await channel.write(2, b"still here")
            assert await served.read(2) == b"still here"
            served.close()
            assert isinstance(await writing, LinkLost)

    async def test_bytes_are_acknowledged_when_they_are_read_and_not_before(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            await channel.write(1, bytes(WINDOW))
            await quiet()
            assert channel.credit(1) == 0
            await served.read(1)
            await quiet()
            assert channel.credit(1) == WINDOW
            served.close()

    async def test_who_wants_room_for_all_of_something_waits_until_so_much_has_been_read(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            assert await channel.wait_credit(1, WINDOW) == WINDOW
            await channel.write(1, bytes(WINDOW // 2 + 1))
            waiting = tasks.create_task(channel.wait_credit(1, WINDOW // 2))
            await quiet()
            assert not waiting.done()
            await served.read(1)
            assert await waiting == WINDOW
            served.close()
            await quiet()
            assert isinstance(await outcome(channel.wait_credit(1)), LinkLost)

    async def test_a_stream_ends_behind_its_bytes_and_the_other_direction_goes_on(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            await channel.wait_accepted()
            await write_and_end(channel, b"input")
            assert await read_all(served) == b"input"
            assert await served.read(1) == b""
            await served.write(1, b"output")
            served.close({"code": 0})
            assert await channel.read(1) == b"output"
            assert await channel.read(1) == b""

    async def test_everything_written_before_a_close_arrives_and_then_the_result(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, BULK[:WINDOW])
            await channel.write(2, BULK[WINDOW : 2 * WINDOW])
            channel.close({"code": 0})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            assert await channel.result() == {"code": 0}
            # Read after the channel is gone on both sides.
            await quiet()
            assert await read_all(channel, 1) == BULK[:WINDOW]
            assert await read_all(channel, 2) == BULK[WINDOW : 2 * WINDOW]

    async def test_what_arrived_before_a_failure_can_be_read_and_then_the_error_comes(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            await served.write(1, b"half of it")
            await write_and_end(served, b"all of it", 2)
            await quiet()
            served.reset(NotFound("the rest is gone"))
            await quiet()
            assert await channel.read(1) == b"half of it"
            assert await read_all(channel, 2) == b"all of it"
            with pytest.raises(NotFound):
                await channel.read(1)

    async def test_whichever_stream_has_something_is_read_until_all_have_ended(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            reading = tasks.create_task(channel.read_any(1, 2))
            await quiet()
            assert not reading.done()
            await served.write(2, b"err")
            assert await reading == (2, b"err")
            await served.write(1, b"out")
            assert await channel.read_any(1, 2) == (1, b"out")
            served.end(1)
            await served.write(2, b"more")
            served.end(2)
            assert await channel.read_any(1, 2) == (2, b"more")
            assert await channel.read_any(1, 2) is None
            served.close()

    async def test_no_bytes_are_no_frame(self, links: Links) -> None:
        async with joined(links, on_open=echo, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("exec")
            await channel.write(1, b"")
            await channel.wait_accepted()
            await channel.write(1, b"")
            await write_and_end(channel, b"x")
            assert await read_all(channel) == b"x"


class TestBeside:
    async def test_who_serves_a_channel_can_open_another_to_the_same_peer(self, links: Links) -> None:
        guests, opened = Guests(), Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            pair.leader._on_open = opened
            await pair.link()
            pair.leader.open("serve")
            served = await guests.next()
            served.accept()
            back = served.open_beside("callback", {"method": "pay"}, window=0)
            asked = await opened.next()
            assert (asked.kind, asked.params, asked.window) == ("callback", {"method": "pay"}, 0)
            asked.close({"paid": True})
            assert await back.result() == {"paid": True}

    async def test_a_channel_that_is_over_opens_none(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("serve")
            served = await guests.next()
            channel.reset(Cancelled("enough"))
            await quiet()
            with pytest.raises(Cancelled):
                served.open_beside("callback", {})
