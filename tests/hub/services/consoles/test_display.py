"""The hub's emulator of a console: fed in slices, asked for screens, and what hostile output may cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import msgpack
import pytest

from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import display as display_module
from cloche_hub.services.consoles.display import Display, Fed, screen_of, slice_after
from cloche_hub.services.consoles.emulator import Emulator, Loss, Reopened
from cloche_hub.services.consoles.stored import reopen_blank
from cloche_hub.services.fair import FairTurns, Turn
from cloche_term import Terminal, TerminalLost, open_terminal, restore
from cloche_term.apart.frames import State
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from tests.support.hub import within
from tests.term.apart.hostile import CRASH


class Fedding:
    """A display and what it has been fed."""

    def __init__(
        self,
        terminal: ApartTerminal,
        terminals: Terminals,
        *,
        offset: int = 0,
        fair: FairTurns | None = None,
    ) -> None:
        self.fed: list[Fed] = []
        self.losses: list[Loss] = []
        self.offsets: list[int] = []
        """That the emulator had seen as each slice was told."""

        async def reopen(size: Size, *, is_blank: bool) -> Reopened:
            del is_blank
            return await reopen_blank(terminals, size)

        emulator = Emulator(terminal, offset=offset, reopen=reopen, on_lost=self.losses.append)
        self.display = Display(emulator, fair=fair or FairTurns(), who="sb_1", on_fed=self._on_fed)

    @property
    def entries(self) -> list[Entry]:
        return [fed.entry for fed in self.fed]

    async def show(self, data: bytes) -> None:
        """The guest shows something, of which a slice is fed."""
        self.display.output(data)
        await within(self.display._feed_one())

    async def screen(self, scrollback: int = 0, lost_bytes: int = 0) -> list[bytes]:
        return (await within(self.display.screen(scrollback=scrollback))).told(lost_bytes=lost_bytes)

    async def text(self) -> list[str]:
        return [row for row in (await within(self.display.look())).look.lines if row]

    def _on_fed(self, fed: Fed) -> None:
        self.fed.append(fed)
        self.offsets.append(self.display.offset)


@pytest.fixture
async def made(terminals: Terminals) -> AsyncIterator[Fedding]:
    """A display of 4 rows and 20 columns that is fed by hand."""
    made = Fedding(await terminals.open(4, 20), terminals)
    yield made
    made.display.close()


@contextlib.asynccontextmanager
async def feeding(
    terminals: Terminals, *, rows: int = 4, cols: int = 20, fair: FairTurns | None = None
) -> AsyncIterator[Fedding]:
    made = Fedding(await terminals.open(rows, cols), terminals, fair=fair)
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


async def test_what_comes_is_fed_in_order_and_answered(terminals: Terminals) -> None:
    async with feeding(terminals) as made:
        display = made.display
        assert msgpack.unpackb(display.output(b"ab\x1b[6n")) == {"output": b"ab\x1b[6n"}
        assert msgpack.unpackb(display.resize(Size(5, 10))) == {"resize": {"rows": 5, "cols": 10}}
        display.output(b"c")
        assert (display.received, display.offset) == (7, 0)
        await within(display.wait_fed())
        assert made.entries == [b"ab\x1b[6n", Size(5, 10), b"c"]
        assert [fed.answer for fed in made.fed] == [b"\x1b[1;3R", b"", b""]
        assert made.offsets == [6, 6, 7]
        assert (await made.text(), display.title) == (["abc"], "")


async def test_a_screen_holds_what_has_come_but_is_not_fed_yet(made: Fedding) -> None:
    made.display.output(b"one\r\n")
    made.display.resize(Size(6, 30))
    made.display.output(b"two")
    rows, others = shown(await made.screen(lost_bytes=3))
    assert rows == ["one", "two"]
    assert others == [
        {"screen": {"rows": 4, "cols": 20, "lost_bytes": 3}},
        {"live": 0},
        {"resize": {"rows": 6, "cols": 30}},
    ]


@pytest.mark.parametrize("scrollback", [0, 10])
async def test_a_screen_holds_what_comes_while_it_is_made_whatever_else_is_asked(
    scrollback: int, terminals: Terminals
) -> None:
    async with feeding(terminals) as made, asyncio.TaskGroup() as tasks:
        made.display.output(b"before ")
        await within(made.display.wait_fed())
        making = tasks.create_task(made.screen(scrollback))
        await asyncio.sleep(0)
        for number in range(5):
            made.display.output(b"%d" % number)
        others = [tasks.create_task(one) for one in (made.text(), made.display.snapshot())]
        screen = await within(making)
        rows, told = shown(screen)
        # What had come when it was there is in it, once: fed before, or behind it.
        came = msgpack.unpackb(screen[-1]).get("output", b"")
        assert (rows, told[1]) == (["before 01234"], {"live": 7})
        assert came == b"4"
        await within(asyncio.wait(others))
        await within(made.display.wait_fed())
        assert await made.text() == ["before 01234"]


async def test_a_snapshot_is_of_the_very_step_in_which_it_is_there(
    terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display_module, "_LARGEST_SLICE", 16)
    monkeypatch.setattr(display_module, "_FIRST_SLICE", 16)
    async with feeding(terminals, cols=1000) as made:
        made.display.output(b"".join(b"%04d" % number for number in range(500)))
        seen: dict[int, bytes] = {}
        while made.display.offset < made.display.received:
            offset, snapshot = await within(made.display.snapshot())
            assert (
                offset
                == made.display.offset
                == sum(len(one) for one in made.entries if isinstance(one, bytes))
            )
            seen[offset] = snapshot
    assert len(seen) > 3
    for offset, snapshot in seen.items():
        with contextlib.closing(restore(snapshot)) as then:
            assert len("".join(then.text())) == offset


@pytest.mark.parametrize("asked", ["dump", "look", "snapshot"])
async def test_nothing_is_fed_before_who_has_asked_has_the_answer(
    asked: str, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, answered, ask = asyncio.Event(), asyncio.Event(), getattr(ApartTerminal, asked)

    async def slowly(terminal: ApartTerminal, **options: int) -> object:
        answer = await ask(terminal, **options)
        answered.set()
        await gate.wait()
        return answer

    async with feeding(terminals) as made, asyncio.TaskGroup() as tasks:
        monkeypatch.setattr(ApartTerminal, asked, slowly)
        display = made.display
        requests = {
            "dump": display.screen(scrollback=0),
            "look": display.look(),
            "snapshot": display.snapshot(),
        }
        asking = tasks.create_task(requests.pop(asked))
        for unused in requests.values():
            unused.close()
        await within(answered.wait())
        display.output(b"later")
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert (display.offset, made.fed) == (0, [])
        gate.set()
        await within(asking)
        await within(display.wait_fed())
        assert display.offset == 5


async def test_a_slice_that_is_cut_leaves_the_rest_for_the_next_and_for_screens(
    made: Fedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made.display, "_slice", 64)
    await made.show(b"x" * 60 + b"\r\nabcdef")
    assert made.display.offset == 64
    rows, others = shown(await made.screen())
    assert rows[-1] == "abcdef"
    assert others[1:] == [{"live": 64}]


@pytest.mark.parametrize(
    ("took_s", "following"),
    [(0.0, 2000), (0.0005, 2000), (0.002, 1000), (0.008, 500), (0.4, 10), (4.0, 1), (400.0, 1)],
)
def test_a_slice_is_as_long_as_the_one_before_it_allows(took_s: float, following: int) -> None:
    assert slice_after(1000, took_s) == following


def test_slices_have_a_bound() -> None:
    assert slice_after(48 << 10, 0.0) == 64 << 10


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request takes 40 ms of a processor, as the terminals' processes say."""

    def state(terminal: ApartTerminal) -> State:
        assert terminal._calls.state is not None
        return replace(terminal._calls.state, cpu_s=0.04)

    monkeypatch.setattr(ApartTerminal, "state", property(state))


