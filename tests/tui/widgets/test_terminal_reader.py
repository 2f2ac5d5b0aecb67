"""Reading older lines of a console, and finding a text in them."""

from __future__ import annotations

from cloche_term.apart.terminals import Terminals
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.support import screen_text
from tests.tui.widgets.console_on_screen import console_on_screen, lines


class TestScrolling:
    """Older lines."""

    async def test_it_stays_on_older_lines_whatever_is_written(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed(lines(1, 9))
            await shown.shows("line 9")
            shown.view.scroll_console(-4)
            await shown.shows("line 3\nline 4\nline 5")
            await shown.feed("\r\n" + lines(10, 12))
            await shown.until(lambda: shown.view.picture.first_line == 9)
            assert "line 3\nline 4\nline 5" in shown.text
            assert not shown.view.is_at_end
            shown.view.scroll_console(2)
            await shown.shows("line 5\nline 6\nline 7")
            shown.view.scroll_to_newest()
            await shown.shows("line 12")
            told = [TerminalView.Scrolled(is_at_end=False), TerminalView.Scrolled(is_at_end=True)]
            await shown.until(lambda: shown.told(TerminalView.Scrolled) == told)

    async def test_turns_of_the_wheel_that_come_together_all_count(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed(lines(1, 9))
            await shown.shows("line 9")
            for _ in range(3):
                shown.view.scroll_console(-1)
            await shown.shows("line 4\nline 5\nline 6")

    async def test_it_goes_to_the_oldest_line(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed(lines(1, 9))
            await shown.shows("line 9")
            shown.view.scroll_to_oldest()
            await shown.shows("line 1\nline 2\nline 3")
            shown.view.scroll_console(100)
            await shown.shows("line 9")
            assert shown.view.is_at_end

    async def test_in_a_small_room_it_goes_through_the_console_before_what_is_above(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals, rows=5, room=(2, 20)) as shown:
            await shown.feed(lines(1, 9))
            await shown.shows("line 8\nline 9")
            shown.view.scroll_console(-2)
            await shown.shows("line 6\nline 7")
            assert not shown.view.is_at_end
            shown.view.scroll_console(-2)
            await shown.shows("line 4\nline 5")
            shown.view.scroll_to_newest()
            await shown.shows("line 8\nline 9")


class TestSearching:
    """A text in all lines."""

    async def test_the_newest_match_is_shown_and_others_by_going_there(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed(lines(1, 30))
            await shown.shows("line 30")
            assert await shown.view.search("LINE 1") == 11
            await shown.shows("line 19")
            for _ in range(10):
                shown.view.step_match(-1)
            await shown.shows("line 1\n")
            shown.view.step_match(-1)
            await shown.shows("line 19")
            assert shown.view.matches is not None
            assert (shown.view.matches.number, len(shown.view.matches)) == (1, 11)

    async def test_matches_are_marked_until_the_search_is_cleared(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("abc abc\x1b[4;1H")
            await shown.shows("abc abc")
            assert await shown.view.search("bc") == 2
            marked = [
                segment.text
                for segment in shown.view.render_line(0)
                if segment.style and segment.style.reverse
            ]
            assert marked == ["bc", "bc"]
            shown.view.clear_search()
            assert not any(segment.style and segment.style.reverse for segment in shown.view.render_line(0))

    async def test_nothing_found_shows_nothing_else(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("abc")
            await shown.shows("abc")
            assert await shown.view.search("xyz") == 0
            assert await shown.view.search("") == 0
            shown.view.step_match(1)
            assert "abc" in screen_text(shown.host)
