"""When one side of a splice gives up, breaks the protocol or says too much, the other learns of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import (
    Cancelled,
    CommandNotStarted,
    LinkLost,
    MachineFailed,
    NoSpace,
    SenselessAnswer,
    TooLarge,
    WireError,
)
from cloche_wire.frames import Accept, Ack, Close, Data, Eof, Fields, Frame, Open, Reset
from tests.support.links import SMALL, Stranger, outcome, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests
from tests.wire.aio.three_parties import Make, link_both, served_command


class TestFailing:
    async def test_a_refusal_of_the_guest_reaches_the_client_as_it_is(self, three: Make) -> None:
        async def refuse(channel: Channel) -> None:
            raise CommandNotStarted("no such file", path="/bin/nope")

        async with three(refuse) as hub:
            await link_both(hub)
            with pytest.raises(CommandNotStarted, match="no such file") as caught:
                await hub.open().wait_accepted()
            assert caught.value.details == {"path": "/bin/nope"}
            await quiet()
            assert isinstance(hub.results[0], CommandNotStarted)
            assert hub.peers_are_clean()

    async def test_a_reset_by_the_client_reaches_the_guest(self, three: Make) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            writing = tasks.create_task(outcome(served.write(1, BULK)))
            await channel.read(1)
            channel.reset(Cancelled("the user pressed a key", key="c"))
            error = await writing
            assert isinstance(error, Cancelled)
            assert error.details == {"key": "c"}
            await quiet()
            assert isinstance(hub.results[0], Cancelled)
            assert hub.peers_are_clean()

    async def test_a_reset_by_the_guest_in_the_middle_reaches_the_client(self, three: Make) -> None:
        async def fail(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, b"so far")
            raise NoSpace("the disk is full")

        async with three(fail) as hub:
            await link_both(hub)
            with pytest.raises(NoSpace):
                await hub.open().result()
            await quiet()
            assert hub.peers_are_clean()

    async def test_a_client_that_gave_up_before_the_splice_never_reaches_the_guest(self, three: Make) -> None:
        guests = Guests()
        async with three(guests) as hub:
            await hub.guest_side.link()
            link = await hub.client_side._links.make()
            run = hub.client_side.start(hub.client_side.follower, link.follower)
            stranger = Stranger(link.leader, leader=True, limits=SMALL)
            await stranger.greets()
            # In one message: the handler begins when the channel is gone already.
            await stranger.says(Open(1, "exec", {}, 64), Reset(1, "cancelled", "changed my mind", {}))
            await quiet()
            assert isinstance(hub.results[0], Cancelled)
            assert guests._arrived.empty()
            assert not hub.guest_side.leader.connection.channels
            link.sever()
            await run.reason()

    async def test_a_result_that_does_not_fit_the_clients_frames_is_too_large_for_both(
        self, three: Make
    ) -> None:
        guests = Guests()
        async with (
            three(guests, hub_limits_for_guests=LARGE, guest_limits=LARGE) as hub,
            asyncio.TaskGroup() as tasks,
        ):
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept()
            waiting = tasks.create_task(outcome(channel.result()))
            served.close({"large": "x" * 1500})
            assert isinstance(await waiting, TooLarge)
            with pytest.raises(TooLarge):
                await served.wait_confirmed()
            await quiet()
            assert hub.peers_are_clean()

    async def test_an_acceptance_that_does_not_fit_the_clients_frames_is_too_large_for_both(
        self, three: Make
    ) -> None:
        guests = Guests()
        async with three(guests, hub_limits_for_guests=LARGE, guest_limits=LARGE) as hub:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept({"large": "x" * 1500})
            with pytest.raises(TooLarge):
                await channel.result()
            with pytest.raises(TooLarge):
                await served.read(1)
            await quiet()
            assert isinstance(hub.results[0], TooLarge)
            assert hub.peers_are_clean()

    async def test_what_stands_behind_such_an_acceptance_in_its_message_is_ignored(self, three: Make) -> None:
        async with three(None, hub_limits_for_guests=LARGE) as hub:
            await hub.client_side.link()
            link = await hub.guest_side._links.make()
            run = hub.guest_side.start(hub.guest_side.leader, link.leader)
            guest = Stranger(link.follower, limits=LARGE)
            await guest.greets()
            channel = hub.open()
            await guest.hears(Open)
            await guest.says(
                Accept(1, {"large": "x" * 1500}, 64), Data(1, 1, 0, b"x"), Eof(1, 1, 1), Close(1, {})
            )
            with pytest.raises(TooLarge):
                await channel.result()
            assert hub.guest_side.leader.is_up
            link.sever()
            await run.reason()

    async def test_a_cancelled_splice_resets_both_sides(self, three: Make) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            waiting = tasks.create_task(outcome(channel.result()))
            await channel.wait_accepted()
            assert hub.splicing[0] is not None
            hub.splicing[0].cancel()
            assert isinstance(await waiting, Cancelled)
            with pytest.raises(Cancelled, match="given up"):
                await served.read(1)
            await quiet()
            assert hub.peers_are_clean()

    @pytest.mark.parametrize("by_whom", ["guest", "client"])
    async def test_a_failure_is_told_to_the_client_only_after_what_must_come_before_and_to_the_guest_at_once(
        self, three: Make, by_whom: str
    ) -> None:
        failed, may_go_on = asyncio.Event(), asyncio.Event()

        async def record() -> None:
            failed.set()
            await may_go_on.wait()

        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            hub.before_answer = record
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept()
            await served.write(1, b"so far")
            await channel.wait_accepted()
            waiting = tasks.create_task(outcome(channel.result()))
            if by_whom == "guest":
                served.reset(NoSpace("the disk is full"))
            else:
                channel.reset(Cancelled("enough"))
                with pytest.raises(Cancelled, match="enough"):
                    await served.read(1)
            await failed.wait()
            if by_whom == "guest":
                # The client goes on as if nothing had happened: what it sends and reads is nobody's any more.
                assert await channel.read(1) == b"so far"
                await channel.write(1, b"nobody reads this")
                channel.end(1)
                await quiet()
                assert not waiting.done()
            may_go_on.set()
            assert isinstance(await waiting, NoSpace if by_whom == "guest" else Cancelled)
            await quiet()
            assert hub.held == {}
            assert hub.peers_are_clean()

    async def test_an_acceptance_is_told_as_the_hub_has_checked_it(self, three: Make) -> None:
        guests = Guests()
        async with three(guests) as hub:
            hub.check_info = lambda info: {"pid": info["pid"]}
            await link_both(hub)
            channel = hub.open()
            (await guests.next()).accept({"pid": 5, "more": "x"})
            assert await channel.wait_accepted() == {"pid": 5}
            channel.reset(Cancelled("enough"))
            await quiet()

    async def test_an_acceptance_that_the_hub_refuses_fails_both(self, three: Make) -> None:
        def refuse(_info: Fields) -> Fields:
            raise SenselessAnswer("no such pid")

        guests = Guests()
        async with three(guests) as hub:
            hub.check_info = refuse
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept({"pid": -1})
            for side in (channel, served):
                with pytest.raises(SenselessAnswer, match="no such pid"):
                    await side.read(1)
            await quiet()
            assert hub.peers_are_clean()

    async def test_a_splice_cancelled_in_the_turn_in_which_it_fails_leaves_no_error_behind(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served):
            served.accept()
            await channel.wait_accepted()
            hub.guest_side.leader.fail(MachineFailed("it is gone"))
            assert hub.splicing[0] is not None
            hub.splicing[0].cancel()
            with pytest.raises(Cancelled):
                await channel.result()
            await hub.guest_side.ended()


LARGE = replace(SMALL, max_frame=2000, max_message=5000)


HOSTILE: dict[str, list[Frame]] = {
    "bytes beyond the window": [Data(1, 1, 0, bytes(WINDOW)), Data(1, 1, WINDOW, b"x")],
    "bytes out of order": [Data(1, 1, 0, b"abc"), Data(1, 1, 9, b"x")],
    "bytes twice": [Data(1, 1, 0, b"abc"), Data(1, 1, 0, b"abc")],
    "an acknowledgement of what was never sent": [Ack(1, 1, 5)],
    "a stream that is none": [Data(1, 77, 0, b"x")],
    "a second acceptance": [Accept(1, {}, 64)],
    "bytes behind the result": [Close(1, {}), Data(1, 1, 0, b"x")],
    "a second result": [Close(1, {}), Close(1, {})],
    "a channel that was never opened": [Close(31, {})],
}


class TestHostileGuests:
    @pytest.mark.parametrize("breach", HOSTILE)
    async def test_a_breach_in_the_middle_fails_its_clients_and_nobody_else(
        self, three: Make, breach: str
    ) -> None:
        async with three(None) as hub:
            await hub.client_side.link()
            link = await hub.guest_side._links.make()
            run = hub.guest_side.start(hub.guest_side.leader, link.leader)
            guest = Stranger(link.follower, limits=SMALL)
            await guest.greets()
            channel = hub.open()
            other = hub.open()
            await guest.hears(Open)
            await guest.hears(Open)
            await guest.says(Accept(1, {}, 64), Accept(3, {}, 64))
            await channel.wait_accepted()
            await guest.says(*HOSTILE[breach])
            assert isinstance(await run.reason(), WireError)
            for each in (channel, other):
                error = await outcome(each.result())
                # A result that had come in good order before the breach counts.
                assert isinstance(error, LinkLost) or (each is channel and error == {})
            await quiet()
            assert hub.held == {}
            assert len(hub.results) == 2
            assert hub.client_side.follower.is_up
            assert not hub.client_side.leader._channels

    async def test_a_guest_that_never_answers_holds_nothing_but_its_channel(self, three: Make) -> None:
        async with three(None) as hub:
            await hub.client_side.link()
            link = await hub.guest_side._links.make()
            run = hub.guest_side.start(hub.guest_side.leader, link.leader)
            guest = Stranger(link.follower, limits=SMALL)
            await guest.greets()
            channel = hub.open()
            await guest.hears(Open)
            channel.reset(Cancelled("enough"))
            await guest.hears(Reset)
            await quiet()
            assert isinstance(hub.results[0], Cancelled)
            assert hub.held == {}
            link.sever()
            await run.reason()
