"""How a run ends: within a bound, with the reason that says most, and cancelled if somebody cancelled it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from cloche_wire.aio import Peer
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, LinkLost, ShuttingDown, WireError
from tests.support.links import SESSION, SMALL, Links, Stranger, joined, outcome, quiet
from tests.wire.aio.guests import BULK, Guests, for_ever, lone_leader


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


def _raising(error: Exception) -> Callable[[], Any]:
    async def fail() -> None:
        raise error

    return fail


class TestTheEndOfARun:
    async def test_what_the_other_side_said_last_comes_before_the_loss_the_writer_saw(self) -> None:
        puppet = Puppet()
        puppet.on_send = _raising(LinkLost("broken pipe"))
        async with lone_leader() as peer, asyncio.TaskGroup() as tasks:
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
        async with lone_leader() as peer:
            with pytest.raises(LinkLost, match="broken pipe"):
                await peer.run(puppet)
        assert puppet.closed == 1

    @pytest.mark.parametrize("error", [OSError("no"), LinkLost("gone"), TimeoutError()])
    async def test_a_transport_that_cannot_be_closed_does_not_hide_the_reason(self, error: Exception) -> None:
        puppet = Puppet()
        puppet.on_close = _raising(error)
        puppet.arriving.put_nowait(LinkLost("the reason"))
        async with lone_leader() as peer:
            with pytest.raises(LinkLost, match="the reason"):
                await peer.run(puppet)

    async def test_a_transport_that_never_closes_is_left_after_a_bound(self) -> None:
        puppet = Puppet()
        puppet.on_close = for_ever
        puppet.arriving.put_nowait(LinkLost("the reason"))
        async with lone_leader() as peer:
            with pytest.raises(LinkLost, match="the reason"):
                await peer.run(puppet)

    async def test_last_words_that_nobody_takes_are_left_after_a_bound(self) -> None:
        puppet = Puppet()
        async with lone_leader() as peer, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(outcome(peer.run(puppet)))
            await quiet()
            puppet.on_send = for_ever
            peer.fail(ShuttingDown("bye"))
            assert isinstance(await running, ShuttingDown)
        assert puppet.closed == 1

    @pytest.mark.parametrize("error_first", [True, False])
    async def test_who_cancels_a_run_that_fails_at_the_same_moment_sees_it_cancelled(
        self, *, error_first: bool
    ) -> None:
        puppet = Puppet()
        async with lone_leader() as peer, asyncio.TaskGroup() as tasks:
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
        async with lone_leader() as peer, asyncio.TaskGroup() as tasks:
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
        async with lone_leader() as peer:
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
                await for_ever()
            finally:
                seen.append(await outcome(peer.run(puppet)))

        async with lone_leader() as peer, asyncio.TaskGroup() as tasks:
            cleaning = tasks.create_task(clean_up())
            await quiet()
            cleaning.cancel()
        assert isinstance(seen[0], LinkLost)

    async def test_a_defect_of_a_transport_is_not_taken_for_a_lost_link(self) -> None:
        puppet = Puppet()
        puppet.arriving.put_nowait(ZeroDivisionError())
        async with lone_leader() as peer:
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
