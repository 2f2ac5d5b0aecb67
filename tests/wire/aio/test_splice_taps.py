"""Who looks at the bytes that pass through a splice, and what that one may do."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.aio import Channel, Gate
from cloche_wire.errors import BadRequest, CodedError, SenselessAnswer
from tests.support.links import quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, read_all, unacknowledged, write_and_end
from tests.wire.aio.three_parties import Make, link_both, talk_to, talkative


class Seen:
    """A tap that keeps what it sees."""

    def __init__(self, error: CodedError | None = None, after: int = 0) -> None:
        self.streams: dict[int, bytes] = {}
        self.ends: list[int] = []
        self._error, self._after = error, after

    def received(self, stream: int, data: bytes) -> None:
        seen = self.streams.get(stream, b"") + data
        if self._error is not None and len(seen) > self._after:
            raise self._error
        self.streams[stream] = seen

    def ended(self, stream: int) -> None:
        if self._error is not None:
            raise self._error
        self.ends.append(stream)


async def test_each_tap_sees_exactly_what_its_side_has_sent(three: Make) -> None:
    async with three(talkative) as hub:
        front, back = Seen(), Seen()
        hub.front_tap, hub.back_tap = front, back
        await link_both(hub)
        await talk_to(hub.open())
        await quiet()
        assert front.streams.keys() == {0, 1}
        assert front.streams[1] == BULK
        assert sorted(front.ends) == [0, 1]
        assert back.streams == {1: BULK[::-1], 2: BULK}
        assert sorted(back.ends) == [1, 2]


async def test_a_tap_sees_nothing_twice_over_links_that_break(three: Make) -> None:
    async def serve(channel: Channel) -> None:
        channel.accept()
        await write_and_end(channel, BULK)
        channel.close()
        await channel.wait_confirmed()

    async with three(serve) as hub:
        hub.back_tap = seen = Seen()
        await link_both(hub)
        channel = hub.open()
        data = b""
        for side in (hub.client_side, hub.guest_side) * 3:
            data += await channel.read(1)
            await side.cut()
            await side.link()
        assert data + await read_all(channel) == BULK
        assert seen.streams[1] == BULK


async def test_what_a_tap_refuses_does_not_pass_and_fails_both(three: Make) -> None:
    guests = Guests()
    async with three(guests) as hub:
        hub.back_tap = Seen(SenselessAnswer("too much"), after=8)
        await link_both(hub)
        channel = hub.open()
        served = await guests.next()
        served.accept()
        await served.write(1, b"12345678")
        assert await channel.read(1) == b"12345678"
        await served.write(1, b"9")
        with pytest.raises(SenselessAnswer, match="too much"):
            await channel.read(1)
        with pytest.raises(SenselessAnswer):
            await served.wait_confirmed()
        await quiet()
        assert hub.peers_are_clean()


async def test_an_end_that_a_tap_refuses_does_not_pass_either(three: Make) -> None:
    guests = Guests()
    async with three(guests) as hub:
        hub.front_tap = Seen(BadRequest("not yet"), after=8)
        await link_both(hub)
        channel = hub.open()
        served = await guests.next()
        served.accept()
        await channel.wait_accepted()
        channel.end(1)
        with pytest.raises(BadRequest, match="not yet"):
            await channel.result()
        with pytest.raises(BadRequest):
            await served.read(1)


async def test_a_tap_does_not_see_what_nobody_reads_any_more(three: Make) -> None:
    guests = Guests()
    async with three(guests) as hub:
        hub.front_tap = seen = Seen()
        await link_both(hub)
        channel = hub.open()
        served = await guests.next()
        served.accept()
        await channel.wait_accepted()
        await channel.write(1, b"before")
        assert await served.read(1) == b"before"
        await quiet()
        await hub.client_side.cut()
        served.close()
        await quiet()
        channel.end(1)
        await hub.client_side.link()
        await channel.result()
        await quiet()
        assert (seen.streams, seen.ends) == ({1: b"before"}, [])


async def test_a_gate_keeps_acknowledgements_until_the_bytes_have_been_dealt_with(three: Make) -> None:
    guests = Guests()
    async with three(guests) as hub, asyncio.TaskGroup() as tasks:
        gate = hub.back_gate = Gate()
        await link_both(hub)
        channel = hub.open()
        served = await guests.next()
        served.accept()
        writing = tasks.create_task(served.write(1, bytes(2 * WINDOW)))
        assert await channel.read(1) == bytes(WINDOW)
        await quiet()
        # The client has read everything, and still the guest keeps it.
        assert (unacknowledged(served), writing.done()) == (WINDOW, False)
        gate.pass_below(1, WINDOW // 2)
        assert await channel.read(1) == bytes(WINDOW // 2)
        # What has been dealt with before it is read is no more than read.
        gate.pass_below(1, 2 * WINDOW)
        await quiet()
        assert await channel.read(1) == bytes(WINDOW // 2)
        await writing
        await quiet()
        assert unacknowledged(served) == 0
        served.close()
        await channel.result()


async def test_a_gate_that_stays_shut_keeps_neither_the_other_direction_nor_the_end(three: Make) -> None:
    guests = Guests()
    async with three(guests) as hub:
        hub.back_gate = Gate()
        await link_both(hub)
        channel = hub.open()
        served = await guests.next()
        served.accept()
        await served.write(1, b"output")
        for _ in range(3):
            await channel.write(1, bytes(WINDOW))
            assert await served.read(1) == bytes(WINDOW)
        served.close({"code": 0})
        assert await read_all(channel) == b"output"
        assert await channel.result() == {"code": 0}
        await quiet()
        assert hub.peers_are_clean()
