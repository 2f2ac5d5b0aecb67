"""The result of a splice: recorded, passed on, confirmed when it has arrived."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import Cancelled, CodedError, MachineFailed, NoSpace
from cloche_wire.frames import Fields
from tests.support.links import quiet
from tests.wire.aio.guests import Guests
from tests.wire.aio.three_parties import Make, link_both, served_command


class TestTheResult:
    async def test_a_result_is_confirmed_to_the_guest_only_when_it_has_arrived_at_the_client(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            await channel.wait_accepted()
            await hub.client_side.cut()
            await served.write(1, b"last words")
            served.close({"code": 0})
            confirmed = tasks.create_task(served.wait_confirmed())
            await quiet()
            assert not confirmed.done()
            assert hub.results == []
            await hub.client_side.link()
            await confirmed
            assert hub.results == [{"code": 0}]
            assert await channel.result() == {"code": 0}
            assert await channel.read(1) == b"last words"
            await quiet()
            assert hub.peers_are_clean()

    async def test_a_result_arrives_although_the_guest_is_gone_by_then(self, three: Make) -> None:
        async with served_command(three) as (hub, channel, served):
            served.accept()
            await channel.wait_accepted()
            await hub.client_side.cut()
            await served.write(1, b"last words")
            served.close({"code": 0})
            await quiet()
            # The machine has powered itself off.
            hub.guest_side.leader.fail(MachineFailed("it is gone"))
            await quiet()
            await hub.client_side.link()
            assert await channel.result() == {"code": 0}
            assert await channel.read(1) == b"last words"
            await quiet()
            assert hub.results == [{"code": 0}]

    async def test_the_client_learns_the_result_after_it_was_recorded_and_as_whoever_recorded_it_says(
        self, three: Make
    ) -> None:
        recorded, may_go_on = asyncio.Event(), asyncio.Event()
        seen: list[Fields] = []

        async def record(result: Fields) -> Fields:
            seen.append(result)
            recorded.set()
            await may_go_on.wait()
            return {"code": 6}

        async def serve(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, b"output")
            channel.close({"code": 5})

        async with three(serve) as hub, asyncio.TaskGroup() as tasks:
            hub.before_close = record
            await link_both(hub)
            channel = hub.open()
            waiting = tasks.create_task(channel.result())
            await recorded.wait()
            await quiet()
            assert not waiting.done()
            # Its output does not wait.
            assert await channel.read(1) == b"output"
            may_go_on.set()
            assert await waiting == {"code": 6}
            assert seen == [{"code": 5}]

    @pytest.mark.parametrize(
        ("error", "code"), [(NoSpace("the disk is full"), "no_space"), (ZeroDivisionError(), None)]
    )
    async def test_a_result_that_cannot_be_recorded_is_an_error_for_both(
        self, three: Make, error: Exception, code: str | None
    ) -> None:
        async def fail(_result: Fields) -> Fields:
            raise error

        guests = Guests()
        async with three(guests) as hub:
            hub.before_close = fail
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept()
            served.close({"code": 0})
            with pytest.raises(CodedError) as caught:
                await channel.result()
            assert caught.value.code == (code or "internal")
            with pytest.raises(CodedError):
                await served.wait_confirmed()
            await quiet()
            assert hub.peers_are_clean()

    async def test_a_client_that_gives_up_while_the_result_is_recorded_ends_it_for_both(
        self, three: Make
    ) -> None:
        recorded = asyncio.Event()
        may_go_on = asyncio.Event()

        async def record(result: Fields) -> Fields:
            recorded.set()
            await may_go_on.wait()
            return result

        async def serve(channel: Channel) -> None:
            channel.close({"code": 0})
            await channel.wait_confirmed()

        async with three(serve) as hub:
            hub.before_close = record
            await link_both(hub)
            channel = hub.open()
            await recorded.wait()
            channel.reset(Cancelled("too late"))
            await quiet()
            may_go_on.set()
            await quiet()
            assert isinstance(hub.results[0], Cancelled)
            assert hub.peers_are_clean()

    async def test_bytes_of_the_client_are_dropped_while_a_result_is_recorded(self, three: Make) -> None:
        recorded, may_go_on = asyncio.Event(), asyncio.Event()

        async def record(result: Fields) -> Fields:
            recorded.set()
            await may_go_on.wait()
            return result

        async def serve(channel: Channel) -> None:
            channel.accept()
            channel.close({"code": 0})

        async with three(serve) as hub:
            hub.before_close = record
            await link_both(hub)
            channel = hub.open()
            await recorded.wait()
            await channel.write(1, b"nobody reads this")
            channel.end(1)
            await quiet()
            assert hub.held == {}
            may_go_on.set()
            assert await channel.result() == {"code": 0}

    async def test_a_result_or_a_confirmation_in_the_turn_of_a_cancellation_is_ignored(
        self, three: Make
    ) -> None:
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            for event in ("finished", "confirmed"):
                channel = hub.open()
                served = await guests.next()
                served.accept()
                await channel.wait_accepted()
                (back,) = hub.guest_side.leader._channels.values()
                (front,) = hub.client_side.follower._channels.values()
                if event == "confirmed":
                    await hub.client_side.cut()
                    served.close({"code": 0})
                    await quiet()
                splicing = hub.splicing[-1]
                assert splicing is not None
                splicing.cancel()
                # The splice's coroutine has not run yet when the peer tells it this.
                if event == "finished":
                    back.sink.finished({"code": 0})
                else:
                    front.sink.confirmed()
                await asyncio.wait({splicing})
                assert splicing.cancelled()
                if event == "finished":
                    with pytest.raises(Cancelled):
                        await served.read(1)
                else:
                    await served.wait_confirmed()
