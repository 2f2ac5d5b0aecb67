"""Links of a splice that break while it runs."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.errors import LinkLost, MachineFailed, WireError
from tests.support.links import outcome, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, read_all, write_and_end
from tests.wire.aio.three_parties import Make, link_both, served_command, talk_to, talkative


class TestCutLinks:
    @pytest.mark.usefixtures("small_messages")
    @pytest.mark.parametrize("cut_after", [8, 9, 10, 13, 23, 50])
    @pytest.mark.parametrize("cut", ["client", "guest", "both"])
    async def test_whatever_is_cut_in_the_middle_goes_on_and_nothing_is_lost_or_doubled(
        self, three: Make, cut: str, cut_after: int
    ) -> None:
        async with three(talkative) as hub, asyncio.TaskGroup() as tasks:
            keeping = [
                tasks.create_task(
                    hub.client_side.keep_up(cut_after=cut_after if cut in ("client", "both") else None)
                ),
                tasks.create_task(
                    # Not in step with the other.
                    hub.guest_side.keep_up(cut_after=cut_after + 1 if cut in ("guest", "both") else None)
                ),
            ]
            async with asyncio.TaskGroup() as talks:
                for _ in range(2):
                    talks.create_task(talk_to(hub.open()))
            while not hub.peers_are_clean():
                await asyncio.sleep(0)
                assert all(held <= WINDOW for held in hub.held.values())
            for each in keeping:
                each.cancel()
            assert [result for result in hub.results if isinstance(result, WireError)] == []
            assert len(hub.results) == 2
            made = {"client": hub.client_side.links_made, "guest": hub.guest_side.links_made}
            for side, count in made.items():
                assert count > (150 / cut_after if cut in ("both", side) else 0), (
                    "too few cuts to prove anything"
                )

    async def test_a_guest_goes_on_while_the_client_is_away_until_its_window_is_full(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            await channel.wait_accepted()
            await hub.client_side.cut()
            writing = tasks.create_task(write_and_end(served, BULK))
            await quiet()
            assert hub.held == {("client", 1): WINDOW}
            assert not writing.done()
            await hub.client_side.link()
            assert await read_all(channel) == BULK
            served.close()

    async def test_a_client_goes_on_while_the_guest_is_away_until_its_window_is_full(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            await channel.wait_accepted()
            await hub.guest_side.cut()
            writing = tasks.create_task(write_and_end(channel, BULK))
            await quiet()
            assert hub.held == {("guest", 1): WINDOW}
            assert not writing.done()
            await hub.guest_side.link()
            assert await read_all(served) == BULK
            served.close()

    async def test_a_client_that_never_comes_back_frees_the_guest(self, three: Make) -> None:
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            hub.open()
            served = await guests.next()
            served.accept()
            await hub.client_side.cut()
            hub.client_side.follower.fail(LinkLost("the client did not come back"))
            with pytest.raises(LinkLost, match="did not come back"):
                await served.read(1)
            await quiet()
            assert isinstance(hub.results[0], LinkLost)

    async def test_a_guest_that_never_comes_back_fails_the_client(self, three: Make) -> None:
        async with served_command(three) as (hub, channel, served):
            served.accept()
            await served.write(1, b"so far")
            await quiet()
            await hub.guest_side.cut()
            hub.guest_side.leader.fail(MachineFailed("qemu died"))
            assert await channel.read(1) == b"so far"
            with pytest.raises(MachineFailed, match="qemu died"):
                await channel.read(1)
            assert await outcome(channel.result()) is not None

    async def test_a_splice_that_fails_while_everybody_leaves_complains_of_nothing(self, three: Make) -> None:
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            for _ in range(3):
                hub.open()
                served = await guests.next()
                served.accept()
            await quiet()
