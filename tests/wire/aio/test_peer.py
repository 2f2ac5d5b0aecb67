"""What a peer promises: over every kind of link, however the link ends, whatever its handlers do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.aio import Channel, Peer, StreamTransport, Transport
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    LocalProtocolError,
    NotFound,
    RemoteProtocolError,
    ShuttingDown,
    TooLarge,
    Unauthenticated,
    Undecodable,
    WireError,
)
from cloche_wire.frames import Accept, Bye, Data, Open, Reset
from cloche_wire.limits import Limits
from tests.support.links import (
    SESSION,
    SMALL,
    Link,
    Links,
    Pair,
    Stranger,
    joined,
    memory_link,
    open_links,
    outcome,
    quiet,
    stream_pair,
)
from tests.wire.aio import fake_clock
from tests.wire.aio.test_channel import Guests, read_all, write_and_end

BULK = bytes(range(256)) * 8
"""32 windows."""


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
        async with joined(memory, on_open=_answer, limits=SMALL) as pair:
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
        async with joined(memory, on_open=_answer, limits=SMALL) as pair:
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
            assert bye.code == "internal"
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
            assert isinstance(reasons[1], InternalError)
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


class Puppet:
    """A transport whose ends a test holds: what it receives, how it sends, how it closes."""

    def __init__(self) -> None:
        self.arriving: asyncio.Queue[bytes | BaseException] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.on_send: Callable[[], Any] = _nothing
        self.on_close: Callable[[], Any] = _nothing
        self.closed = 0

    async def send(self, message: bytes) -> None:
        await self.on_send()
        self.sent.append(message)

    async def receive(self) -> bytes:
        message = await self.arriving.get()
        if isinstance(message, BaseException):
            raise message
        return message

    async def close(self) -> None:
        self.closed += 1
        await self.on_close()


async def _nothing() -> None:
    """The puppet does what it should."""


async def _forever() -> None:
    await asyncio.Event().wait()


def _raising(error: Exception) -> Callable[[], Any]:
    async def fail() -> None:
        raise error

    return fail


def _leader() -> Peer:
    return Peer(Connection(leader=True, software="l", session=SESSION, limits=SMALL))


class TestTheEndOfARun:
    async def test_what_the_other_side_said_last_comes_before_the_loss_the_writer_saw(self) -> None:
        puppet = Puppet()
        puppet.on_send = _raising(LinkLost("broken pipe"))
        async with _leader() as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(outcome(peer.run(puppet)))
            await quiet()
            far = Connection(leader=False, software="f")
            far.link_up()
            far.part(ShuttingDown("going away"))
            puppet.arriving.put_nowait(far.data_to_send())
            assert isinstance(await running, ShuttingDown)

    async def test_a_writer_that_alone_sees_the_loss_ends_the_link(self) -> None:
        puppet = Puppet()
        puppet.on_send = _raising(LinkLost("broken pipe"))
        async with _leader() as peer:
            with pytest.raises(LinkLost, match="broken pipe"):
                await peer.run(puppet)
        assert puppet.closed == 1

    @pytest.mark.parametrize("error", [OSError("no"), LinkLost("gone"), TimeoutError()])
    async def test_a_transport_that_cannot_be_closed_does_not_hide_the_reason(self, error: Exception) -> None:
        puppet = Puppet()
        puppet.on_close = _raising(error)
        puppet.arriving.put_nowait(LinkLost("the reason"))
        async with _leader() as peer:
            with pytest.raises(LinkLost, match="the reason"):
                await peer.run(puppet)

    async def test_a_transport_that_never_closes_is_left_after_a_bound(self) -> None:
        puppet = Puppet()
        puppet.on_close = _forever
        puppet.arriving.put_nowait(LinkLost("the reason"))
        async with _leader() as peer:
            with pytest.raises(LinkLost, match="the reason"):
                await peer.run(puppet)

    async def test_last_words_that_nobody_takes_are_left_after_a_bound(self) -> None:
        puppet = Puppet()
        async with _leader() as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(outcome(peer.run(puppet)))
            await quiet()
            puppet.on_send = _forever
            peer.fail(ShuttingDown("bye"))
            assert isinstance(await running, ShuttingDown)
        assert puppet.closed == 1

    @pytest.mark.parametrize("error_first", [True, False])
    async def test_who_cancels_a_run_that_fails_at_the_same_moment_sees_it_cancelled(
        self, *, error_first: bool
    ) -> None:
        puppet = Puppet()
        async with _leader() as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(peer.run(puppet))
            await quiet()
            if error_first:
                puppet.arriving.put_nowait(LinkLost("at the same moment"))
                running.cancel()
            else:
                running.cancel()
                puppet.arriving.put_nowait(LinkLost("at the same moment"))
            await asyncio.wait({running})
            assert running.cancelled()
        assert puppet.closed == 1

    async def test_a_cancellation_while_the_group_ends_by_an_error_is_not_swallowed(self) -> None:
        puppet = Puppet()
        async with _leader() as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(peer.run(puppet))
            await quiet()
            puppet.arriving.put_nowait(LinkLost("first"))
            # The error is on its way through the group's end, which waits for the writer and the heartbeat.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait({running})
            assert running.cancelled()

    async def test_a_bound_around_a_run_that_fails_at_the_same_moment_still_works(self) -> None:
        puppet = Puppet()
        async with _leader() as peer:
            loop = asyncio.get_running_loop()

            async def bounded() -> None:
                async with asyncio.timeout_at(loop.time()):
                    loop.call_soon(puppet.arriving.put_nowait, LinkLost("now"))
                    await peer.run(puppet)

            with pytest.raises(TimeoutError):
                await bounded()

    async def test_a_run_inside_a_task_that_was_cancelled_before_works(self) -> None:
        puppet = Puppet()
        puppet.arriving.put_nowait(LinkLost("the reason"))
        seen: list[WireError | None] = []

        async def clean_up() -> None:
            try:
                await _forever()
            finally:
                seen.append(await outcome(peer.run(puppet)))

        async with _leader() as peer, asyncio.TaskGroup() as tasks:
            cleaning = tasks.create_task(clean_up())
            await quiet()
            cleaning.cancel()
        assert isinstance(seen[0], LinkLost)

    async def test_a_defect_of_a_transport_is_not_taken_for_a_lost_link(self) -> None:
        puppet = Puppet()
        puppet.arriving.put_nowait(ZeroDivisionError())
        async with _leader() as peer:
            with pytest.raises(ExceptionGroup) as caught:
                await peer.run(puppet)
            assert caught.group_contains(ZeroDivisionError)
            assert not peer.is_up
        assert puppet.closed == 1

    async def test_giving_up_ends_a_link_whose_far_end_takes_nothing(self, links: Links) -> None:
        async with joined(links) as pair:
            link = await links.make()
            stranger = Stranger(link.follower)
            run = pair.start(pair.leader, link.leader)
            await stranger.greets()
            for _ in range(100):
                pair.leader.open("exec", {"long": "x" * 500_000})
            await quiet()
            pair.leader.fail(ShuttingDown("enough"))
            assert isinstance(await run.reason(), ShuttingDown)

    async def test_what_has_arrived_as_this_side_gives_up_is_no_breach(self) -> None:
        puppet, guests = Puppet(), Guests()
        far = Connection(leader=False, software="f", limits=SMALL)
        near = Connection(leader=True, software="l", session=SESSION, limits=SMALL)
        async with Peer(near, on_open=guests) as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(outcome(peer.run(puppet)))
            await quiet()
            far.link_up()
            far.feed(puppet.sent.pop())
            number = far.open("exec", {})
            puppet.arriving.put_nowait(far.data_to_send())
            (await guests.next()).accept()
            await quiet()
            far.feed(puppet.sent.pop())
            far.send(number, 1, b"more")
            # The reader is woken for this before it can know that the session is over.
            puppet.arriving.put_nowait(far.data_to_send())
            peer.fail(Cancelled("enough"))
            assert str(await running) == "enough"

    async def test_what_arrives_after_giving_up_is_no_breach(self, memory: Links) -> None:
        guests = Guests()
        async with joined(memory, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            channel = pair.leader.open("exec")
            served = await guests.next()
            served.accept()
            tasks.create_task(outcome(served.write(1, BULK)))
            await channel.read(1)
            pair.leader.fail(Cancelled("enough"))
            reasons = await pair.ended()
            assert [str(reason) for reason in reasons] == ["enough", "enough"]
            await pair.link()
            again = pair.leader.open("again")
            (await guests.next()).close({})
            assert await again.result() == {}


async def _answer(channel: Channel) -> None:
    channel.close({"kind": channel.kind})


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


class TestHandlers:
    async def test_a_coded_error_resets_the_channel_with_itself_and_nothing_else(self, links: Links) -> None:
        async def refuse(channel: Channel) -> None:
            if channel.kind == "missing":
                raise NotFound("no such sandbox", reference="sb_x")
            await _answer(channel)

        async with joined(links, on_open=refuse, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(NotFound) as caught:
                await pair.leader.call("missing")
            assert caught.value.details == {"reference": "sb_x"}
            assert await pair.leader.call("fine") == {"kind": "fine"}

    @pytest.mark.parametrize(
        ("error", "code", "is_defect"),
        [
            (NotFound("plain"), "not_found", False),
            (ExceptionGroup("tasks", [NotFound("in a group")]), "not_found", False),
            (ExceptionGroup("t", [ExceptionGroup("u", [NotFound("x")]), Cancelled("y")]), "not_found", False),
            (ExceptionGroup("mixed", [NotFound("x"), ZeroDivisionError()]), "internal", True),
            (ZeroDivisionError("secret details"), "internal", True),
            (RemoteProtocolError("of another link"), "internal", True),
            (LocalProtocolError("a wrong move"), "internal", True),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
    )
    async def test_what_a_handler_raises_becomes_its_callers_error(
        self, memory: Links, error: Exception, code: str, *, is_defect: bool
    ) -> None:
        defects: list[tuple[str, Exception]] = []

        async def fail(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, b"so far")
            raise error

        async with joined(
            memory,
            on_open=fail,
            limits=SMALL,
            on_defect=lambda channel, defect: defects.append((channel.kind, defect)),
        ) as pair:
            await pair.link()
            with pytest.raises(CodedError) as caught:
                await pair.leader.call("job")
            assert caught.value.code == code
            assert "secret" not in caught.value.message
            assert defects == ([("job", error)] if is_defect else [])
            assert pair.leader.is_up

    async def test_a_handler_that_ends_without_closing_is_a_defect_and_no_hang(self, links: Links) -> None:
        defects: list[Exception] = []

        async def forget(channel: Channel) -> None:
            channel.accept()

        async with joined(
            links,
            on_open=forget,
            limits=SMALL,
            on_defect=lambda _channel, defect: defects.append(defect),
        ) as pair:
            await pair.link()
            with pytest.raises(InternalError):
                await pair.leader.call("job")
            assert "without closing" in str(defects[0])

    async def test_without_a_handler_channels_are_refused(self, links: Links) -> None:
        async with joined(links, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(Cancelled, match="nobody serves 'job'"):
                await pair.leader.call("job")

    async def test_a_handler_may_be_told_that_its_caller_has_gone(self, memory: Links) -> None:
        told: asyncio.Queue[str] = asyncio.Queue()

        async def work(channel: Channel) -> None:
            try:
                await channel.wait_confirmed()
            except CodedError as error:
                told.put_nowait(error.message)
                raise

        async with joined(memory, on_open=work, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("job")
            await quiet()
            channel.reset(Cancelled("changed my mind"))
            assert await told.get() == "changed my mind"

    async def test_callers_who_give_up_cannot_pile_up_handlers(self, memory: Links) -> None:
        released = asyncio.Event()
        running = 0

        async def stubborn(channel: Channel) -> None:
            nonlocal running
            running += 1
            await released.wait()
            running -= 1
            raise Cancelled("at last")

        async with joined(memory, on_open=stubborn, limits=SMALL) as pair:
            await pair.link()
            for _ in range(5 * SMALL.max_channels):
                channel = pair.leader.open("job")
                await quiet()
                channel.reset(Cancelled("next"))
                await quiet()
            assert running == SMALL.max_channels
            with pytest.raises(TooLarge, match="under way"):
                await pair.leader.call("job")
            released.set()
            await quiet()
            assert not pair.follower._handler_tasks
            with pytest.raises(Cancelled, match="at last"):
                await pair.leader.call("job")

    async def test_a_channel_that_is_opened_and_reset_in_one_breath_is_served_and_forgotten(
        self, links: Links
    ) -> None:
        served: list[str] = []

        async def note(channel: Channel) -> None:
            served.append(channel.kind)
            channel.accept()

        async with joined(links, on_open=note, limits=SMALL) as pair:
            link = await links.make()
            run = pair.start(pair.follower, link.follower)
            stranger = Stranger(link.leader, leader=True, limits=SMALL)
            await stranger.greets()
            await stranger.says(
                Open(1, "job", {}, 64), Reset(1, "cancelled", "no", {}), Open(3, "job", {}, 64)
            )
            await stranger.hears(Reset)
            assert served == ["job", "job"]
            assert not pair.follower._channels
            link.sever()
            await run.reason()


class TestCalls:
    async def test_cancelling_a_call_resets_its_channel(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            calling = tasks.create_task(pair.leader.call("job"))
            served = await guests.next()
            calling.cancel()
            with pytest.raises(Cancelled, match="gave up"):
                await served.read(1)

    async def test_parameters_and_results_that_do_not_fit_are_too_large_and_the_link_goes_on(
        self, links: Links
    ) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"large": "x" * channel.params["size"]})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(TooLarge):
                pair.leader.open("job", {"large": "x" * 2000})
            with pytest.raises(TooLarge):
                await pair.leader.call("job", {"size": 2000})
            assert await pair.leader.call("job", {"size": 3}) == {"large": "xxx"}


class TestLeaving:
    async def test_leaving_fails_what_waits_tells_the_other_side_and_leaves_no_task(
        self, links: Links
    ) -> None:
        guests = Guests()
        async with joined(links, limits=SMALL, on_open=guests) as pair, asyncio.TaskGroup() as tasks:
            link = await links.make()
            follower_run = pair.start(pair.follower, link.follower)
            async with Peer(
                Connection(leader=True, software="l", session=SESSION, limits=SMALL), on_open=_wait_for_ever
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
            async with _leader():
                raise NotFound("plainly")

    async def test_a_cancelled_body_is_cancelled_and_its_handlers_with_it(self, memory: Links) -> None:
        ended = asyncio.Event()

        async def work(channel: Channel) -> None:
            try:
                await _forever()
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
        async with _leader() as peer:
            pass
        link = await memory.make()
        with pytest.raises(Cancelled, match="gone away"):
            await peer.run(link.leader)
        with pytest.raises(LinkLost):
            await link.leader.receive()

    async def test_nobody_waits_for_a_channel_that_only_the_connection_was_told_to_drop(
        self, memory: Links
    ) -> None:
        async with joined(memory, on_open=_wait_for_ever, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("job")
            await quiet()
            pair.leader.connection.reset(channel.number, Cancelled("behind its back"))
            pair.leader.fail(LinkLost("over"))
            with pytest.raises(LinkLost, match="over"):
                await channel.result()

    async def test_giving_up_without_a_link_does_not_end_the_next(self, memory: Links) -> None:
        async with joined(memory, on_open=_answer, limits=SMALL) as pair:
            waiting = pair.leader.open("job")
            pair.leader.fail(LinkLost("nobody came"))
            with pytest.raises(LinkLost, match="nobody came"):
                await waiting.result()
            await pair.link()
            assert await pair.leader.call("job") == {"kind": "job"}


async def _wait_for_ever(channel: Channel) -> None:
    await channel.wait_confirmed()


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
        async with joined(links, on_open=_wait_for_ever, limits=SMALL) as pair:
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
