"""Moves that make no sense any more, or not yet, end in an error or wait: they never hang and never reach another channel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import Cancelled, LinkLost, LocalProtocolError
from tests.support.links import SMALL, Links, joined, outcome, quiet
from tests.wire.aio.guests import BULK, Guests


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
