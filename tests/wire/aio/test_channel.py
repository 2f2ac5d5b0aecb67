"""What a channel promises to coroutines, over every kind of link."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import (
    BadRequest,
    Cancelled,
    CodedError,
    CommandNotStarted,
    LinkLost,
    LocalProtocolError,
    NotFound,
)
from cloche_wire.limits import Limits
from tests.support.links import SMALL, Links, joined, outcome, quiet

WINDOW = SMALL.window
BULK = bytes(range(256)) * 40
"""160 windows."""


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


async def read_all(channel: Channel, stream: int = 1) -> bytes:
    """A stream to its end."""
    data = b""
    while piece := await channel.read(stream):
        data += piece
    return data


async def write_and_end(channel: Channel, data: bytes, stream: int = 1) -> None:
    """A whole stream."""
    await channel.write(stream, data)
    channel.end(stream)


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


def unacknowledged(channel: Channel) -> int:
    """Bytes that a channel's own side keeps for sending."""
    state = channel._connection.channels[channel.number]
    return sum(
        len(piece) for sending in state.sending.values() for piece in (*sending.unsent, *sending.unacked)
    )


def unread(channel: Channel) -> int:
    """Bytes that have arrived and wait to be read."""
    return sum(len(piece) for buffer in channel._inbox._buffers for piece in buffer)


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


