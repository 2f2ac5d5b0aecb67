"""A person selects text of a console, and has it on their clipboard."""

from __future__ import annotations

from textual import events

from cloche_term.apart.terminals import Terminals
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.widgets.console_on_screen import console_on_screen, drag, looks, mouse


class TestSelecting:
    """What is selected is marked, and copied when the button goes up."""

    async def test_a_drag_marks_and_copies_whole_wide_characters(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("a日本b\r\n")
            await shown.shows("a日本b")
            await drag(shown, (2, 0), (3, 0))
            await shown.until(lambda: [copied.text for copied in shown.told(TerminalView.Copied)] == ["日本"])
            assert shown.host.clipboard == "日本"
            turned = [one.text for one in shown.view.render_line(0) if one.style and one.style.reverse]
            assert turned == ["日本"]

    async def test_two_presses_copy_a_word_and_three_a_line(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("cat /etc/os-release")
            await shown.shows("cat")
            for _ in range(3):
                await drag(shown, (7, 0), (7, 0))
            await shown.until(lambda: len(shown.told(TerminalView.Copied)) == 2)
            assert [copied.text for copied in shown.told(TerminalView.Copied)] == [
                "/etc/os-release",
                "cat /etc/os-release",
            ]

    async def test_a_press_selects_nothing_and_takes_the_selection_away(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("hello")
            await shown.shows("hello")
            await drag(shown, (0, 0), (4, 0))
            assert shown.view.selected is not None
            await drag(shown, (9, 2), (9, 2))
            assert shown.view.selected is None

    async def test_it_stays_on_its_text_and_goes_when_that_does(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed("one\r\ntwo\r\nthree")
            await shown.shows("three")
            await drag(shown, (0, 2), (4, 2))
            await shown.feed("\r\nfour\r\nfive")
            await shown.shows("five")
            assert looks(shown, 0, 0) == ("t", True, False)
            shown.view.copy()
            await shown.until(lambda: len(shown.told(TerminalView.Copied)) == 2)
            assert shown.told(TerminalView.Copied)[1].text == "three"
            await shown.feed("\x1b[1;1HTHREE")
            await shown.until(lambda: shown.view.selected is None)

    async def test_its_mark_moves_with_it_also_over_lines_that_look_the_same(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed("\x1b[?25lyes\r\nyes\r\nyes")
            await shown.until(lambda: shown.text == "yes\nyes\nyes")
            await drag(shown, (0, 2), (2, 2))
            assert [looks(shown, y, 0)[1] for y in range(3)] == [False, False, True]
            await shown.feed("\r\nyes")
            await shown.until(lambda: [looks(shown, y, 0)[1] for y in range(3)] == [False, True, False])

    async def test_it_goes_when_the_console_gets_another_size(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("hello")
            await shown.shows("hello")
            await drag(shown, (0, 0), (4, 0))
            await shown.terminal.resize(6, 10)
            shown.view.touch()
            await shown.until(lambda: shown.view.selected is None)

    async def test_a_drag_beyond_the_view_goes_on_through_older_lines(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed("\r\n".join(map(str, range(20))))
            await shown.shows("19")
            await mouse(shown, events.MouseDown, 1, 2, 1)
            await mouse(shown, events.MouseMove, 0, -1, 1)
            await shown.until(lambda: shown.view.selected is not None and shown.view.selected.start.line < 10)
            await mouse(shown, events.MouseMove, 0, 1, 1)
            await mouse(shown, events.MouseUp, 0, 0, 1)
            await shown.until(lambda: bool(shown.told(TerminalView.Copied)))
            copied = shown.told(TerminalView.Copied)[0].text.splitlines()
            assert copied[-1] == "19"
            assert copied == [str(number) for number in range(int(copied[0][:2]), 20)]

    async def test_without_a_selection_all_that_is_shown_is_copied(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("one\r\ntwo")
            await shown.shows("two")
            shown.view.copy()
            await shown.until(
                lambda: [copied.text for copied in shown.told(TerminalView.Copied)] == ["one\ntwo"]
            )

    async def test_what_a_program_puts_on_a_clipboard_does_not_get_to_the_persons(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("\x1b]52;c;aGVsbG8=\x07done")
            await shown.shows("done")
            assert shown.host.clipboard == ""
