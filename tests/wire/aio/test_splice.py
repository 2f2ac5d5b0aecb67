"""Two channels joined end to end: what passes, and who holds how much of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import Cancelled, LinkLost
from tests.support.links import SMALL, outcome, quiet
from tests.wire.aio.guests import BULK, WINDOW, Guests, read_all, unacknowledged, unread, write_and_end
from tests.wire.aio.three_parties import Make, link_both, served_command, talk_to, talkative


class TestPassing:
    async def test_everything_passes_and_nobody_remembers_anything_afterwards(self, three: Make) -> None:
        async with three(talkative) as hub:
            await link_both(hub)
            channel = hub.open()
            assert await channel.wait_accepted() == {"pid": 3}
            await talk_to(channel)
            await quiet()
            assert hub.results == [await channel.result()]
            assert hub.peers_are_clean()

    async def test_kind_and_parameters_pass(self, three: Make) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"kind": channel.kind, "params": channel.params})

        async with three(serve) as hub:
            await link_both(hub)
            assert await hub.open("exec").result() == {"kind": "exec", "params": {"for": "guest"}}

    async def test_a_guest_that_closes_before_it_accepts_is_a_short_answer(self, three: Make) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"short": True})
            await channel.wait_confirmed()

        async with three(serve) as hub:
            await link_both(hub)
            channel = hub.open()
            assert await channel.wait_accepted() == {}
            assert await channel.result() == {"short": True}
            await quiet()
            assert hub.peers_are_clean()

    async def test_many_channels_at_once_do_not_mix(self, three: Make) -> None:
        async with three(talkative) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            for _ in range(6):
                tasks.create_task(talk_to(hub.open()))

    async def test_bytes_of_a_client_that_nobody_reads_any_more_harm_nobody(self, three: Make) -> None:
        async def deaf(channel: Channel) -> None:
            channel.accept()
            await channel.read(1)
            channel.close({"code": 0})

        async with three(deaf) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            writing = tasks.create_task(outcome(channel.write(1, BULK)))
            assert await channel.result() == {"code": 0}
            assert isinstance(await writing, LinkLost)
            await quiet()
            assert hub.peers_are_clean()


class TestAcknowledgement:
    async def test_the_guest_learns_of_consumption_only_when_the_client_has_consumed(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            tasks.create_task(write_and_end(served, BULK))
            await quiet()
            # All of one window has arrived at the client, and still the guest and the hub keep every byte of it.
            assert unread(channel) == WINDOW
            assert unacknowledged(served) == WINDOW
            assert served.credit(1) == 0
            assert hub.held == {("client", 1): WINDOW}
            data = await channel.read(1)
            assert data == BULK[:WINDOW]
            await quiet()
            assert unread(channel) == WINDOW
            assert await read_all(channel) == BULK[WINDOW:]
            await quiet()
            assert served.credit(1) == WINDOW
            assert set(hub.held.values()) == {0}
            served.close()

    async def test_the_client_learns_of_consumption_only_when_the_guest_has_consumed(
        self, three: Make
    ) -> None:
        async with served_command(three) as (hub, channel, served), asyncio.TaskGroup() as tasks:
            served.accept()
            tasks.create_task(write_and_end(channel, BULK))
            await quiet()
            assert unread(served) == WINDOW
            assert unacknowledged(channel) == WINDOW
            assert hub.held == {("guest", 1): WINDOW}
            assert await read_all(served) == BULK
            await quiet()
            assert channel.credit(1) == WINDOW
            served.close()

    @pytest.mark.parametrize(
        "client_does", ["nothing", "reads slowly", "is cut off", "comes and goes", "vanishes"]
    )
    async def test_the_hub_holds_one_window_a_stream_at_most_whatever_the_client_does(
        self, three: Make, client_does: str
    ) -> None:
        async def flood(channel: Channel) -> None:
            channel.accept()
            async with asyncio.TaskGroup() as tasks:
                for stream in range(4):
                    tasks.create_task(channel.write(stream, BULK * 10))

        async with three(flood) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            await channel.wait_accepted()
            if client_does == "reads slowly":
                for turn in range(100):
                    await channel.read(turn % 4)
                    assert max(hub.held.values()) <= WINDOW
            elif client_does == "is cut off":
                await hub.client_side.cut()
            elif client_does == "comes and goes":
                await hub.client_side.cut()
                coming = tasks.create_task(hub.client_side.keep_up(cut_after=5))
                for turn in range(100):
                    await channel.read(turn % 4)
                    assert max(hub.held.values()) <= WINDOW
                coming.cancel()
            elif client_does == "vanishes":
                await hub.client_side.cut()
                hub.client_side.follower.fail(LinkLost("the client did not come back"))
            await quiet()
            if client_does == "vanishes":
                assert hub.held == {}
            else:
                assert set(hub.held.values()) == {WINDOW}
            assert hub.most_held <= WINDOW

    @pytest.mark.parametrize(
        ("client_window", "guest_window", "hub_window"),
        [(8, 200, 1024), (200, 8, 1024), (1, 1, 1024), (1000, 1000, 30), (20, 1000, 30), (1000, 20, 30)],
    )
    async def test_each_direction_has_the_window_of_its_reader_or_the_hubs_bound(
        self, three: Make, client_window: int, guest_window: int, hub_window: int
    ) -> None:
        guests = Guests()
        async with (
            three(
                guests,
                client_limits=replace(SMALL, window=client_window, least_window=28, least_peer_window=28),
                hub_limits=replace(
                    SMALL, window=7, max_peer_window=hub_window, least_window=28, least_peer_window=28
                ),
                guest_limits=replace(SMALL, window=guest_window, least_window=28, least_peer_window=28),
            ) as hub,
            asyncio.TaskGroup() as tasks,
        ):
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept()
            data = BULK[: 3 * max(client_window, guest_window)]
            tasks.create_task(write_and_end(channel, data))
            tasks.create_task(write_and_end(served, data[::-1]))
            await quiet()
            assert unread(channel) == min(client_window, hub_window, len(data))
            assert unread(served) == min(guest_window, hub_window, len(data))
            at_client = tasks.create_task(read_all(channel))
            assert await read_all(served) == data
            assert await at_client == data[::-1]
            served.close()

    async def test_a_client_that_offers_much_and_reads_nothing_stalls_its_guests_rather_than_fill_the_hub(
        self, three: Make
    ) -> None:
        guests = Guests()
        bound, least = 8 * 64, 8
        small = replace(
            SMALL, max_peer_window=64, max_unacknowledged=bound, least_window=least, least_peer_window=least
        )
        async with (
            three(
                guests,
                client_limits=replace(SMALL, window=1 << 20, least_window=least, least_peer_window=least),
                hub_limits=small,
                guest_limits=replace(SMALL, least_window=least, least_peer_window=least),
            ) as hub,
            asyncio.TaskGroup() as tasks,
        ):
            await link_both(hub)
            channels = [hub.open() for _ in range(8)]
            writers: list[asyncio.Task[None]] = []
            for _ in channels:
                served = await guests.next()
                served.accept()
                writers += [tasks.create_task(write_and_end(served, BULK, stream)) for stream in range(4)]
            await quiet()
            held = [
                sending.end - sending.acked
                for front in hub.client_side.follower.connection.channels.values()
                for sending in front.sending.values()
            ]
            assert len(held) == 8 * 4
            assert sum(held) - 8 * 4 * least <= bound
            assert min(held) == least
            assert max(held) > least
            assert not any(writer.done() for writer in writers)
            await hub.client_side.cut()
            await hub.client_side.link()
            reading = [
                tasks.create_task(read_all(channel, stream)) for channel in channels for stream in range(4)
            ]
            assert [await each for each in reading] == [BULK] * 8 * 4
            for channel in channels:
                channel.reset(Cancelled("read enough"))

    async def test_a_client_that_stops_reading_stalls_only_its_own_command(self, three: Make) -> None:
        async with three(talkative) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            stalled = hub.open()
            await stalled.wait_accepted()
            await quiet()
            await talk_to(hub.open())
            tasks.create_task(talk_to(stalled))