class TestMessages:
    async def test_values_of_every_kind_pass_both_ways(self, links: Links) -> None:
        values: list[Any] = [
            None,
            True,
            -5,
            1 << 40,
            1.5,
            "text",
            b"bytes",
            [1, [2]],
            {"key": {"inner": []}},
            "x" * 500,
        ]

        async def serve(channel: Channel) -> None:
            channel.accept()
            async for message in channel.messages():
                await channel.send_message(message)
            channel.end(0)
            channel.close()

        async def send() -> None:
            for value in values:
                await channel.send_message(value)
            channel.end(0)

        async with joined(links, on_open=serve, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("audit.tail")
            tasks.create_task(send())
            assert [value async for value in channel.messages()] == values

    async def test_messages_of_several_senders_do_not_mix_however_large(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            channel.close({"seen": [message["who"] async for message in channel.messages()]})

        async def send(who: int) -> None:
            for _ in range(5):
                await channel.send_message({"who": who, "what": "x" * (WINDOW * who // 2)})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("chat")
            async with asyncio.TaskGroup() as tasks:
                for who in range(6):
                    tasks.create_task(send(who))
            channel.end(0)
            result = await channel.result()
            assert sorted(result["seen"]) == sorted(list(range(6)) * 5)

    async def test_a_message_that_comes_as_another_waits_for_credit_goes_behind_it(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("chat")
            served = await guests.next()
            served.accept()
            tasks.create_task(channel.send_message("x" * 3 * WINDOW))
            await quiet()
            reading = tasks.create_task(collect(served))
            while not channel.credit(0):
                await asyncio.sleep(0)
            # There is credit now, and who waited for it has not run yet.
            await channel.send_message("next")
            channel.end(0)
            assert await reading == ["x" * 3 * WINDOW, "next"]
            served.close()

    async def test_a_cancelled_message_is_sent_whole_or_not_at_all(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("chat")
            served = await guests.next()
            served.accept()
            await channel.wait_accepted()
            # Room for a part of the next message, but not for all of it.
            await channel.write(0, b"\xc0" * (WINDOW - 10))
            sending = tasks.create_task(channel.send_message("x" * 20))
            await quiet()
            sending.cancel()
            await quiet()
            assert unread(served) == WINDOW - 10
            reading = tasks.create_task(collect(served))
            await channel.send_message("after")
            channel.end(0)
            assert await reading == [None] * (WINDOW - 10) + ["after"]
            served.close()

    async def test_a_later_loop_goes_on_with_the_next_message(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            for number in range(6):
                await channel.send_message(number)
            channel.close()

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("count")
            async for first in channel.messages():
                assert first == 0
                break
            assert [number async for number in channel.messages()] == [1, 2, 3, 4, 5]

    async def test_bytes_that_are_no_message_are_a_bad_request(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            channel.accept()
            async for _message in channel.messages(max_bytes=20):
                pass

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            for data in (b"\xc1", b"\xd9\x20" + b"x" * 32, b"\xdd\xff\xff\xff\xff"):
                channel = pair.leader.open("chat")
                await channel.write(0, data)
                with pytest.raises(BadRequest):
                    await channel.result()


async def collect(channel: Channel) -> list[Any]:
    """All messages."""
    return [message async for message in channel.messages()]


class TestMisuse:
    async def test_a_write_that_waits_ends_when_the_peer_closes(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            writing = tasks.create_task(outcome(channel.write(1, BULK)))
            await quiet()
            served.close()
            assert isinstance(await writing, LinkLost)
            with pytest.raises(LinkLost, match="closed"):
                await channel.write(1, b"more")

    async def test_nothing_is_written_behind_an_end_or_a_close_of_ones_own(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            served.end(2)
            with pytest.raises(LocalProtocolError, match="ended"):
                await served.write(2, b"more")
            writing = tasks.create_task(outcome(served.write(1, BULK)))
            await quiet()
            served.close()
            assert "closed on this side" in str(await writing)
            with pytest.raises(LocalProtocolError):
                await served.write(1, b"more")
            await channel.result()
            await quiet()
            with pytest.raises(LocalProtocolError):
                await served.write(1, b"more")

    async def test_a_read_that_waits_ends_when_its_own_side_closes(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            reading = tasks.create_task(served.read(1))
            await quiet()
            served.close()
            assert await reading == b""
            await served.wait_confirmed()
            assert await served.read(1) == b""

    async def test_a_wait_for_what_can_never_come_is_an_error_and_no_hang(self, links: Links) -> None:
        async def serve(channel: Channel) -> None:
            waits.append(tasks.create_task(outcome(channel.wait_accepted())))
            waits.append(tasks.create_task(outcome(channel.result())))
            await asyncio.sleep(0)
            channel.close()

        waits: list[asyncio.Task[Any]] = []
        async with joined(links, on_open=serve, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            await channel.result()
            with pytest.raises(LocalProtocolError, match="over"):
                await channel.wait_confirmed()
            for wait in waits:
                assert isinstance(await wait, LocalProtocolError)

    async def test_a_write_before_the_acceptance_waits_for_it_on_both_sides(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            early_served = tasks.create_task(served.write(1, b"from the handler"))
            await quiet()
            assert not early_served.done()
            served.accept()
            assert await channel.read(1) == b"from the handler"
            served.close()

            channel = pair.leader.open("exec")
            served = await guests.next()
            early = tasks.create_task(channel.write(1, b"from the opener"))
            await quiet()
            assert not early.done()
            served.accept()
            assert await served.read(1) == b"from the opener"
            served.close()

    async def test_a_channel_of_a_former_session_does_not_touch_the_new_one_of_its_number(
        self, memory: Links
    ) -> None:
        guests = Guests()
        async with joined(memory, on_open=guests, limits=SMALL) as pair:
            await pair.link()
            pair.leader.open("old")
            old = await guests.next()
            old.accept()
            # Another client takes the leader's place: its numbers begin anew.
            pair.follower.fail(LinkLost("forgotten"))
            await pair.ended()
            async with joined(memory, limits=SMALL, session=b"another session.") as other:
                link = await memory.make()
                runs = [pair.start(pair.follower, link.follower), pair.start(other.leader, link.leader)]
                channel = other.leader.open("new")
                new = await guests.next()
                assert new.number == old.number
                new.accept()
                await channel.write(1, b"for the new one")
                await quiet()
                assert not old.is_live
                assert (old.credit(1), old.can_send) == (0, False)
                old.reset(Cancelled("of the old one"))
                old.end(1)
                old.consume(1, 5)
                with pytest.raises(Cancelled):
                    old.send(1, b"from the old one")
                with pytest.raises(Cancelled):
                    old.close()
                with pytest.raises(LinkLost, match="forgotten"):
                    await old.write(1, b"from the old one")
                assert await new.read(1) == b"for the new one"
                new.close({"fine": True})
                assert await channel.result() == {"fine": True}
                link.sever()
                for run in runs:
                    await run.reason()


class TestCancelling:
    @pytest.mark.parametrize("turns", range(6))
    async def test_a_cancelled_read_loses_nothing_in_whichever_turn_the_bytes_come(
        self, links: Links, turns: int
    ) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            seen = b""
            for number in range(10):
                reading = tasks.create_task(channel.read(1))
                await quiet()
                await served.write(1, bytes([number]))
                for _ in range(turns):
                    await asyncio.sleep(0)
                reading.cancel()
                await asyncio.wait({reading})
                if not reading.cancelled():
                    seen += reading.result()
            served.end(1)
            assert seen + await read_all(channel) == bytes(range(10))
            served.close()

    async def test_a_cancelled_write_has_sent_a_beginning_and_nothing_of_it_later(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            writing = tasks.create_task(channel.write(1, BULK))
            await quiet()
            writing.cancel()
            await quiet()
            assert await served.read(1) == BULK[:WINDOW]
            await quiet()
            await write_and_end(channel, b"next")
            assert await read_all(served) == b"next"
            served.close()

    async def test_every_wait_can_be_cancelled_and_begun_again(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()

            async def cancelled(*waits: Any) -> None:
                waiting = [tasks.create_task(wait) for wait in waits]
                await quiet()
                for task in waiting:
                    task.cancel()
                await asyncio.wait(waiting)
                assert all(task.cancelled() for task in waiting)

            await cancelled(channel.wait_accepted(), channel.wait_accepted(), channel.result())
            await cancelled(channel.write(1, b"never"), channel.send_message("never"))
            served.accept({"pid": 1})
            assert await channel.wait_accepted() == {"pid": 1}
            await cancelled(channel.read(1), channel.read_any(1, 2), anext(channel.messages()))
            await served.write(1, b"bytes")
            await served.send_message("message")
            assert await channel.read_any(1, 2) == (1, b"bytes")
            assert await anext(channel.messages()) == "message"
            await pair.cut()
            served.close({"code": 0})
            await cancelled(served.wait_confirmed(), channel.result())
            await pair.link()
            await served.wait_confirmed()
            assert await channel.result() == {"code": 0}

    async def test_one_of_many_who_wait_for_the_same_can_be_cancelled_alone(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            waiting = [tasks.create_task(channel.result()) for _ in range(5)]
            await quiet()
            waiting[2].cancel()
            served.close({"code": 3})
            await asyncio.wait(waiting)
            assert [task.cancelled() or task.result() for task in waiting] == [
                {"code": 3},
                {"code": 3},
                True,
                {"code": 3},
                {"code": 3},
            ]
