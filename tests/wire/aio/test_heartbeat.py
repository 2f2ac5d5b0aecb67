"""Silence is noticed within its bound, and nothing else is taken for it."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import cast

import pytest

from cloche_wire.aio import Channel, Heartbeat, MemoryTransport, Peer
from cloche_wire.aio.heartbeat import Watch
from cloche_wire.connection import Connection
from cloche_wire.errors import LinkSilent
from cloche_wire.frames import Ping, Pong
from tests.support.links import SESSION, Pair, Stranger, joined, open_links
from tests.wire.aio import fake_clock
from tests.wire.aio.fake_clock import FakeClockLoop

BEAT = Heartbeat(interval_s=5, silent_after_s=20)


class TestWatch:
    def test_a_quiet_side_is_asked_once_and_counts_as_silent_at_the_bound(self) -> None:
        watch = Watch(BEAT, now=0)
        assert watch.look(now=0, may_ask=True) == (False, 5)
        assert watch.look(now=5, may_ask=True) == (True, 5)
        assert watch.look(now=10, may_ask=True) == (False, 5)
        assert watch.look(now=15, may_ask=True) == (False, 5)
        with pytest.raises(LinkSilent, match="20 s"):
            watch.look(now=20, may_ask=True)

    def test_an_answer_begins_the_count_anew_and_the_next_quiet_asks_again(self) -> None:
        watch = Watch(BEAT, now=0)
        watch.look(now=0, may_ask=True)
        watch.look(now=5, may_ask=True)
        watch.heard(now=9)
        assert watch.look(now=10, may_ask=True) == (False, 4)
        assert watch.look(now=14, may_ask=True) == (True, 5)
        watch.look(now=19, may_ask=True)
        watch.look(now=24, may_ask=True)
        with pytest.raises(LinkSilent):
            watch.look(now=29, may_ask=True)

    def test_nobody_is_asked_before_it_has_greeted_but_silence_counts(self) -> None:
        watch = Watch(BEAT, now=0)
        for now in (0, 5, 10, 15):
            assert watch.look(now=now, may_ask=False)[0] is False
        with pytest.raises(LinkSilent):
            watch.look(now=20, may_ask=False)

    def test_the_last_look_is_at_the_bound_and_not_behind_it(self) -> None:
        watch = Watch(Heartbeat(interval_s=7, silent_after_s=10), now=0)
        watch.look(now=0, may_ask=True)
        assert watch.look(now=7, may_ask=True) == (True, 3)

    def test_silence_is_noticed_whatever_a_clock_makes_of_fractions(self) -> None:
        now = 915.303
        watch = Watch(Heartbeat(interval_s=0.05, silent_after_s=0.2), now=now)
        looks = 0
        with contextlib.suppress(LinkSilent):
            while looks < 20:
                looks += 1
                # Each look is late by a little, as a busy loop's are.
                now += watch.look(now=now, may_ask=True)[1] + 1e-4
        assert looks < 10

    def test_time_in_which_we_stood_still_is_no_silence(self) -> None:
        watch = Watch(BEAT, now=0)
        watch.look(now=0, may_ask=True)
        watch.look(now=5, may_ask=True)
        # The host slept for an hour.
        assert watch.look(now=3610, may_ask=True) == (False, 5)
        # As if it had been quiet for the 10 s in which we listened.
        assert watch.look(now=3615, may_ask=True) == (False, 5)
        with pytest.raises(LinkSilent):
            watch.look(now=3620, may_ask=True)

    def test_a_message_that_is_read_as_we_wake_does_not_hide_the_silence_after_it(self) -> None:
        watch = Watch(BEAT, now=0)
        watch.look(now=0, may_ask=True)
        watch.heard(now=3600)
        assert watch.look(now=3600, may_ask=True) == (False, 5)
        watch.look(now=3605, may_ask=True)
        watch.look(now=3610, may_ask=True)
        watch.look(now=3615, may_ask=True)
        with pytest.raises(LinkSilent):
            watch.look(now=3620, may_ask=True)


def clock() -> FakeClockLoop:
    """The loop of this test, which is its clock."""
    return cast(FakeClockLoop, asyncio.get_running_loop())


async def _silent_after(stranger_answers: int) -> float:
    """Seconds after which a peer drops a far end that answers only so many pings."""
    near, far = MemoryTransport.pair()
    connection = Connection(leader=True, software="leader/1", session=SESSION)
    stranger = Stranger(far)
    begun = clock().now_s

    async def answer() -> None:
        await stranger.greets()
        for _ in range(stranger_answers):
            ping = await stranger.hears(Ping)
            await stranger.says(Pong(0, ping.token))

    async with Peer(connection, heartbeat=BEAT) as peer, asyncio.TaskGroup() as tasks:
        tasks.create_task(answer())
        with pytest.raises(LinkSilent):
            await peer.run(near)
        return clock().now_s - begun


@pytest.mark.parametrize(("answers", "seconds"), [(0, 20), (1, 25), (3, 35)])
def test_a_far_end_that_stops_answering_is_dropped_at_the_bound(answers: int, seconds: float) -> None:
    assert fake_clock.run(_silent_after(answers)) == pytest.approx(seconds)


def test_a_far_end_that_never_greets_is_dropped_at_the_bound() -> None:
    async def main() -> float:
        near, _far = MemoryTransport.pair()
        begun = clock().now_s
        async with Peer(Connection(leader=True, software="l", session=SESSION), heartbeat=BEAT) as peer:
            with pytest.raises(LinkSilent):
                await peer.run(near)
        return clock().now_s - begun

    assert fake_clock.run(main()) == pytest.approx(20)


def test_a_far_end_that_takes_nothing_is_dropped_although_the_writer_waits() -> None:
    async def main() -> float:
        near, far = MemoryTransport.pair(depth=1)
        stranger = Stranger(far)
        async with Peer(Connection(leader=True, software="l", session=SESSION), heartbeat=BEAT) as peer:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(stranger.greets())
                running = tasks.create_task(_run_until_silent(peer, near))
                await peer.wait_up()
                begun = clock().now_s
                for _ in range(3):
                    peer.open("exec", {"long": "x" * 300_000})
                await running
            return clock().now_s - begun

    assert fake_clock.run(main()) == pytest.approx(20)


async def _run_until_silent(peer: Peer, transport: MemoryTransport) -> None:
    with pytest.raises(LinkSilent):
        await peer.run(transport)


async def _quiet_hours(pair: Pair, hours: float) -> None:
    await pair.link()
    await pair.leader.wait_up()
    await asyncio.sleep(hours * 3600)
    assert await pair.leader.call("hello") == {"hello": 1}


async def _answer(channel: Channel) -> None:
    channel.close({"hello": 1})


def test_a_healthy_link_on_which_nothing_happens_stays_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            open_links("memory", tmp_path) as links,
            joined(links, on_open=_answer, heartbeat=BEAT) as pair,
        ):
            await _quiet_hours(pair, 2)

    fake_clock.run(main())


def test_a_busy_far_end_that_answers_late_is_not_dropped() -> None:
    async def main() -> None:
        near, far = MemoryTransport.pair()
        stranger = Stranger(far)

        async def answer_late() -> None:
            await stranger.greets()
            for _ in range(10):
                ping = await stranger.hears(Ping)
                # Asked after 5 s of quiet, it answers within the bound, but only just.
                await asyncio.sleep(14.9)
                await stranger.says(Pong(0, ping.token))

        async with (
            Peer(Connection(leader=True, software="l", session=SESSION), heartbeat=BEAT) as peer,
            asyncio.TaskGroup() as tasks,
        ):
            running = tasks.create_task(_run_until_silent(peer, near))
            await answer_late()
            assert not running.done()
            running.cancel()

    fake_clock.run(main())


def test_a_process_that_stood_still_keeps_its_healthy_link(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            open_links("memory", tmp_path) as links,
            joined(links, on_open=_answer, heartbeat=BEAT) as pair,
        ):
            await pair.link()
            await pair.leader.wait_up()
            for stopped_s in (3, 6, 14.9, 15.1, 19.9, 20.1, 3600):
                await asyncio.sleep(1)
                # Between two turns of the loop: nobody has read or written anything meanwhile.
                clock().now_s += stopped_s
                assert await pair.leader.call("hello") == {"hello": 1}

    fake_clock.run(main())


def test_a_process_that_stood_still_gives_the_unread_answer_its_chance() -> None:
    async def main() -> float:
        near, far = MemoryTransport.pair()
        stranger = Stranger(far)
        async with (
            Peer(Connection(leader=True, software="l", session=SESSION), heartbeat=BEAT) as peer,
            asyncio.TaskGroup() as tasks,
        ):
            running = tasks.create_task(_run_until_silent(peer, near))
            await stranger.greets()
            await stranger.hears(Ping)
            clock().now_s += 60
            # The far end's answer takes a few turns of the loop more than the look at the clock does.
            for _ in range(20):
                await asyncio.sleep(0)
            assert not running.done()
            await stranger.says(Pong(0, 0))
            begun = clock().now_s
            await running
            return clock().now_s - begun

    assert fake_clock.run(main()) == pytest.approx(20, abs=0.1)
