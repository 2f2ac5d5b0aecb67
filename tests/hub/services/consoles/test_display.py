"""The hub's emulator of a console: fed in slices, asked for screens, and what hostile output may cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgpack
import pytest

from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import display as display_module
from cloche_hub.services.consoles.display import Display, Fed, screen_of, screen_of_copy, slice_after
from cloche_hub.services.fair import FairTurns
from cloche_term import Terminal, open_terminal
from tests.support.hub import within


class Fedding:
    """A display and what it has been fed."""

    def __init__(
        self, *, rows: int = 4, cols: int = 20, offset: int = 0, cpu_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.fed: list[Fed] = []
        self.display = Display(
            open_terminal(rows, cols),
            offset=offset,
            fair=FairTurns(),
            who="sb_1",
            on_fed=self.fed.append,
            cpu_s=cpu_s,
        )

    @property
    def entries(self) -> list[Entry]:
        return [fed.entry for fed in self.fed]


@contextlib.asynccontextmanager
async def feeding(*, rows: int = 4, cols: int = 20, offset: int = 0) -> AsyncIterator[Fedding]:
    made = Fedding(rows=rows, cols=cols, offset=offset)
    async with asyncio.TaskGroup() as tasks:
        loop = tasks.create_task(made.display.feed_for_ever())
        try:
            yield made
        finally:
            loop.cancel()
            made.display.close()


def shown(screen: list[bytes]) -> tuple[list[str], list[dict[str, object]]]:
    """The rows that a screen's messages make, and those that are no output."""
    messages = [msgpack.unpackb(packed) for packed in screen]
    size = messages[0]["screen"]
    with contextlib.closing(open_terminal(size["rows"], size["cols"])) as terminal:
        for message in messages:
            terminal.feed(message.get("output", b""))
            if resize := message.get("resize"):
                terminal.resize(resize["rows"], resize["cols"])
        return rows_of(terminal), [message for message in messages if "output" not in message]


def rows_of(terminal: Terminal) -> list[str]:
    return [row for row in terminal.text() if row]


async def test_what_comes_is_fed_in_order_and_answered() -> None:
    async with feeding() as made:
        display = made.display
        assert msgpack.unpackb(display.output(b"ab\x1b[6n")) == {"output": b"ab\x1b[6n"}
        assert msgpack.unpackb(display.resize(Size(5, 10))) == {"resize": {"rows": 5, "cols": 10}}
        display.output(b"c")
        assert (display.received, display.offset) == (7, 0)
        await within(display.wait_fed())
        assert made.entries == [b"ab\x1b[6n", Size(5, 10), b"c"]
        assert [fed.answer for fed in made.fed] == [b"\x1b[1;3R", b"", b""]
        assert (display.offset, rows_of(display.terminal)) == (7, ["abc"])


async def test_a_screen_holds_what_has_come_but_is_not_fed_yet() -> None:
    made = Fedding()
    made.display.output(b"one\r\n")
    made.display.resize(Size(6, 30))
    made.display.output(b"two")
    rows, others = shown(made.display.screen(lost_bytes=3))
    assert rows == ["one", "two"]
    assert others == [
        {"screen": {"rows": 4, "cols": 20, "lost_bytes": 3}},
        {"live": 0},
        {"resize": {"rows": 6, "cols": 30}},
    ]
    made.display.close()


async def test_a_slice_that_is_cut_leaves_the_rest_for_the_next_and_for_screens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(display_module, "_FIRST_SLICE", 64)
    made = Fedding()
    made.display.output(b"x" * 60 + b"\r\nabcdef")
    made.display._feed_one()
    assert made.display.offset == 64
    rows, others = shown(made.display.screen(lost_bytes=0))
    assert rows[-1] == "abcdef"
    assert others[1:] == [{"live": 64}]
    made.display.close()


@pytest.mark.parametrize(
    ("took_s", "following"),
    [(0.0, 2000), (0.0005, 2000), (0.002, 1000), (0.008, 500), (0.4, 10), (4.0, 1), (400.0, 1)],
)
def test_a_slice_is_as_long_as_the_one_before_it_allows(took_s: float, following: int) -> None:
    assert slice_after(1000, took_s) == following


def test_slices_have_a_bound() -> None:
    assert slice_after(48 << 10, 0.0) == 64 << 10


async def test_what_takes_long_is_fed_in_small_slices() -> None:
    ticks = iter(range(100))
    made = Fedding(cpu_s=lambda: next(ticks) * 0.04)
    made.display.output(b"\x1b[2J" * 1000)
    for _ in range(3):
        made.display._feed_one()
    assert [len(fed.entry) for fed in made.fed if isinstance(fed.entry, bytes)] == [1024, 102, 10]
    made.display.close()


async def test_what_nobody_waits_for_any_more_is_given_up() -> None:
    made = Fedding()
    made.display.output(b"one")
    made.display.resize(Size(5, 10))
    made.display.output(b"four")
    assert made.display.give_up() == 7
    await within(made.display.wait_fed())
    assert (made.display.offset, made.display.give_up()) == (0, 0)
    made.display.close()