async def test_what_takes_long_is_fed_in_small_slices(made: Fedding, dear: None) -> None:
    made.display.output(b"\x1b[2J" * 1000)
    for _ in range(3):
        assert await made.display._feed_one() == 0.04
    assert [len(fed.entry) for fed in made.fed if isinstance(fed.entry, bytes)] == [1024, 102, 10]


async def test_what_nobody_waits_for_any_more_is_given_up(made: Fedding) -> None:
    made.display.output(b"one")
    made.display.resize(Size(5, 10))
    made.display.output(b"four")
    assert made.display.give_up() == 7
    await within(made.display.wait_fed())
    assert await made.display._feed_one() == 0.0
    assert (made.display.offset, made.display.give_up()) == (0, 0)


async def test_the_consoles_of_a_sandbox_take_turns_and_others_are_not_held_up(
    terminals: Terminals, dear: None
) -> None:
    turns: list[tuple[str, Turn]] = []

    class Turns(FairTurns):
        @contextlib.asynccontextmanager
        async def turn(self, who: str) -> AsyncIterator[Turn]:
            turns.append((who, Turn()))
            yield turns[-1][1]

    async with feeding(terminals, fair=Turns()) as made:
        made.display.output(b"x" * 1100)
        others = 0
        while made.display.offset < made.display.received:
            await asyncio.sleep(0)
            others += 1
    assert {who for who, _ in turns} == {"sb_1"}
    assert 2 <= len(turns) <= others
    # What the emulator's process has used, and not who else had this one meanwhile.
    assert [turn.cost_s for _, turn in turns] == [0.04, 0.04]


