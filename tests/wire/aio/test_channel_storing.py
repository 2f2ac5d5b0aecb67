"""A reader that has to put bytes where they are safe before it says that it has them."""

from __future__ import annotations

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import Cancelled, LinkLost
from tests.support.links import SMALL, Links, Pair, joined, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, unacknowledged


async def opened(pair: Pair, guests: Guests) -> tuple[Channel, Channel]:
    """A channel whose owner stores what comes, and its far end."""
    await pair.link()
    channel = pair.leader.open("pty")
    channel.confirms_itself = False
    served = await guests.next()
    served.accept()
    return channel, served


async def test_bytes_that_were_only_read_are_not_acknowledged_until_they_are_consumed(links: Links) -> None:
    guests = Guests()
    async with joined(links, on_open=guests, limits=SMALL) as pair:
        channel, served = await opened(pair, guests)
        await served.write(1, BULK[:WINDOW])
        assert await channel.read(1, consume=False) == BULK[:WINDOW]
        await quiet()
        assert (served.credit(1), unacknowledged(served)) == (0, WINDOW)
        channel.consume(1, WINDOW // 2)
        await quiet()
        assert (served.credit(1), unacknowledged(served)) == (WINDOW // 2, WINDOW // 2)
        await served.write(1, b"more")
        assert await channel.read(1, consume=False) == b"more"
        channel.consume(1, WINDOW // 2 + 4)
        await quiet()
        assert unacknowledged(served) == 0
        served.close()
        await channel.result()
        channel.confirm()


async def test_the_end_of_a_stream_is_read_like_any_other(links: Links) -> None:
    guests = Guests()
    async with joined(links, on_open=guests, limits=SMALL) as pair:
        channel, served = await opened(pair, guests)
        await served.write(1, b"last words")
        served.end(1)
        assert await channel.read(1, consume=False) == b"last words"
        assert await channel.read(1, consume=False) == b""
        channel.reset(Cancelled("enough"))


async def test_a_result_is_confirmed_when_its_owner_says_so_and_what_came_may_be_consumed_until_then(
    links: Links,
) -> None:
    guests = Guests()
    async with joined(links, on_open=guests, limits=SMALL) as pair:
        channel, served = await opened(pair, guests)
        await served.write(1, BULK[:WINDOW])
        served.close({"code": 0})
        assert await channel.result() == {"code": 0}
        await quiet()
        assert (served.is_live, channel.is_live, unacknowledged(served)) == (True, True, WINDOW)
        assert await channel.read(1, consume=False) == BULK[:WINDOW]
        assert await channel.read(1, consume=False) == b""
        channel.consume(1, WINDOW)
        await quiet()
        assert unacknowledged(served) == 0
        channel.confirm()
        await served.wait_confirmed()
        await quiet()
        assert (served.is_live, channel.is_live) == (False, False)
        assert (pair.leader._channels, pair.follower._channels) == ({}, {})


async def test_an_unconfirmed_result_goes_on_over_the_next_link(links: Links) -> None:
    guests = Guests()
    async with joined(links, on_open=guests, limits=SMALL) as pair:
        channel, served = await opened(pair, guests)
        await served.write(1, b"last words")
        served.close({"code": 0})
        assert await channel.result() == {"code": 0}
        await pair.cut()
        await pair.link()
        assert unacknowledged(served) == len(b"last words")
        assert await channel.read(1, consume=False) == b"last words"
        channel.confirm()
        await served.wait_confirmed()


async def test_an_owner_that_goes_leaves_an_unconfirmed_result_to_the_far_end(links: Links) -> None:
    guests = Guests()
    async with joined(links, on_open=guests, limits=SMALL) as pair:
        channel, served = await opened(pair, guests)
        served.close({"code": 0})
        await channel.result()
        await pair.cut()
        pair.leader.fail(LinkLost("the owner goes"))
        assert not channel.is_live
        channel.consume(1, 1)
        channel.confirm()
        await pair.link()
        with pytest.raises(LinkLost):
            await served.wait_confirmed()
