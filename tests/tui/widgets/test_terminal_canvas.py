"""A console on the screen: what is shown of it, and when."""

from __future__ import annotations

import asyncio

import pytest
from textual.screen import ModalScreen, Screen

from cloche_term.apart.terminals import Terminals
from cloche_tui.widgets import terminal_canvas, terminal_pace
from cloche_tui.widgets.terminal_canvas import TerminalCanvas
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.widgets.console_on_screen import console_on_screen, lines


class TestShowing:
    """What is on the screen is what the console shows."""

    async def test_what_a_program_writes_is_shown(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("hello 日本\r\n\x1b[1;31mred")
            await shown.shows("hello 日本\nred")

    async def test_only_rows_that_changed_are_drawn_anew(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed(lines(1, 6))
            await shown.shows("line 6")
            before = dict(shown.view._strips)
            await shown.feed("\x1b[3;1Hother \x1b[6;7H")
            await shown.shows("other")
            kept = [y for y, strip in shown.view._strips.items() if before.get(y) is strip]
            assert kept == [0, 1, 3, 4, 5]

    async def test_in_a_larger_room_it_has_a_border(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=2, cols=10, room=(4, 14)) as shown:
            await shown.feed("hello")
            await shown.shows("hello     │\n          │\n──────────┘")

    async def test_in_a_smaller_room_the_part_with_the_cursor_is_shown(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=8, cols=20, room=(3, 8)) as shown:
            await shown.feed(lines(1, 8))
            await shown.shows("line 6\nline 7\nline 8")
            await shown.feed("\x1b[2;15Hx")
            await shown.until(lambda: (shown.view.window.top, shown.view.window.left) == (1, 8))

    async def test_a_console_of_another_size_is_shown_whole(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=6, cols=20) as shown:
            await shown.feed("one\r\ntwo")
            await shown.shows("one\ntwo")
            await shown.terminal.resize(3, 10)
            shown.view.touch()
            await shown.shows("one       │\ntwo       │\n          │\n──────────┘")

    async def test_the_room_there_is_is_told_once_it_lasts(
        self, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with console_on_screen(terminals, rows=6, cols=20) as shown:
            await shown.until(lambda: bool(shown.told(TerminalView.Fitted)))
            assert shown.told(TerminalView.Fitted) == [TerminalView.Fitted(6, 20)]
            # Longer than the person takes to go on.
            monkeypatch.setattr(terminal_canvas, "_FIT_AFTER_S", 0.5)
            for width in (30, 40, 50):
                await shown.pilot.resize_terminal(width, 10)
            await shown.until(lambda: shown.told(TerminalView.Fitted)[-1] == TerminalView.Fitted(10, 50))
            assert len(shown.told(TerminalView.Fitted)) == 2
            assert shown.view.room == (10, 50)


class TestUpdatesUnderWay:
    """Mode 2026."""

    async def test_half_an_update_is_not_shown(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("before")
            await shown.shows("before")
            await shown.feed("\x1b[?2026h\rhalf  ")
            await shown.until(lambda: shown.view.picture.modes.is_held)
            assert "before" in shown.text
            await shown.feed("\rwhole \x1b[?2026l")
            await shown.shows("whole")

    async def test_an_update_that_does_not_end_is_shown_after_all(
        self, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(terminal_pace, "MOST_HELD_S", 0.05)
        async with console_on_screen(terminals) as shown:
            await shown.feed("\x1b[?2026hhalf")
            await shown.shows("half")
            assert shown.view.picture.modes.is_held


class TestBeingSeen:
    """What nobody sees is not painted."""

    async def test_one_that_nobody_told_it_is_seen_again_is_painted_all_the_same(
        self, terminals: Terminals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.display = False
            await shown.until(lambda: not shown.view.is_seen)
            await shown.feed("came meanwhile")
            await shown.until(lambda: not shown.view._touched.is_set())
            # As Textual does where somebody looks at the layout between its change and its being drawn.
            monkeypatch.setattr(TerminalCanvas, "on_show", lambda _view: None)
            shown.view.display = True
            await shown.until(lambda: shown.view.is_seen)
            await shown.pilot.pause(0.05)
            assert "came meanwhile" not in shown.text
            shown.view.look_after()
            await shown.shows("came meanwhile")

    async def test_a_hidden_console_is_not_painted_until_it_is_seen_again(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.display = False
            await shown.until(lambda: not shown.view.is_seen)
            painted = shown.terminal._painted
            await shown.feed("hidden")
            await shown.until(lambda: not shown.view._touched.is_set())
            assert shown.terminal._painted == painted
            shown.view.display = True
            await shown.shows("hidden")

    async def test_behind_a_dialog_it_goes_on_and_behind_another_screen_it_does_not(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.host.push_screen(ModalScreen())
            seen = [shown.view.is_seen]
            await shown.host.push_screen(Screen())
            seen.append(shown.view.is_seen)
            assert seen == [True, False]
            await shown.feed("behind")
            await shown.host.pop_screen()
            await shown.until(lambda: "behind" in str(shown.view.picture.runs(0)))

    async def test_a_lost_terminal_leaves_what_was_shown_until_there_is_another(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("before")
            await shown.shows("before")
            shown.terminal.kill()
            shown.view.touch()
            shown.view.scroll_console(-1)
            await shown.until(lambda: shown.view.errands.is_idle)
            assert await shown.view.search("before") == 0
            assert "before" in shown.text
            other = await terminals.open(6, 20)
            await other.feed(b"after")
            shown.view.attach(other)
            await shown.shows("after")
            assert shown.view.terminal is other
            assert "before" not in shown.text

    async def test_a_terminal_that_somebody_has_painted_before_is_shown_whole(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            other = await terminals.open(6, 20)
            await other.feed(b"all of it")
            await other.paint()
            shown.view.attach(other)
            await shown.shows("all of it")

    async def test_a_painting_of_a_terminal_that_is_not_shown_any_more_is_not_taken(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            other = await terminals.open(6, 20)
            await other.feed(b"the other")
            await other.paint()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(shown.terminal.feed(b"the first\r\n" * 500_000))
                shown.view.touch()
                # What it shows is asked for, and comes when it has read all that.
                await shown.until(lambda: len(shown.terminal._calls._waiting) == 2)
                shown.view.attach(other)
            await shown.until(lambda: shown.text.strip() == "the other")

    async def test_what_was_shown_is_forgotten_before_another_console_comes(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("before")
            await shown.shows("before")
            shown.view.forget()
            await shown.until(lambda: "before" not in shown.text)
            assert shown.view.terminal is None

    async def test_without_a_terminal_nothing_happens(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("before")
            await shown.shows("before")
            shown.view.attach(None)
            shown.view.scroll_to_oldest()
            shown.view.scroll_to_newest()
            assert await shown.view.search("before") == 0
            assert await shown.view.text_of_selection() == ""
            assert "before" in shown.text


async def test_a_line_of_ours_takes_the_place_of_the_last_one_for_a_while(terminals: Terminals) -> None:
    async with console_on_screen(terminals, rows=3) as shown:
        await shown.feed(lines(1, 3))
        await shown.shows("line 3")
        shown.view.say_below("ours")
        await shown.shows("line 2\n ours")
        shown.view.say_below("")
        await shown.shows("line 2\nline 3")
