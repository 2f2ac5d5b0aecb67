"""Two channels joined end to end: a client, a hub between, a guest, over memory and over the links of a real hub."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.aio import Channel, Handler, splice
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    CommandNotStarted,
    LinkLost,
    MachineFailed,
    NoSpace,
    TooLarge,
    WireError,
)
from cloche_wire.frames import Accept, Ack, Close, Data, Eof, Fields, Frame, Open, Reset
from cloche_wire.limits import Limits
from tests.support.links import SMALL, Links, Pair, Stranger, joined, open_links, outcome, quiet
from tests.wire.aio.test_channel import Guests, read_all, unacknowledged, unread, write_and_end

WINDOW = SMALL.window
BULK = bytes(range(256)) * 8

BeforeClose = Callable[[Fields], Awaitable[None]]


class Hub:
    """A client and a guest, each with a link to the hub, which splices what the client opens to the guest."""

    def __init__(self) -> None:
        self.client_side: Pair
        """The client leads."""
        self.guest_side: Pair
        """The hub leads."""
        self.before_close: BeforeClose | None = None
        self.results: list[Fields | WireError] = []
        """What each splice has returned or raised."""
        self.splicing: list[asyncio.Task[Any] | None] = []
        self.most_held = 0

    async def serve(self, front: Channel) -> None:
        """The hub's handler."""
        back = self.guest_side.leader.open(front.kind, front.params, window=front.window)
        self.splicing.append(asyncio.current_task())
        try:
            self.results.append(await splice(front, back, before_close=self.before_close))
        except WireError as error:
            self.results.append(error)
            raise

    def open(self, kind: str = "exec", *, window: int | None = None) -> Channel:
        """A channel of the client's."""
        return self.client_side.leader.open(kind, {"for": "guest"}, window=window)

    @property
    def held(self) -> dict[tuple[str, int], int]:
        """Bytes the hub keeps, by where they go and stream; the most of them ever seen is noted."""
        held = {
            (name, stream): sending.end - sending.acked
            for name, peer in (("client", self.client_side.follower), ("guest", self.guest_side.leader))
            for channel in peer.connection.channels.values()
            for stream, sending in channel.sending.items()
        }
        self.most_held = max([self.most_held, *held.values()])
        return held

    def peers_are_clean(self) -> bool:
        """Whether nobody remembers any channel."""
        peers = [
            peer for side in (self.client_side, self.guest_side) for peer in (side.leader, side.follower)
        ]
        return not any(peer._channels or peer.connection.channels for peer in peers)


@contextlib.asynccontextmanager
async def spliced(
    client_links: Links,
    guest_links: Links,
    on_open: Handler | None,
    *,
    client_limits: Limits = SMALL,
    hub_limits: Limits = SMALL,
    hub_limits_for_guests: Limits | None = None,
    guest_limits: Limits = SMALL,
) -> AsyncIterator[Hub]:
    """The three parties; links are the test's to make."""
    hub = Hub()
    async with (
        joined(
            guest_links,
            on_open=on_open,
            limits=hub_limits_for_guests or hub_limits,
            follower_limits=guest_limits,
        ) as guest_side,
        joined(
            client_links, on_open=hub.serve, limits=client_limits, follower_limits=hub_limits
        ) as client_side,
    ):
        hub.client_side, hub.guest_side = client_side, guest_side
        yield hub


Make = Callable[..., contextlib.AbstractAsyncContextManager[Hub]]


