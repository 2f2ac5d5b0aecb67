"""Handlers and calls: what either side's code does, and what the other learns of it."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.aio import Channel
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    InternalError,
    LocalProtocolError,
    NotFound,
    RemoteProtocolError,
    TooLarge,
)
from cloche_wire.frames import Close, Open, Reset
from tests.support.links import SMALL, Links, Stranger, joined, quiet
from tests.wire.aio.guests import Guests, answer


class TestHandlers:
    async def test_a_coded_error_resets_the_channel_with_itself_and_nothing_else(self, links: Links) -> None:
        async def refuse(channel: Channel) -> None:
            if channel.kind == "missing":
                raise NotFound("no such sandbox", reference="sb_x")
            await answer(channel)

        async with joined(links, on_open=refuse, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(NotFound) as caught:
                await pair.leader.call("missing")
            assert caught.value.details == {"reference": "sb_x"}
            assert await pair.leader.call("fine") == {"kind": "fine"}

    @pytest.mark.parametrize(
        ("error", "code", "is_defect"),
        [
            (NotFound("plain"), "not_found", False),
            (ExceptionGroup("tasks", [NotFound("in a group")]), "not_found", False),
            (ExceptionGroup("t", [ExceptionGroup("u", [NotFound("x")]), Cancelled("y")]), "not_found", False),
            (ExceptionGroup("mixed", [NotFound("x"), ZeroDivisionError()]), "internal", True),
            (ZeroDivisionError("secret details"), "internal", True),
            (RemoteProtocolError("of another link"), "internal", True),
            (LocalProtocolError("a wrong move"), "internal", True),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
    )
    async def test_what_a_handler_raises_becomes_its_callers_error(
        self, memory: Links, error: Exception, code: str, *, is_defect: bool
    ) -> None:
        defects: list[tuple[str, Exception]] = []

        async def fail(channel: Channel) -> None:
            channel.accept()
            await channel.write(1, b"so far")
            raise error

        async with joined(
            memory,
            on_open=fail,
            limits=SMALL,
            on_defect=lambda channel, defect: defects.append((channel.kind, defect)),
        ) as pair:
            await pair.link()
            with pytest.raises(CodedError) as caught:
                await pair.leader.call("job")
            assert caught.value.code == code
            assert "secret" not in caught.value.message
            assert defects == ([("job", error)] if is_defect else [])
            assert pair.leader.is_up

    async def test_a_handler_that_ends_without_closing_is_a_defect_and_no_hang(self, links: Links) -> None:
        defects: list[Exception] = []

        async def forget(channel: Channel) -> None:
            channel.accept()

        async with joined(
            links,
            on_open=forget,
            limits=SMALL,
            on_defect=lambda _channel, defect: defects.append(defect),
        ) as pair:
            await pair.link()
            with pytest.raises(InternalError):
                await pair.leader.call("job")
            assert "without closing" in str(defects[0])

    async def test_without_a_handler_channels_are_refused(self, links: Links) -> None:
        async with joined(links, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(Cancelled, match="nobody serves 'job'"):
                await pair.leader.call("job")

    async def test_a_handler_may_be_told_that_its_caller_has_gone(self, memory: Links) -> None:
        told: asyncio.Queue[str] = asyncio.Queue()

        async def work(channel: Channel) -> None:
            try:
                await channel.wait_confirmed()
            except CodedError as error:
                told.put_nowait(error.message)
                raise

        async with joined(memory, on_open=work, limits=SMALL) as pair:
            await pair.link()
            channel = pair.leader.open("job")
            await quiet()
            channel.reset(Cancelled("changed my mind"))
            assert await told.get() == "changed my mind"

    async def test_callers_who_give_up_cannot_pile_up_handlers(self, memory: Links) -> None:
        released = asyncio.Event()
        running = 0

        async def stubborn(channel: Channel) -> None:
            nonlocal running
            running += 1
            await released.wait()
            running -= 1
            raise Cancelled("at last")

        async with joined(memory, on_open=stubborn, limits=SMALL) as pair:
            await pair.link()
            for _ in range(5 * SMALL.max_channels):
                channel = pair.leader.open("job")
                await quiet()
                channel.reset(Cancelled("next"))
                await quiet()
            assert running == SMALL.max_channels
            with pytest.raises(TooLarge, match="under way"):
                await pair.leader.call("job")
            released.set()
            await quiet()
            assert not pair.follower._handler_tasks
            with pytest.raises(Cancelled, match="at last"):
                await pair.leader.call("job")

    async def test_a_channel_that_is_opened_and_reset_in_one_breath_is_served_and_forgotten(
        self, links: Links
    ) -> None:
        served: list[str] = []

        async def note(channel: Channel) -> None:
            served.append(channel.kind)
            channel.accept()

        async with joined(links, on_open=note, limits=SMALL) as pair:
            link = await links.make()
            run = pair.start(pair.follower, link.follower)
            stranger = Stranger(link.leader, leader=True, limits=SMALL)
            await stranger.greets()
            await stranger.says(
                Open(1, "job", {}, 64), Reset(1, "cancelled", "no", {}), Open(3, "job", {}, 64)
            )
            await stranger.hears(Reset)
            assert served == ["job", "job"]
            assert not pair.follower._channels
            link.sever()
            await run.reason()

    @pytest.mark.parametrize("refuses", [False, True])
    async def test_nothing_of_a_request_is_kept_when_it_is_answered_though_nobody_confirms(
        self, memory: Links, *, refuses: bool
    ) -> None:
        served: list[Channel] = []

        async def serve(channel: Channel) -> None:
            served.append(channel)
            assert channel.kind == "k" * 200
            assert channel.params == {"large": "x" * 100}
            if refuses:
                raise NotFound("no")
            channel.close({})

        async with joined(memory, on_open=serve, limits=SMALL) as pair:
            link = await memory.make()
            run = pair.start(pair.follower, link.follower)
            stranger = Stranger(link.leader, leader=True, limits=SMALL)
            await stranger.greets()
            await stranger.says(Open(1, "k" * 200, {"large": "x" * 100}, 64))
            await stranger.hears(Reset if refuses else Close)
            assert 1 in pair.follower.connection.channels
            (channel,) = served
            assert channel.params == {}
            assert channel.kind == "k" * 60
            link.sever()
            await run.reason()

    @pytest.mark.parametrize("serves", [False, True])
    async def test_an_error_of_ours_quotes_no_more_than_the_beginning_of_a_kind(
        self, memory: Links, *, serves: bool
    ) -> None:
        async def fail(channel: Channel) -> None:
            raise ZeroDivisionError

        async with joined(memory, on_open=fail if serves else None, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(CodedError) as caught:
                await pair.leader.call("k" * 300)
            assert "k" * 60 in caught.value.message
            assert "k" * 61 not in caught.value.message


class TestCalls:
    async def test_cancelling_a_call_resets_its_channel(self, links: Links) -> None:
        guests = Guests()
        async with joined(links, on_open=guests, limits=SMALL) as pair, asyncio.TaskGroup() as tasks:
            await pair.link()
            calling = tasks.create_task(pair.leader.call("job"))
            served = await guests.next()
            calling.cancel()
            with pytest.raises(Cancelled, match="gave up"):
                await served.read(1)

    async def test_parameters_and_results_that_do_not_fit_are_too_large_and_the_link_goes_on(
        self, links: Links
    ) -> None:
        async def serve(channel: Channel) -> None:
            channel.close({"large": "x" * channel.params["size"]})

        async with joined(links, on_open=serve, limits=SMALL) as pair:
            await pair.link()
            with pytest.raises(TooLarge):
                pair.leader.open("job", {"large": "x" * 2000})
            with pytest.raises(TooLarge):
                await pair.leader.call("job", {"size": 2000})
            assert await pair.leader.call("job", {"size": 3}) == {"large": "xxx"}