async def test_who_waits_for_a_change_is_woken_by_one_and_by_the_end(terminals: Terminals) -> None:
    async with feeding(terminals) as made, asyncio.TaskGroup() as tasks:
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
        for request in (display.screen(scrollback=0), display.look(), display.snapshot()):
            with pytest.raises(TerminalLost):
                await request


async def test_a_look_says_of_which_moment_it_is(made: Fedding) -> None:
    await made.show(b"abc")
    seen = await within(made.display.look())
    assert (seen.look.lines[0], seen.offset, seen.revision) == ("abc", 3, made.display.revision)
    assert seen.cost_s > 0


async def test_a_screen_with_scrollback_has_as_many_lines_as_fit(
    terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display_module, "MOST_SCREEN", 256 << 10)
    async with feeding(terminals, rows=4, cols=100) as made:
        made.display.output(b"".join(f"{number:090}\r\n".encode() for number in range(6000)))
        await within(made.display.wait_fed())
        few = await made.screen(scrollback=10)
        many = await made.screen(scrollback=10_000)
        assert sum(map(len, few)) < 5000
        assert 128 << 10 < sum(map(len, many)) <= (256 << 10) + 5000
        assert shown(many) == shown(few)


async def test_ten_thousand_lines_fit(terminals: Terminals) -> None:
    async with feeding(terminals, rows=4, cols=100) as made:
        lines = (f"\x1b[3{number % 8}m{number:06}\x1b[0m{'x' * 90}\r\n" for number in range(10_004))
        made.display.output("".join(lines).encode())
        await within(made.display.wait_fed())
        unpacker = msgpack.Unpacker(max_buffer_size=0)
        unpacker.feed(b"".join(await made.screen(scrollback=10_000)))
        assert b"".join(message.get("output", b"") for message in unpacker).count(b"x" * 90) == 10_003


async def test_of_sizes_in_a_row_the_last_is_fed(made: Fedding) -> None:
    for cols in (10, 30, 50):
        made.display.resize(Size(5, cols))
    await made.display._feed_one()
    assert made.entries == [Size(5, 50)]
    look = (await within(made.display.look())).look
    assert (look.rows, look.cols) == (5, 50)


async def test_viewers_who_want_the_same_screen_share_it_and_it_is_not_made_again_at_once(
    made: Fedding, dear: None
) -> None:
    await made.show(b"x")
    first, second = [await made.screen(lost_bytes=lost) for lost in (0, 9)]
    assert [id(one) for one in first[1:-1]] == [id(one) for one in second[1:-1]]
    assert made.display.until_screen_s(scrollback=False) == pytest.approx(0.4, abs=0.3)
    assert made.display.until_screen_s(scrollback=True) == 0
    await made.screen(scrollback=5)
    assert 0 < made.display.until_screen_s(scrollback=True) <= 0.04
    await made.show(b"y")
    assert (await made.screen())[1:-1] != first[1:-1]


async def test_what_is_missing_counts_as_seen(terminals: Terminals) -> None:
    made = Fedding(await terminals.open(4, 20), terminals, offset=5)
    made.display.lose(7)
    assert (made.display.offset, made.display.received) == (12, 12)
    offset, snapshot = await within(made.display.snapshot())
    assert offset == 12
    assert snapshot
    made.display.close()


async def test_what_crashes_the_emulator_is_told_as_fed_and_what_comes_next_is_shown(
    terminals: Terminals,
) -> None:
    async with feeding(terminals, rows=24, cols=80) as made:
        for data in (b"one", CRASH, b"two"):
            made.display.output(data)
        await within(made.display.wait_fed())
        assert (made.entries, len(made.losses)) == ([b"one", CRASH, b"two"], 1)
        assert made.offsets == [3, 3 + len(CRASH), 6 + len(CRASH)]
        rows, others = shown(await made.screen())
        assert (rows, others[-1]) == (["two"], {"live": 6 + len(CRASH)})


async def test_after_a_loss_the_slices_begin_anew(terminals: Terminals) -> None:
    made = Fedding(await terminals.open(24, 80), terminals)
    made.display.output(b"x" * 1024 + CRASH + b"y" * 4096)
    for _ in range(3):
        await within(made.display._feed_one())
    assert len(made.losses) == 1
    assert [len(entry) for entry in made.entries if isinstance(entry, bytes)] == [1024, 2048, 1024]
    made.display.close()


async def test_the_screen_of_what_has_ended_is_whole(terminals: Terminals) -> None:
    terminal = await terminals.open(4, 20)
    await terminal.feed(b"bye")
    rows, others = shown(await screen_of(terminal, scrollback=0))
    assert (rows, others[-1]) == (["bye"], {"live": 0})
