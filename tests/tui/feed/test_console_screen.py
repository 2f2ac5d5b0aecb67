"""What a console shows, in real emulators apart: in order, bounded, and again after an emulator is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import pytest

from cloche.console_events import Live, Output, Resized, ScreenBegins
from cloche_term.apart.frames import Look
from cloche_term.apart.terminals import ApartTerminal, Terminals
from cloche_tui.feed import console_screen
from cloche_tui.feed.console_screen import MOST_WAITING, ConsoleScreen, TerminalGivenUp
from cloche_tui.model.clipboard import CopyRequest
from tests.support.hub import until, within

SIZE = ScreenBegins(5, 20, 0)


class _Screen:
    """A screen at work.

    Attributes:
        touches: how often it may have looked different.
        refreshed: how often the hub was asked for it.
    """

    def __init__(self, terminals: Terminals) -> None:
        self.touches = self.refreshed = 0
        self.screen = ConsoleScreen(terminals, on_touch=self._touched, refresh=self._refresh)

    def _touched(self) -> None:
        self.touches += 1

    async def _refresh(self) -> None:
        self.refreshed += 1

    @property
    def terminal(self) -> ApartTerminal:
        assert self.screen.terminal is not None
        return self.screen.terminal

    async def show(self, *events: console_screen.ScreenEvent) -> None:
        """Puts events, and waits until they are in the terminal."""
        for event in events:
            await within(self.screen.put(event))
        await within(self.screen.wait_shown())

    async def text(self) -> list[str]:
        """The rows that are not blank."""
        return [line for line in (await self.terminal.look()).lines if line]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.screen.run())
            yield
            running.cancel()
        self.screen.close()


@pytest.fixture
async def shown(terminals: Terminals) -> _Screen:
    return _Screen(terminals)


async def test_a_terminal_that_is_there_only_after_the_end_is_ended(
    terminals: Terminals, shown: _Screen
) -> None:
    async with shown.running():
        await shown.screen.put(SIZE)
        # The first one is on its way.
        await until(lambda: not shown.screen._waiting)
        shown.screen.close()
        await within(shown.screen.wait_shown())
        assert shown.screen.terminal is None
        assert len(terminals._open) == 1
        await until(lambda: all(one.has_ended for one in terminals._open))


async def test_a_screen_is_shown_when_it_is_whole_and_then_as_it_changes(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"half"))
        assert (shown.screen.terminal, shown.touches) == (None, 0)
        await shown.show(Output(b" whole"), Live(10))
        assert (await shown.text(), shown.touches) == (["half whole"], 1)
        await shown.show(Output(b"\r\nmore"), Resized(6, 30))
        assert (shown.terminal.state.rows, shown.terminal.state.cols) == (6, 30)
        assert await shown.text() == ["half whole", "more"]
    assert shown.screen.terminal is None


async def test_what_is_asked_for_when_it_may_look_different_has_what_made_it_so(terminals: Terminals) -> None:
    looks: list[asyncio.Task[Look]] = []

    class Looking(_Screen):
        def _touched(self) -> None:
            looks.append(tasks.create_task(self.terminal.look()))

    shown = Looking(terminals)
    async with asyncio.TaskGroup() as tasks, shown.running():
        await shown.show(SIZE, Live(0))
        before = len(looks)
        await shown.show(Output(b"typed"))
        assert len(looks) == before + 1
        assert (await looks[-1]).lines[0] == "typed"


async def test_a_new_title_is_told_when_it_is_known(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Live(0))
        before = shown.touches
        await shown.show(Output(b"\x1b]2;of mine\x07"))
        assert (shown.terminal.state.title, shown.touches) == ("of mine", before + 2)


async def test_output_that_waits_is_fed_in_one_piece(shown: _Screen) -> None:
    for event in (SIZE, Live(0), Output(b"a"), Output(b"b"), Output(b"c")):
        await shown.screen.put(event)
    async with shown.running():
        await within(shown.screen.wait_shown())
        assert (await shown.text(), shown.touches) == (["abc"], 2)


async def test_a_screen_that_begins_anew_takes_the_place_of_the_other_without_a_gap(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"old"), Live(3))
        old = shown.terminal
        await shown.show(ScreenBegins(7, 30, 100), Output(b"new"))
        assert shown.terminal is old
        assert await shown.text() == ["old"]
        await shown.show(Live(3))
        assert await shown.text() == ["new"]
        await until(lambda: old.has_ended)


async def test_a_screen_that_is_being_read_stays_until_it_is_not(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"old"), Live(3))
        old, shown.screen.is_held = shown.terminal, True
        await shown.show(SIZE, Output(b"never seen"), Live(3))
        await shown.show(SIZE, Output(b"new"), Live(3), Output(b"er"))
        assert (shown.terminal, await shown.text()) == (old, ["old"])
        touches = shown.touches
        shown.screen.is_held = False
        assert (await shown.text(), shown.touches) == (["newer"], touches + 1)


async def test_what_is_put_waits_while_too_much_is_on_its_way(shown: _Screen) -> None:
    await shown.screen.put(SIZE)
    await shown.screen.put(Live(0))
    await shown.screen.put(Output(b"x" * MOST_WAITING))
    async with asyncio.TaskGroup() as tasks:
        putting = tasks.create_task(shown.screen.put(Output(b"last")))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not putting.done()
        async with shown.running():
            await within(asyncio.wait({putting}))
            await within(shown.screen.wait_shown())
            assert (await shown.text())[-1].endswith("xxlast")


@pytest.mark.parametrize(("is_on_screen", "pause_s"), [(True, 1 / 30), (False, 1 / 5)])
async def test_a_flood_leaves_time_to_others_and_more_of_it_if_nobody_sees_it(
    shown: _Screen, is_on_screen: bool, pause_s: float
) -> None:
    clock = asyncio.get_running_loop().time
    async with shown.running():
        await shown.show(SIZE, Live(0))
        shown.screen.is_on_screen = is_on_screen
        began = clock()
        await shown.show(Output(b"x" * MOST_WAITING), Output(b"y"))
        assert clock() - began >= pause_s


async def test_what_comes_of_an_attachment_that_is_gone_is_not_shown(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"old"), Live(3))
        await shown.screen.put(Output(b"late"))
        shown.screen.forget()
        await shown.show(Output(b"later"), Resized(9, 9))
        assert await shown.text() == ["old"]
        assert shown.terminal.state.rows == 5
        await shown.show(SIZE, Output(b"new"), Live(3))
        assert await shown.text() == ["new"]


# What a program wants copied.

HELLO = b"\x1b]52;c;aGVsbG8=\x07"


async def test_what_a_program_wants_copied_counts_when_it_happens_and_not_in_what_a_screen_holds(
    shown: _Screen,
) -> None:
    now = asyncio.get_running_loop().time
    async with shown.running():
        await shown.show(SIZE, Output(HELLO), Live(3))
        assert shown.screen.copies.newest(now()) is None
        await shown.show(Output(HELLO[:9]))
        await shown.show(Output(HELLO[9:] + b"after"))
        assert shown.screen.copies.newest(now()) == CopyRequest("hello")
        assert await shown.text() == ["after"]


async def test_what_was_cut_by_a_new_screen_is_not_put_together(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Live(0), Output(HELLO[:9]))
        await shown.show(SIZE, Output(HELLO), Live(3), Output(HELLO[9:]))
        assert shown.screen.copies.newest(asyncio.get_running_loop().time()) is None


# An emulator is lost.


async def test_an_emulator_that_is_lost_is_opened_anew_with_a_fresh_screen(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"old"), Live(3))
        os.kill(shown.terminal.pid, signal.SIGKILL)
        await until(lambda: shown.terminal.is_lost)
        await shown.show(Output(b"lost"), Output(b"and this"))
        assert shown.refreshed == 1
        await shown.show(SIZE, Output(b"new"), Live(3))
        assert await shown.text() == ["new"]


async def test_one_that_is_lost_in_silence_is_found_by_who_looks(shown: _Screen) -> None:
    async with shown.running():
        await shown.screen.look_after()
        await shown.show(SIZE, Output(b"old"), Live(3))
        await shown.screen.look_after()
        assert shown.refreshed == 0
        os.kill(shown.terminal.pid, signal.SIGKILL)
        await until(lambda: shown.terminal.is_lost)
        await shown.screen.look_after()
        assert shown.refreshed == 1


async def test_a_lost_one_is_replaced_also_while_it_is_being_read(shown: _Screen) -> None:
    async with shown.running():
        await shown.show(SIZE, Output(b"old"), Live(3))
        shown.screen.is_held = True
        os.kill(shown.terminal.pid, signal.SIGKILL)
        await until(lambda: shown.terminal.is_lost)
        await shown.screen.look_after()
        await shown.show(SIZE, Output(b"new"), Live(3))
        assert await shown.text() == ["new"]


async def test_what_ends_its_emulator_again_and_again_is_given_up(shown: _Screen) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await _end_emulators(shown)
    shown.screen.close()
    assert [type(error) for error in caught.value.exceptions] == [TerminalGivenUp]


async def _end_emulators(shown: _Screen) -> None:
    async with shown.running():
        for times in range(console_screen.MOST_LOSSES):
            await _end_emulator(shown)
            await until(lambda wanted=times: shown.refreshed > wanted)  # type: ignore[misc]
        await _end_emulator(shown)
        await asyncio.Event().wait()


async def _end_emulator(shown: _Screen) -> None:
    await shown.show(SIZE, Live(0))
    os.kill(shown.terminal.pid, signal.SIGKILL)
    await until(lambda: shown.terminal.is_lost)
    await shown.screen.put(Output(b"poison"))
