"""A terminal in a process of its own: as good as one in this process, and no danger to another."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from cloche_term import Key, Mouse, MouseAction, MouseButton, Run, Terminal, open_terminal
from cloche_term.apart.frames import SIZE, Kind, Status, frame, state_of
from cloche_term.apart.paintings import Painting
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_term.errors import TerminalError, TerminalLost
from tests.term.apart import hostile
from tests.term.apart.lost import expect_lost
from tests.term.apart.workers import Worker, worker_of
from tests.term.hostile import soup


async def first_line_of(terminal: ApartTerminal) -> str:
    return (await terminal.look()).lines[0]


async def test_a_terminal_shows_and_answers_as_one_in_this_process(terminals: Terminals) -> None:
    fed = b"\x1b]2;a title\x07\x1b[?1049h\x1b[H\x1b[1mbold\x1b[0m\x1b[5;5Hthere\x1b[6n"
    here = open_terminal(10, 40)
    terminal = await terminals.open(10, 40)
    assert await terminal.feed(fed) == here.feed(fed)
    state = terminal.state
    assert (state.title, state.is_alternate, state.revision) == ("a title", True, 1)
    await terminal.resize(12, 30)
    here.resize(12, 30)
    assert (terminal.state.rows, terminal.state.cols, terminal.state.revision) == (12, 30, 2)
    look = await terminal.look()
    assert look.lines == here.text()
    assert (look.cursor_row, look.cursor_col) == (here.cursor.row, here.cursor.col)
    assert await terminal.dump(scrollback_lines=10) == here.dump(scrollback_lines=10)
    assert await terminal.snapshot() == here.snapshot()
    here.close()


async def test_it_tells_how_much_of_a_processor_a_request_has_taken(terminals: Terminals) -> None:
    terminal = await terminals.open(1000, 1000)
    await terminal.feed(b"a\x1b[65535b" * 1000)
    long = terminal.state.cpu_s
    await terminal.feed(b"x")
    assert 0 < terminal.state.cpu_s < long < 30


async def test_a_size_that_no_terminal_has_is_refused_and_the_terminal_goes_on(terminals: Terminals) -> None:
    terminal = await terminals.open(3, 20)
    with pytest.raises(ValueError, match="each must be"):
        await terminal.resize(3, 1001)
    await terminal.feed(b"on")
    assert await first_line_of(terminal) == "on"


@pytest.mark.parametrize(
    ("data", "rows", "cols"),
    [(hostile.CRASH, 24, 80), (hostile.PANIC, hostile.PANIC_ROWS, hostile.PANIC_COLS)],
    ids=["segmentation fault", "panic"],
)
async def test_what_crashes_the_emulator_costs_that_terminal_and_no_other(
    terminals: Terminals, data: bytes, rows: int, cols: int
) -> None:
    good = await terminals.open(24, 80)
    await good.feed(b"still here")
    bad = await terminals.open(24, 80)
    await bad.resize(rows, cols)
    with pytest.raises(TerminalLost, match="has ended"):
        await feed_often(bad, data)
    await expect_lost(bad)
    assert await first_line_of(good) == "still here"
    assert await first_line_of(await terminals.open(24, 80)) == ""


async def feed_often(terminal: ApartTerminal, data: bytes) -> None:
    for _ in range(20):
        await terminal.feed(data)


async def test_a_terminal_that_is_busy_for_too_long_is_given_up_and_others_go_on_meanwhile(
    zygote: Zygote,
) -> None:
    async with open_terminals(patience_s=1.5, zygote=zygote) as terminals, asyncio.TaskGroup() as tasks:
        busy, good = await terminals.open(1000, 1000), await terminals.open(24, 80)
        labour = tasks.create_task(expect_given_up(busy))
        await asyncio.sleep(0)
        assert await good.feed(b"meanwhile\x1b[6n") == b"\x1b[1;10R"
        assert not labour.done()
        await labour
        assert await first_line_of(good) == "meanwhile"


async def expect_given_up(terminal: ApartTerminal) -> None:
    with pytest.raises(TerminalLost, match=r"took more than 1\.5 s"):
        await terminal.feed(hostile.LABOUR)
    await expect_lost(terminal)


async def test_a_process_that_does_not_answer_is_killed(zygote: Zygote) -> None:
    async with open_terminals(patience_s=1, zygote=zygote) as terminals:
        terminal = await terminals.open(24, 80)
        os.kill(terminal.pid, signal.SIGSTOP)
        with pytest.raises(TerminalLost, match="took more"):
            await terminal.look()
        await expect_lost(terminal)


async def test_a_process_that_is_killed_in_the_midst_of_work_is_lost_at_once(terminals: Terminals) -> None:
    async with asyncio.TaskGroup() as tasks:
        terminal = await terminals.open(1000, 1000)
        labour = tasks.create_task(expect_end(terminal))
        await asyncio.sleep(0)
        os.kill(terminal.pid, signal.SIGKILL)
        await labour


async def expect_end(terminal: ApartTerminal) -> None:
    with pytest.raises(TerminalLost, match="has ended"):
        await terminal.feed(hostile.LABOUR)
    await expect_lost(terminal)


async def test_its_memory_is_bounded() -> None:
    most_memory = 96 << 20
    zygote = Zygote(most_memory=most_memory)
    try:
        async with open_terminals(patience_s=30, zygote=zygote) as terminals:
            large, good = await terminals.open(1000, 1000), await terminals.open(24, 80)
            # What it does without memory is its affair: it is lost, or shows less.
            try:
                for _ in range(100):
                    await large.feed(hostile.PILES * 160)
                    assert memory_of(large) < most_memory
                await large.snapshot()
            except TerminalLost:
                await expect_lost(large)
            assert await first_line_of(good) == ""
    finally:
        zygote.close()


def memory_of(terminal: ApartTerminal) -> int:
    """Bytes that its process has in memory."""
    pages = Path(f"/proc/{terminal.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def test_a_cancelled_call_leaves_the_terminal_in_step(terminals: Terminals) -> None:
    async with asyncio.TaskGroup() as tasks:
        terminal = await terminals.open(24, 80)
        for number in range(20):
            cancelled = tasks.create_task(terminal.feed(b"\x1b[%dG\x1b[6n" % (number + 1)))
            await asyncio.sleep(0)
            cancelled.cancel()
            # The move has been made; the answer to it is nobody else's.
            assert await terminal.feed(b"\x1b[5n") == b"\x1b[0n"
            assert (await terminal.look()).cursor_col == number


async def test_requests_are_done_in_the_order_in_which_they_were_asked(terminals: Terminals) -> None:
    async with asyncio.TaskGroup() as tasks:
        terminal = await terminals.open(3, 200)
        for number in range(50):
            tasks.create_task(terminal.feed(b"%d," % number))
        await asyncio.sleep(0)
        assert await first_line_of(terminal) == "".join(f"{number}," for number in range(50))


# --- for viewers -----------------------------------------------------------------------------------------------------


class Mirror:
    """What a viewer shows who has nothing but paintings."""

    def __init__(self) -> None:
        self.painting: Painting | None = None
        self.rows: dict[int, tuple[Run, ...]] = {}

    def take(self, painting: Painting) -> None:
        if self.painting is None or painting.size != self.painting.size:
            self.rows.clear()
        self.painting = painting
        self.rows.update(painting.rows)

    def check(self, terminal: Terminal) -> None:
        """It shows what this terminal does."""
        terminal.update()
        assert self.painting is not None
        assert self.rows == {y: terminal.row(y) for y in range(terminal.rows)}
        assert self.painting.size == (terminal.rows, terminal.cols)
        assert self.painting.cursor == terminal.cursor
        assert self.painting.modes == terminal.modes
        assert self.painting.title == terminal.title
        assert self.painting.first_line == terminal.first_line
        assert self.painting.view_line == terminal.view_line
        assert self.painting.scrollback_rows == terminal.scrollback_rows


@pytest.mark.parametrize("seed", range(6))
async def test_a_mirror_made_of_paintings_shows_what_the_terminal_does(
    terminals: Terminals, seed: int
) -> None:
    chance = random.Random(seed)
    mirror = Mirror()
    rows, cols = chance.randint(1, 50), chance.randint(1, 150)
    apart = await terminals.open(rows, cols, scrollback_lines=100)
    with closing(open_terminal(rows, cols, scrollback_lines=100)) as here:
        for _ in range(40):
            what = chance.random()
            if what < 0.5:
                data = soup(chance, chance.randint(1, 300))
                assert await apart.feed(data) == here.feed(data)
            elif what < 0.6:
                data = b"line\r\n" * chance.randint(1, 100)
                await apart.feed(data)
                here.feed(data)
            elif what < 0.8:
                lines = chance.randint(-30, 20)
                await apart.scroll(lines)
                here.scroll(lines)
            elif what < 0.9:
                await apart.scroll_to_end()
                here.scroll_to_end()
            else:
                size = chance.randint(1, 50), chance.randint(1, 150)
                await apart.resize(*size)
                here.resize(*size)
            if chance.random() < 0.8:
                mirror.take(await apart.paint())
                mirror.check(here)


async def test_a_painting_has_what_has_changed_and_nothing_else(terminals: Terminals) -> None:
    terminal = await terminals.open(5, 20)
    assert set((await terminal.paint()).rows) == {0, 1, 2, 3, 4}
    assert (await terminal.paint()).rows == {}
    await terminal.feed(b"\x1b[3Hthird")
    assert set((await terminal.paint()).rows) == {2}
    assert set((await terminal.paint(whole=True)).rows) == {0, 1, 2, 3, 4}
    assert (await terminal.paint()).rows == {}
    await terminal.resize(4, 20)
    assert set((await terminal.paint()).rows) == {0, 1, 2, 3}


async def test_what_a_cancelled_painting_would_have_told_is_in_the_next(terminals: Terminals) -> None:
    async with asyncio.TaskGroup() as tasks:
        terminal = await terminals.open(5, 20)
        mirror = Mirror()
        mirror.take(await terminal.paint())
        await terminal.feed(b"\x1b[3Hthird")
        cancelled = tasks.create_task(terminal.paint())
        await asyncio.sleep(0)
        cancelled.cancel()
        mirror.take(await terminal.paint())
        assert mirror.rows[2][0].text.startswith("third")


async def test_two_paintings_at_once_are_both_right(terminals: Terminals) -> None:
    terminal = await terminals.open(5, 20)
    mirror = Mirror()
    for painting in await asyncio.gather(*(terminal.paint() for _ in range(3))):
        mirror.take(painting)
    assert set(mirror.rows) == {0, 1, 2, 3, 4}
    assert (await terminal.paint()).rows == {}


async def test_viewers_scroll_find_read_and_type_as_in_the_terminal_itself(terminals: Terminals) -> None:
    fed = b"".join(b"line %d\r\n" % number for number in range(50)) + b"\x1b]8;;http://x\x07link\x1b]8;;\x07"
    modes = b"\x1b[?1h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004h"
    apart = await terminals.open(5, 20)
    await apart.feed(fed + modes)
    with closing(open_terminal(5, 20)) as here:
        here.feed(fed + modes)
        assert await apart.search("line 4", limit=3) == here.search("line 4", limit=3) != ()
        assert await apart.lines(10, 13) == here.lines(10, 13) == ("line 10", "line 11", "line 12")
        assert await apart.link(4, 1) == "http://x"
        assert await apart.link(4, 20) == await apart.link(-1, 0) == ""
        assert await apart.encode_key(Key("up")) == here.encode_key(Key("up")) == b"\x1bOA"
        mouse = Mouse(MouseAction.PRESS, MouseButton.LEFT, 1, 2, alt=True)
        assert await apart.encode_mouse(mouse) == here.encode_mouse(mouse) != b""
        assert await apart.encode_paste("a\nb") == here.encode_paste("a\nb")
        assert await apart.encode_focus(has_focus=True) == b"\x1b[I"
        await apart.scroll_to(7)
        assert (await apart.paint()).view_line == 7
        await apart.scroll(-2)
        assert (await apart.paint()).view_line == 5
        await apart.scroll_to_end()
        assert (await apart.paint()).view_line == here.first_line


_ASKED: dict[str, Callable[[ApartTerminal], Awaitable[object]]] = {
    "feed": lambda terminal: terminal.feed(b"x"),
    "resize": lambda terminal: terminal.resize(3, 20),
    "look": lambda terminal: terminal.look(),
    "paint": lambda terminal: terminal.paint(),
    "search": lambda terminal: terminal.search("x"),
    "lines": lambda terminal: terminal.lines(0, 3),
    "link": lambda terminal: terminal.link(0, 0),
    "scroll": lambda terminal: terminal.scroll(-1),
    "key": lambda terminal: terminal.encode_key(Key("a")),
}


@pytest.mark.parametrize("what", _ASKED)
async def test_an_answer_that_cannot_be_loses_the_terminal_and_does_nothing_else(what: str) -> None:
    chance = random.Random(what)
    honest = state_of(open_terminal(3, 20, backend="bittty"), revision=0, cpu_s=0)
    lost = 0
    while lost < 5:
        async with worker_of() as worker, asyncio.TaskGroup() as tasks:
            terminal = ApartTerminal(worker.calls, worker.process)
            await answered(tasks, worker, worker.calls.ask(Kind.OPEN, SIZE.pack(3, 20)), honest)
            for _ in range(50):
                told = honest + chance.randbytes(chance.randint(0, 80))
                error = await answered(tasks, worker, _ASKED[what](terminal), told)
                if error is not None:
                    assert isinstance(error, TerminalLost)
                    assert terminal.is_lost
                    lost += 1
                    break
            else:
                # Any bytes are something to type.
                assert what in ("feed", "key")
                return


async def answered(
    tasks: asyncio.TaskGroup, worker: Worker, asked: Awaitable[object], told: bytes
) -> Exception | None:
    """What comes of asking this, if this is answered."""

    async def ask() -> Exception | None:
        try:
            await asked
        except (TerminalError, ValueError) as error:
            return error
        return None

    task = tasks.create_task(ask())
    await worker.hear()
    await worker.say(frame(Status.DONE, told))
    return await task
