"""A person in front of a console: typing, pointing, copying."""

from __future__ import annotations

from textual import events
from textual.screen import ModalScreen
from textual.widgets import Input

from cloche_term.apart.terminals import Terminals
from cloche_tui.widgets.terminal_strips import Mark
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.widgets.console_on_screen import console_on_screen, drag, looks, mouse

SGR = "\x1b[?1006h"


class TestDriving:
    """Keys go into the console until the way out is taken."""

    async def test_keys_are_typed_as_the_program_expects_them(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.pilot.press("a", "ctrl+c", "up", "escape", "é", "q")
            await shown.until(lambda: shown.typed == b"a\x03\x1b[A\x1b\xc3\xa9q")
            await shown.feed("\x1b[?1h")
            await shown.until(lambda: shown.view.picture.modes.application_cursor)
            await shown.pilot.press("up")
            await shown.until(lambda: shown.typed.endswith(b"\x1bOA"))

    async def test_nothing_is_typed_by_who_only_watches(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.pilot.press("a")
            shown.host.post_message(events.Paste("pasted"))
            await shown.pilot.pause()
            await shown.until(lambda: shown.view.errands.is_idle)
            assert shown.typed == b""
            assert not shown.view.is_driving

    async def test_the_way_out_ends_it_and_the_next_key_is_the_dashboards(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            shown.view.drive()
            await shown.pilot.press("a", "ctrl+right_square_bracket", "b")
            await shown.until(lambda: bool(shown.told(TerminalView.Released)))
            assert shown.typed == b"a"
            assert not shown.view.is_driving
            assert not shown.told(TerminalView.DriveAgain)

    async def test_the_way_out_twice_at_once_types_its_key_and_goes_on(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.pilot.press("ctrl+right_square_bracket", "ctrl+right_square_bracket", "a")
            await shown.until(lambda: shown.typed == b"\x1da")
            assert shown.view.is_driving
            assert len(shown.told(TerminalView.DriveAgain)) == 1

    async def test_who_releases_it_is_not_told(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            shown.view.release()
            shown.view.release()
            await shown.pilot.press("a")
            assert shown.typed == b""
            assert not shown.told(TerminalView.Released)

    async def test_a_paste_is_marked_if_the_program_asked_for_it_and_stays_before_what_is_typed_next(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("\x1b[?2004h")
            shown.view.drive()
            shown.host.post_message(events.Paste("one\ntwo\x1b[201~"))
            await shown.pilot.pause()
            shown.view.take_bytes(b"x")
            await shown.until(lambda: shown.typed.endswith(b"x"))
            assert shown.typed.startswith(b"\x1b[200~one")
            assert shown.typed.count(b"\x1b[201~") == 1

    async def test_typing_goes_back_to_the_console_s_end(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed("\r\n".join(map(str, range(20))))
            await shown.shows("19")
            shown.view.drive()
            shown.view.scroll_console(-5)
            await shown.shows("14")
            await shown.pilot.press("a")
            await shown.shows("19")
            shown.view.scroll_console(-5)
            await shown.shows("14")
            shown.view.take_bytes(b"a")
            await shown.shows("19")

    async def test_the_focus_is_told_to_a_program_that_asked(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("\x1b[?1004h")
            await shown.until(lambda: shown.view.picture.modes.focus_events)
            shown.view.drive()
            await shown.until(lambda: shown.typed == b"\x1b[I")
            shown.host.post_message(events.AppBlur())
            await shown.until(lambda: shown.typed == b"\x1b[I\x1b[O")
            assert shown.view.is_driving
            shown.host.post_message(events.AppFocus())
            await shown.until(lambda: shown.typed == b"\x1b[I\x1b[O\x1b[I")
            shown.view.release()
            await shown.until(lambda: shown.typed == b"\x1b[I\x1b[O\x1b[I\x1b[O")

    async def test_another_widget_that_gets_the_focus_ends_it(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, room=(10, 20)) as shown:
            other = Input()
            await shown.host.mount(other)
            shown.view.drive()
            await shown.pilot.pause()
            other.focus()
            await shown.until(lambda: bool(shown.told(TerminalView.Released)))
            assert not shown.view.is_driving

    async def test_a_dialog_ends_it_and_gets_the_keys(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.host.push_screen(ModalScreen())
            await shown.until(lambda: not shown.view.is_driving)
            await shown.pilot.press("a")
            assert shown.typed == b""

    async def test_a_console_that_is_not_seen_any_more_is_not_typed_into(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            shown.view.display = False
            await shown.until(lambda: not shown.view.is_driving)

    async def test_a_view_that_is_removed_gives_the_keyboard_back(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.view.remove()
            assert not shown.view.is_driving


class TestTheCursor:
    """As the program wants it for who drives; else a line."""

    async def test_a_block_an_underline_and_a_bar_look_different(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("ab\r")
            await shown.shows("ab")
            assert looks(shown, 0, 0) == ("a", False, True)
            shown.view.drive()
            await shown.until(lambda: looks(shown, 0, 0) == ("a", True, False))
            await shown.feed("\x1b[4 q")
            await shown.until(lambda: looks(shown, 0, 0) == ("a", False, True))
            await shown.feed("\x1b[6 q")
            await shown.until(lambda: shown.view.cursor_mark() is Mark.CURSOR_BAR)
            await shown.feed("\x1b[?25l")
            await shown.until(lambda: looks(shown, 0, 0) == ("a", False, False))

    async def test_it_moves_with_what_is_written(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.feed("ab")
            await shown.until(lambda: looks(shown, 0, 2) == (" ", True, False))
            await shown.feed("\x1b[3;5H")
            await shown.until(lambda: looks(shown, 2, 4) == (" ", True, False))
            assert looks(shown, 0, 2) == (" ", False, False)

    async def test_input_methods_are_shown_where_it_is(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            shown.view.drive()
            await shown.feed("\x1b[3;5H")
            await shown.until(lambda: tuple(shown.host.cursor_position) == (4, 2))


class TestTheMouse:
    """Is the program's if it wants to know, and whoever drives does not hold shift."""

    async def test_a_program_that_tracks_it_is_told(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed(f"\x1b[?1002h{SGR}")
            await shown.until(lambda: shown.view.picture.modes.mouse != "off")
            shown.view.drive()
            await drag(shown, (2, 1), (4, 2))
            await mouse(shown, events.MouseScrollUp, 4, 2)
            await shown.until(lambda: shown.typed == b"\x1b[<0;3;2M\x1b[<32;5;3M\x1b[<0;5;3m\x1b[<64;5;3M")
            await mouse(shown, events.MouseMove, 1, 1)
            await shown.until(lambda: shown.view.errands.is_idle)
            assert shown.typed.endswith(b"\x1b[<64;5;3M")
            assert shown.view.selected is None

    async def test_a_move_within_a_cell_is_none(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed(f"\x1b[?1003h{SGR}")
            await shown.until(lambda: shown.view.picture.modes.mouse != "off")
            shown.view.drive()
            for x in (2, 2, 3):
                await mouse(shown, events.MouseMove, x, 1)
            await shown.until(lambda: shown.typed == b"\x1b[<35;3;2M\x1b[<35;4;2M")

    async def test_a_release_is_told_also_beside_the_console(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3, cols=10, room=(6, 20)) as shown:
            await shown.feed(f"\x1b[?1000h{SGR}")
            await shown.until(lambda: shown.view.picture.modes.mouse != "off")
            shown.view.drive()
            await mouse(shown, events.MouseDown, 15, 5, 2)
            await mouse(shown, events.MouseUp, 15, 5, 2)
            await mouse(shown, events.MouseDown, 2, 1, 1)
            await mouse(shown, events.MouseUp, 15, 5, 1)
            await shown.until(lambda: shown.typed == b"\x1b[<0;3;2M\x1b[<0;10;3m")

    async def test_with_shift_and_for_who_watches_it_selects(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed(f"hello world\x1b[?1003h{SGR}")
            await shown.shows("hello world")
            await drag(shown, (0, 0), (4, 0))
            await shown.until(
                lambda: [copied.text for copied in shown.told(TerminalView.Copied)] == ["hello"]
            )
            shown.view.drive()
            await drag(shown, (6, 0), (10, 0), shift=True)
            await shown.until(lambda: len(shown.told(TerminalView.Copied)) == 2)
            assert shown.told(TerminalView.Copied)[1].text == "world"
            assert shown.typed == b""

    async def test_the_wheel_shows_older_lines(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, rows=3) as shown:
            await shown.feed("\r\n".join(map(str, range(20))))
            await shown.shows("19")
            await mouse(shown, events.MouseScrollUp, 1, 1)
            await shown.shows("14\n15\n16")
            await mouse(shown, events.MouseScrollDown, 1, 1)
            await shown.shows("19")
            await mouse(shown, events.MouseScrollLeft, 1, 1)
            await mouse(shown, events.MouseScrollRight, 1, 1)
            assert shown.view.is_at_end

    async def test_the_wheel_is_keys_in_a_program_without_scrollback(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals) as shown:
            await shown.feed("\x1b[?1049h\x1b[?1007h")
            await shown.until(lambda: shown.view.picture.modes.is_alternate)
            await mouse(shown, events.MouseScrollUp, 1, 1)
            assert shown.typed == b""
            shown.view.drive()
            await mouse(shown, events.MouseScrollUp, 1, 1)
            await mouse(shown, events.MouseScrollDown, 1, 1)
            await shown.until(lambda: shown.typed == b"\x1b[A" * 3 + b"\x1b[B" * 3)


class TestLinks:
    """Are shown and copied, and never opened."""

    LINK = "see \x1b]8;;https://example.org/x\x1b\\here\x1b]8;;\x1b\\ now"

    async def test_where_a_link_leads_is_shown_while_the_pointer_is_on_it(self, terminals: Terminals) -> None:
        async with console_on_screen(terminals, cols=30) as shown:
            await shown.feed(self.LINK)
            await shown.shows("see here now")
            await mouse(shown, events.MouseMove, 5, 0)
            await shown.shows("https://example.org/x")
            await mouse(shown, events.MouseMove, 0, 0)
            await shown.until(lambda: "example" not in shown.text)
            await mouse(shown, events.MouseMove, 5, 0)
            await shown.shows("https://example.org/x")
            shown.view.post_message(events.Leave(shown.view))
            await shown.until(lambda: "example" not in shown.text)

    async def test_ctrl_and_a_press_copies_it_also_while_the_program_tracks_the_mouse(
        self, terminals: Terminals
    ) -> None:
        async with console_on_screen(terminals, cols=30) as shown:
            await shown.feed(f"{self.LINK}\x1b[?1000h{SGR}")
            await shown.shows("see here now")
            shown.view.drive()
            await mouse(shown, events.MouseDown, 5, 0, 1, ctrl=True)
            await shown.until(lambda: bool(shown.told(TerminalView.LinkAsked)))
            assert (
                shown.told(TerminalView.LinkAsked)[0].url == shown.host.clipboard == "https://example.org/x"
            )
            assert shown.typed == b""
