"""A terminal in a process of its own: as good as one in this process, and no danger to another."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from cloche_term import open_terminal
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_term.errors import TerminalLost
from tests.term.apart import hostile
from tests.term.apart.lost import expect_lost


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


async def test_a_look_that_cannot_be_loses_the_terminal(terminals: Terminals) -> None:
    terminal = await terminals.open(3, 20)
    calls = terminal._calls
    honest = calls.ask

    async def ask(*request: object) -> object:
        state, rest = await honest(*request)  # type: ignore[arg-type]
        return state, rest + b"\n\x1b[2J"

    calls.ask = ask  # type: ignore[method-assign, assignment]
    with pytest.raises(TerminalLost, match="no proper answer"):
        await terminal.look()
    calls.ask = honest  # type: ignore[method-assign]
    await expect_lost(terminal)
