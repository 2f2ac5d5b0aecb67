"""The hub's end of a console's program: what is typed to it and in which order, and what is believed of it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from cloche_hub.errors import Cancelled, LinkLost, SenselessAnswer
from cloche_hub.ports import Size
from cloche_hub.services.consoles.guest_terminal import MOST_ANSWERS, TERMINAL, GuestTerminal
from cloche_hub.services.exec_result import Ending
from cloche_wire.aio import Channel
from tests.support.console_channels import channel_ends
from tests.support.links import quiet

WINDOW = 4096
ENDED = {"exit_code": 0, "duration_s": 1.0}


class Guest:
    """A guest's end, and the hub's."""

    def __init__(self, opened: Channel, offered: Channel) -> None:
        self.shown: list[bytes] = []
        self.used = 0
        self.terminal = GuestTerminal(opened, check_start=self._check, on_output=self.shown.append)
        self.channel = offered

    def _check(self, info: dict[str, Any]) -> dict[str, Any]:
        if info.get("lies"):
            raise SenselessAnswer("lies")
        return info

    def type(self, data: bytes) -> None:
        self.terminal.type(data, self._use)

    def _use(self, count: int) -> None:
        self.used += count

    async def start(self, **info: Any) -> None:
        self.channel.accept(info, window=WINDOW)
        await quiet()

    async def typed(self) -> bytes:
        """All that has been typed to it since it was last asked; the hub learns that it was taken."""
        await quiet()
        return await self.channel.read(TERMINAL)


@contextlib.asynccontextmanager
async def guest_of(folder: Path) -> AsyncIterator[Guest]:
    async with channel_ends(folder) as ends:
        yield Guest(ends.opened, ends.offered)


async def test_what_it_shows_is_passed_on_and_gets_no_credit_before_it_is_stored(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start(console="con_1")
        assert guest.terminal.started.result() == {"console": "con_1"}
        await guest.channel.write(TERMINAL, b"x" * WINDOW)
        await quiet()
        assert (b"".join(guest.shown), guest.channel.credit(TERMINAL)) == (b"x" * WINDOW, 0)
        guest.terminal.consumed(WINDOW)
        await quiet()
        assert guest.channel.credit(TERMINAL) == WINDOW


async def test_what_no_agent_sends_is_dropped(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        await guest.channel.write(2, b"x" * WINDOW)
        await quiet()
        assert (guest.shown, guest.channel.credit(2)) == ([], 0)


async def test_typing_waits_for_the_program_and_tells_when_it_has_been_taken(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        guest.type(b"a" * 10)
        assert guest.used == 0
        await guest.start()
        guest.type(b"b" * WINDOW)
        assert guest.used == WINDOW
        assert await guest.typed() == b"a" * 10 + b"b" * (WINDOW - 10)
        assert await guest.typed() == b"b" * 10
        assert guest.used == WINDOW + 10


async def test_who_drives_no_more_types_no_more(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.type(b"a" * WINDOW + b"b")
        guest.terminal.drop_typed()
        guest.type(b"c")
        assert guest.used == WINDOW + 1
        assert await guest.typed() == b"a" * WINDOW
        assert await guest.typed() == b"c"


async def test_an_answer_is_never_in_the_middle_of_what_was_typed_in_one_piece(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.type(b"a" * (WINDOW + 1))
        guest.type(b"b")
        guest.terminal.answer(b"[answer]")
        assert await guest.typed() == b"a" * WINDOW
        assert await guest.typed() == b"a[answer]b"


async def test_an_answer_is_typed_whole(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.type(b"a" * (WINDOW - 3))
        guest.terminal.answer(b"[answer]")
        assert await guest.typed() == b"a" * (WINDOW - 3)
        assert await guest.typed() == b"[answer]"


async def test_who_asks_by_the_thousand_and_does_not_read_gets_few_answers(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        for _ in range(10_000):
            guest.terminal.answer(b"\x1b[1;1R")
        guest.terminal.answer(b"")
        await guest.start()
        assert await guest.typed() == b"\x1b[1;1R" * (MOST_ANSWERS // 6)


async def test_sizes_and_signals_are_told_the_newest_size_first(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        guest.terminal.resize(Size(1, 2))
        guest.terminal.resize(Size(3, 4))
        for number in range(100):
            guest.terminal.signal(number)
        await guest.start()
        unpacker = msgpack.Unpacker()
        unpacker.feed(await guest.channel.read(0))
        assert list(unpacker) == [
            {"resize": {"rows": 3, "cols": 4}},
            *({"signal": number} for number in range(84, 100)),
        ]
        guest.terminal.signal("INT")
        await quiet()
        assert msgpack.unpackb(await guest.channel.read(0)) == {"signal": "INT"}


async def test_the_end_comes_behind_all_that_was_shown_and_what_waits_is_dropped(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.type(b"a" * (WINDOW + 7))
        await guest.channel.write(TERMINAL, b"bye")
        guest.channel.end(TERMINAL)
        guest.channel.close(ENDED)
        await quiet()
        assert (guest.shown, guest.terminal.over.result()) == ([b"bye"], Ending(0, None, 1.0))
        assert guest.used == WINDOW + 7
        assert guest.channel.is_live
        guest.terminal.confirm()
        await quiet()
        assert not guest.channel.is_live


@pytest.mark.parametrize(
    "result", [{}, {"exit_code": 300, "duration_s": 1.0}, {"signal": "\x1b", "duration_s": 1.0}]
)
async def test_an_end_that_makes_no_sense_is_not_believed(tmp_path: Path, result: dict[str, Any]) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.channel.close(result)
        await quiet()
        with pytest.raises(SenselessAnswer):
            guest.terminal.over.result()


async def test_a_start_that_is_not_believed_hangs_it_up(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start(lies=True)
        for future in (guest.terminal.started, guest.terminal.over):
            with pytest.raises(SenselessAnswer, match="lies"):
                future.result()
        assert not guest.channel.is_live


async def test_whoever_hangs_up_and_whatever_is_lost_is_the_reason(tmp_path: Path) -> None:
    async with guest_of(tmp_path) as guest:
        await guest.start()
        guest.terminal.hang_up(Cancelled("closed"))
        guest.terminal.failed(LinkLost("too late"))
        await quiet()
        with pytest.raises(Cancelled, match="closed"):
            guest.terminal.over.result()
        assert not guest.channel.is_live
    async with guest_of(tmp_path) as guest:
        guest.channel.reset(LinkLost("gone"))
        await quiet()
        with pytest.raises(LinkLost, match="gone"):
            guest.terminal.started.result()