@pytest.fixture(params=["memory-memory", "websocket-stream"])
async def three(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes the three parties, joined by one kind of link to the client and one to the guest."""
    client_kind, guest_kind = request.param.split("-")
    async with (
        open_links(client_kind, tmp_path) as client_links,
        open_links(guest_kind, tmp_path) as guest_links,
    ):

        def make(on_open: Handler | None, **limits: Limits) -> contextlib.AbstractAsyncContextManager[Hub]:
            return spliced(client_links, guest_links, on_open, **limits)

        yield make


async def link_both(hub: Hub) -> None:
    """Both links, once."""
    await hub.client_side.link()
    await hub.guest_side.link()


async def talkative(channel: Channel) -> None:
    """A guest's command: messages and bytes both ways at once, and a result that says what came."""
    channel.accept({"pid": 3})
    async with asyncio.TaskGroup() as tasks:
        arriving = tasks.create_task(read_all(channel, 1))
        messages = tasks.create_task(_collect(channel))
        tasks.create_task(write_and_end(channel, BULK[::-1], 1))
        tasks.create_task(write_and_end(channel, BULK, 2))
    channel.close({"right": arriving.result() == BULK, "messages": messages.result()})
    await channel.wait_confirmed()


async def _collect(channel: Channel) -> list[Any]:
    return [message async for message in channel.messages()]


async def talk_to(channel: Channel) -> None:
    """The client's part of `talkative`."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write_and_end(channel, BULK, 1))
        out = tasks.create_task(read_all(channel, 1))
        err = tasks.create_task(read_all(channel, 2))
        for number in range(5):
            await channel.send_message({"signal": number})
        channel.end(0)
    assert (out.result(), err.result()) == (BULK[::-1], BULK)
    result = await channel.result()
    assert result == {"right": True, "messages": [{"signal": number} for number in range(5)]}


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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
                client_limits=replace(SMALL, window=client_window),
                hub_limits=replace(SMALL, window=7, max_peer_window=hub_window),
                guest_limits=replace(SMALL, window=guest_window),
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

    async def test_a_client_that_stops_reading_stalls_only_its_own_command(self, three: Make) -> None:
        async with three(talkative) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            stalled = hub.open()
            await stalled.wait_accepted()
            await quiet()
            await talk_to(hub.open())
            tasks.create_task(talk_to(stalled))


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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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

    async def test_a_splice_cancelled_in_the_turn_in_which_it_fails_leaves_no_error_behind(
        self, three: Make
    ) -> None:
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
            served.accept()
            await channel.wait_accepted()
            hub.guest_side.leader.fail(MachineFailed("it is gone"))
            assert hub.splicing[0] is not None
            hub.splicing[0].cancel()
            with pytest.raises(MachineFailed):
                await channel.result()
            await hub.guest_side.ended()


LARGE = replace(SMALL, max_frame=2000, max_message=5000)


class TestTheResult:
    async def test_a_result_is_confirmed_to_the_guest_only_when_it_has_arrived_at_the_client(
        self, three: Make
    ) -> None:
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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

    async def test_the_client_learns_the_result_after_it_was_recorded(self, three: Make) -> None:
        recorded, may_go_on = asyncio.Event(), asyncio.Event()
        seen: list[Fields] = []

        async def record(result: Fields) -> None:
            seen.append(result)
            recorded.set()
            await may_go_on.wait()

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
            assert await waiting == {"code": 5}
            assert seen == [{"code": 5}]

    @pytest.mark.parametrize(
        ("error", "code"), [(NoSpace("the disk is full"), "no_space"), (ZeroDivisionError(), None)]
    )
    async def test_a_result_that_cannot_be_recorded_is_an_error_for_both(
        self, three: Make, error: Exception, code: str | None
    ) -> None:
        async def fail(_result: Fields) -> None:
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
            assert caught.value.code == (code or "cancelled")
            with pytest.raises(CodedError):
                await served.wait_confirmed()
            await quiet()
            assert hub.peers_are_clean()

    async def test_a_client_that_gives_up_while_the_result_is_recorded_ends_it_for_both(
        self, three: Make
    ) -> None:
        recorded = asyncio.Event()
        may_go_on = asyncio.Event()

        async def record(_result: Fields) -> None:
            recorded.set()
            await may_go_on.wait()

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

        async def record(_result: Fields) -> None:
            recorded.set()
            await may_go_on.wait()

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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
        guests = Guests()
        async with three(guests) as hub, asyncio.TaskGroup() as tasks:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
        guests = Guests()
        async with three(guests) as hub:
            await link_both(hub)
            channel = hub.open()
            served = await guests.next()
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
