"""A console's emulator: a terminal that is lost is replaced, and what was asked of it is answered by the next one."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from cloche_hub.ports import Size
from cloche_hub.services.consoles.emulator import (
    LOSSES_WITHIN_S,
    MOST_LOSSES,
    NONE_LEFT,
    SPENT,
    Emulator,
    Loss,
    Reopened,
)
from cloche_term import TerminalError, TerminalLost
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from tests.support.hub import until, within
from tests.term.apart.hostile import CRASH


class Stored:
    """What is stored of a console, and what happens to it when that is opened."""

    def __init__(self, terminals: Terminals) -> None:
        self.terminals = terminals
        self.entries: list[bytes] = []
        self.size = Size(24, 80)
        self.opened: list[bool] = []
        """Whether it was asked for an empty one, each time."""
        self.refuses = False
        """Set it to have no terminal opened any more."""
        self.on_open: Callable[[], object] = lambda: None
        """Called each time."""

    async def reopen(self, size: Size, *, is_blank: bool) -> Reopened:
        self.opened.append(is_blank)
        self.on_open()
        if self.refuses:
            raise TerminalLost("there are no more processes")
        if is_blank:
            return Reopened(await self.terminals.open(size.rows, size.cols), 0)
        terminal = await self.terminals.open(self.size.rows, self.size.cols)
        for entry in self.entries:
            await terminal.feed(entry)
        return Reopened(terminal, sum(map(len, self.entries)))


class Losing:
    """An emulator, and what is told of its losses."""

    def __init__(self, terminal: ApartTerminal, stored: Stored) -> None:
        self.losses: list[Loss] = []
        self.now = 0.0
        self.stored = stored
        self.emulator = Emulator(
            terminal,
            offset=0,
            reopen=stored.reopen,
            on_lost=self.losses.append,
            clock=lambda: self.now,
        )

    async def show(self, text: bytes) -> None:
        """Something is shown and stored."""
        await within(self.emulator.feed(text))
        self.stored.entries.append(text)

    async def first_line(self) -> str:
        return (await within(self.emulator.look())).lines[0]

    async def kill(self) -> None:
        """Its process ends while nobody asks anything of it."""
        terminal = self.emulator._terminal
        os.kill(terminal.pid, signal.SIGKILL)
        await until(lambda: terminal.is_lost)


@pytest.fixture
async def losing(terminals: Terminals) -> Losing:
    return Losing(await terminals.open(24, 80), Stored(terminals))


async def test_it_is_fed_asked_and_resized(losing: Losing) -> None:
    emulator = losing.emulator
    assert await within(emulator.feed(b"ab\x1b]2;title\x07\x1b[6n")) == b"\x1b[1;3R"
    assert emulator.cost_s > 0
    await within(emulator.resize(Size(5, 10)))
    assert (emulator.size, emulator.title, emulator.offset) == (Size(5, 10), "title", 16)
    assert await losing.first_line() == "ab"
    assert b"ab" in await within(emulator.dump(scrollback_lines=0))
    assert await within(emulator.snapshot())
    emulator.skip(5)
    assert (emulator.offset, losing.losses) == (21, [])


async def test_what_crashes_it_counts_as_seen_and_is_not_fed_again(losing: Losing) -> None:
    await losing.show(b"kept ")
    await within(losing.emulator.feed(b"not stored "))
    assert await within(losing.emulator.feed(b"\x1b[6n" + CRASH)) == b""
    assert losing.emulator.offset == 16 + 4 + len(CRASH)
    (loss,) = losing.losses
    assert (loss.missing, loss.ends) == (losing.emulator.offset - 5, None)
    assert f"miss {loss.missing} bytes" in loss.told
    await within(losing.emulator.feed(b"goes on"))
    assert await losing.first_line() == "kept goes on"
    assert losing.stored.opened == [False]


async def test_what_has_ended_meanwhile_is_replaced_before_it_is_fed(losing: Losing) -> None:
    await losing.show(b"kept ")
    await losing.kill()
    assert await within(losing.emulator.feed(b"fed\x1b[6n")) == b"\x1b[1;9R"
    assert (await losing.first_line(), losing.losses[0].missing) == ("kept fed", 0)
    assert losing.losses[0].told == "the terminal emulator was lost, and another one shows the same"


async def test_one_that_stands_still_costs_no_more_than_the_processor_time_it_has_used(
    losing: Losing,
) -> None:
    terminal = losing.emulator._terminal
    os.kill(terminal.pid, signal.SIGSTOP)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(within(losing.emulator.feed(b"never taken")))
        await asyncio.sleep(0)
        losing.now = 1000.0
        terminal.kill()
    assert len(losing.losses) == 1
    assert 0 <= losing.emulator.cost_s < 100


async def test_one_whose_use_is_not_known_costs_as_long_as_it_took(losing: Losing) -> None:
    losing.stored.refuses = True
    losing.stored.on_open = lambda: setattr(losing, "now", 1000.0)
    await losing.kill()
    await within(losing.emulator.feed(b"never taken"))
    assert losing.emulator.cost_s == 1000.0


async def test_another_one_has_the_size_of_the_lost_one(losing: Losing) -> None:
    await losing.show(b"kept")
    await within(losing.emulator.resize(Size(6, 30)))
    await losing.kill()
    look = await within(losing.emulator.look())
    assert (look.rows, look.cols, look.lines[0]) == (6, 30, "kept")
    # The size that it was lost with, too.
    await losing.kill()
    await within(losing.emulator.resize(Size(7, 40)))
    look = await within(losing.emulator.look())
    assert (look.rows, look.cols, look.lines[0]) == (7, 40, "kept")


async def test_what_reads_is_asked_again_and_of_an_empty_one_if_the_restored_one_fails_too(
    losing: Losing, monkeypatch: pytest.MonkeyPatch
) -> None:
    await losing.show(b"kept")
    dump = ApartTerminal.dump

    async def fail(terminal: ApartTerminal, *, scrollback_lines: int) -> bytes:
        if (await terminal.look()).lines[0] == "kept":
            raise TerminalError("not enough memory")
        return await dump(terminal, scrollback_lines=scrollback_lines)

    monkeypatch.setattr(ApartTerminal, "dump", fail)
    assert b"kept" not in await within(losing.emulator.dump(scrollback_lines=0))
    assert losing.stored.opened == [False, True]
    assert [loss.missing for loss in losing.losses] == [0, 4]


async def test_an_answer_that_makes_no_sense_is_a_loss(
    losing: Losing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_terminal: ApartTerminal, _data: bytes) -> bytes:
        raise ValueError("no such thing")

    with monkeypatch.context() as patch:
        patch.setattr(ApartTerminal, "feed", refuse)
        assert await within(losing.emulator.feed(b"x")) == b""
    assert losing.losses[0].reason == "no such thing"
    assert await losing.first_line() == ""


async def test_with_the_last_loss_it_is_spent_and_fed_no_more(losing: Losing) -> None:
    await losing.show(b"kept")
    for _ in range(MOST_LOSSES):
        await within(losing.emulator.feed(CRASH))
        assert not losing.emulator.is_spent
    await within(losing.emulator.feed(CRASH))
    assert losing.emulator.is_spent
    assert (losing.losses[-1].ends, SPENT in losing.losses[-1].told) == (SPENT, True)
    assert losing.stored.opened == [False] * MOST_LOSSES + [True]
    offset = losing.emulator.offset
    assert await within(losing.emulator.feed(CRASH + b"\x1b[6n")) == b""
    assert losing.emulator.offset == offset + len(CRASH) + 4
    assert await losing.first_line() == ""
    assert await within(losing.emulator.snapshot())
    # Whatever happens to the empty one.
    await losing.kill()
    await within(losing.emulator.feed(b"x"))
    assert (await losing.first_line(), len(losing.losses)) == ("", MOST_LOSSES + 1)


async def test_losses_of_long_ago_do_not_count(losing: Losing) -> None:
    for _ in range(2 * MOST_LOSSES):
        await within(losing.emulator.feed(CRASH))
        losing.now += LOSSES_WITHIN_S / MOST_LOSSES
    assert (losing.emulator.is_spent, len(losing.losses)) == (False, 2 * MOST_LOSSES)


async def test_without_any_terminal_it_goes_on_showing_nothing(losing: Losing) -> None:
    await losing.show(b"kept")
    losing.stored.refuses = True
    await losing.kill()
    look = await within(losing.emulator.look())
    assert (look.lines, look.rows, look.cols) == (("",) * 24, 24, 80)
    assert losing.losses[0].ends == NONE_LEFT
    assert await within(losing.emulator.dump(scrollback_lines=0)) == b""
    await within(losing.emulator.resize(Size(3, 4)))
    assert await within(losing.emulator.feed(b"x")) == b""
    assert (losing.emulator.offset, losing.emulator.size) == (5, Size(3, 4))
    with pytest.raises(TerminalLost, match="no terminal"):
        await losing.emulator.snapshot()
    assert len(losing.losses) == 1


async def test_what_does_not_bear_its_size_is_replaced_by_an_empty_one(
    losing: Losing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_terminal: ApartTerminal, _rows: int, _cols: int) -> None:
        raise TerminalLost("crashed")

    losing.stored.size = Size(4, 20)
    await losing.kill()
    with monkeypatch.context() as patch:
        patch.setattr(ApartTerminal, "resize", fail)
        look = await within(losing.emulator.look())
    assert (look.rows, look.cols, losing.stored.opened) == (24, 80, [False, True])


async def test_who_is_cancelled_while_it_is_replaced_leaves_that_to_the_next(
    losing: Losing, monkeypatch: pytest.MonkeyPatch
) -> None:
    await losing.show(b"kept")
    gate, reached = asyncio.Event(), asyncio.Event()
    reopen = losing.stored.reopen

    async def slowly(size: Size, *, is_blank: bool) -> Reopened:
        reached.set()
        await gate.wait()
        return await reopen(size, is_blank=is_blank)

    monkeypatch.setattr(losing.emulator, "_reopen", slowly)
    await losing.kill()
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(losing.emulator.look())
        await within(reached.wait())
        looking.cancel()
        await asyncio.wait([looking])
        assert losing.losses == []
        gate.set()
        assert await losing.first_line() == "kept"
    assert len(losing.losses) == 1


async def test_who_is_cancelled_while_the_next_one_gets_its_size_leaves_no_process(
    losing: Losing, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def hang(_terminal: ApartTerminal, _rows: int, _cols: int) -> None:
        reached.set()
        await asyncio.Event().wait()

    losing.stored.size = Size(4, 20)
    await losing.kill()
    monkeypatch.setattr(ApartTerminal, "resize", hang)
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(losing.emulator.look())
        await within(reached.wait())
        looking.cancel()
    assert all(terminal.is_lost for terminal in terminals._open)


async def test_a_closed_one_opens_none_in_its_place(
    losing: Losing, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    reopen = losing.stored.reopen

    async def close_meanwhile(size: Size, *, is_blank: bool) -> Reopened:
        reopened = await reopen(size, is_blank=is_blank)
        losing.emulator.close()
        return reopened

    monkeypatch.setattr(losing.emulator, "_reopen", close_meanwhile)
    await losing.kill()
    with pytest.raises(TerminalLost, match="closed"):
        await losing.emulator.look()
    losing.emulator.close()
    for request in (losing.emulator.feed(b"x"), losing.emulator.look(), losing.emulator.snapshot()):
        with pytest.raises(TerminalLost, match="closed"):
            await request
    assert losing.losses == []
    assert all(terminal.is_lost for terminal in terminals._open)