async def test_the_consoles_of_a_sandbox_take_turns_and_others_are_not_held_up() -> None:
    turns: list[str] = []

    class Turns(FairTurns):
        @contextlib.asynccontextmanager
        async def turn(self, who: str) -> AsyncIterator[None]:
            turns.append(who)
            yield

    terminal = open_terminal(4, 20)
    display = Display(terminal, offset=0, fair=Turns(), who="sb_7", on_fed=lambda _fed: None)
    async with asyncio.TaskGroup() as tasks:
        loop = tasks.create_task(display.feed_for_ever())
        display.output(b"x" * 100_000)
        others = 0
        while display.offset < display.received:
            await asyncio.sleep(0)
            others += 1
        loop.cancel()
    assert set(turns) == {"sb_7"}
    assert 2 <= len(turns) <= others
    display.close()


async def test_who_waits_for_a_change_is_woken_by_one_and_by_the_end() -> None:
    async with feeding() as made, asyncio.TaskGroup() as tasks:
        display = made.display
        waiting = [tasks.create_task(display.wait_changed(display.revision)) for _ in range(2)]
        await asyncio.sleep(0)
        display.output(b"x")
        for waiter in waiting:
            await within(waiter)
        await within(display.wait_changed(display.revision - 1))
        last = tasks.create_task(display.wait_changed(display.revision))
        await asyncio.sleep(0)
        display.close()
        display.close()
        await within(last)
        assert display.is_closed


async def test_a_screen_with_scrollback_has_as_many_lines_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_module, "MOST_SCREEN", 256 << 10)
    async with feeding(rows=4, cols=100) as made:
        for number in range(6000):
            made.display.output(f"{number:090}\r\n".encode())
        await within(made.display.wait_fed())
        copy = made.display.copy()
        few = screen_of_copy(copy, scrollback=10)
        many = screen_of_copy(copy, scrollback=10_000)
        assert sum(map(len, few)) < 5000
        assert 128 << 10 < sum(map(len, many)) <= (256 << 10) + 5000
        assert shown(many) == shown(few)


async def test_ten_thousand_lines_fit() -> None:
    async with feeding(rows=4, cols=100) as made:
        for number in range(10_004):
            made.display.output(f"\x1b[3{number % 8}m{number:06}\x1b[0m{'x' * 90}\r\n".encode())
        await within(made.display.wait_fed())
        unpacker = msgpack.Unpacker(max_buffer_size=0)
        unpacker.feed(b"".join(screen_of_copy(made.display.copy(), scrollback=10_000)))
        assert b"".join(message.get("output", b"") for message in unpacker).count(b"x" * 90) == 10_003


async def test_a_copy_is_what_there_was_and_what_had_come() -> None:
    made = Fedding()
    made.display.output(b"one")
    made.display._feed_one()
    made.display.output(b" two")
    copy = made.display.copy()
    made.display._feed_one()
    made.display.close()
    rows, others = shown(screen_of_copy(copy, scrollback=5))
    assert rows == ["one two"]
    assert others == [{"screen": {"rows": 4, "cols": 20, "lost_bytes": 0}}, {"live": 3}]


@pytest.mark.parametrize(
    ("rows", "cols", "scrollback", "is_dear"),
    [(24, 80, 0, False), (24, 80, 1, True), (50, 1000, 0, True), (40, 100, 0, False)],
)
def test_a_screen_with_scrollback_or_of_very_many_cells_is_dear(
    rows: int, cols: int, scrollback: int, *, is_dear: bool
) -> None:
    made = Fedding(rows=rows, cols=cols)
    assert made.display.is_dear(scrollback=scrollback) is is_dear
    made.display.close()


async def test_of_sizes_in_a_row_the_last_is_fed() -> None:
    made = Fedding()
    for cols in (10, 30, 50):
        made.display.resize(Size(5, cols))
    assert len(made.display._pending) == 1
    made.display._feed_one()
    assert (made.display.terminal.rows, made.display.terminal.cols) == (5, 50)
    made.display.close()


async def test_viewers_who_want_the_same_screen_share_it_and_a_dear_one_is_not_made_again_at_once() -> None:
    made = Fedding()
    made.display.output(b"x")
    made.display._feed_one()
    first, second = (made.display.screen(lost_bytes=lost) for lost in (0, 9))
    assert [id(one) for one in first[1:-1]] == [id(one) for one in second[1:-1]]
    assert 0 < made.display.until_screen_s() < 10
    made.display.output(b"y")
    made.display._feed_one()
    assert made.display.screen(lost_bytes=0)[1:-1] != first[1:-1]
    made.display.close()


async def test_what_is_missing_counts_as_seen() -> None:
    made = Fedding(offset=5)
    made.display.lose(7)
    assert (made.display.offset, made.display.received) == (12, 12)
    offset, snapshot = made.display.snapshot()
    assert offset == 12
    assert snapshot
    made.display.close()


def test_the_screen_of_what_has_ended_is_whole() -> None:
    with contextlib.closing(open_terminal(4, 20)) as terminal:
        terminal.feed(b"bye")
        rows, others = shown(screen_of(terminal, 3, scrollback=0))
        assert (rows, others[-1]) == (["bye"], {"live": 3})
