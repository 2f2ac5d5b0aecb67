"""A call is read row by row, and what is folded in it can be found and unfolded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from textual.pilot import Pilot

from cloche_tui.model.call_text import CallLine, call_lines
from cloche_tui.model.roles import Span
from cloche_tui.widgets.call_view import CallView
from tests.tui.support import HostApp, screen_text

LONG = {"a": "x" * 500, "b": 1, "c": "y" * 500}


def host() -> tuple[HostApp, CallView]:
    view = CallView()
    app = HostApp(view)
    app.listens_to = (CallView.FoldAsked,)
    return app, view


def asked(app: HostApp) -> list[Any]:
    return [message.path for message in app.heard if isinstance(message, CallView.FoldAsked)]


async def test_lines_that_do_not_fit_go_on_below_indented() -> None:
    app, view = host()
    async with app.run_test(size=(20, 8)) as pilot:
        view.show(call_lines("pay.send", {"to": "abcdefghijklmnop"}))
        await pilot.pause()
        assert screen_text(app).rstrip() == 'pay.send({\n  "to": "abcdefghij\n    klmnop"\n})'


async def test_another_width_makes_other_rows() -> None:
    app, view = host()
    async with app.run_test(size=(20, 8)) as pilot:
        view.show(call_lines("pay.send", {"to": "abcdefghijklmnop"}))
        await pilot.resize_terminal(60, 8)
        await pilot.pause()
        assert screen_text(app).rstrip() == 'pay.send({\n  "to": "abcdefghijklmnop"\n})'


async def test_the_cursor_finds_what_is_folded() -> None:
    app, view = host()
    async with app.run_test(size=(100, 8)) as pilot:
        view.show(call_lines("m", LONG))
        assert view.fold_here == ("a",)
        view.focus()
        await pilot.press("j")
        assert view.fold_here == ("a",)
        await pilot.press("down", "j")
        assert view.fold_here == ("c",)
        view.show(call_lines("m", LONG, toggled={("a",), ("c",)}))
        assert view.fold_here == ("c",)
        view.go_to_fold(("a",))
        assert view.fold_here == ("a",)


async def test_without_the_focus_what_is_folded_first_is_next() -> None:
    app, view = host()
    async with app.run_test(size=(100, 8)):
        view.screen.set_focus(None)
        for toggled, expected in (({("a",)}, ("c",)), ({("a",), ("c",)}, None)):
            view.show(call_lines("m", LONG, toggled=toggled))
            assert view.fold_here == expected


async def test_a_click_on_a_fold_asks_for_it_and_elsewhere_does_not() -> None:
    app, view = host()
    async with app.run_test(size=(100, 8)) as pilot:
        view.show(call_lines("m", LONG))
        await pilot.pause()
        await pilot.click(view, offset=(3, 2))
        await pilot.click(view, offset=(3, 3))
        await pilot.click(view, offset=(3, 7))
        await pilot.pause()
        assert asked(app) == [("c",)]


async def test_it_scrolls_with_its_cursor_and_another_call_begins_at_its_beginning() -> None:
    app, view = host()
    lines = [CallLine((Span(f"line {number}"),)) for number in range(100)]
    async with app.run_test(size=(40, 10)) as pilot:
        view.show(lines)
        view.focus()
        await pilot.press("end")
        assert "line 99" in screen_text(app)
        await pilot.press("pageup")
        assert view.scroll_offset.y == 90
        await pilot.press("pageup", "k")
        assert screen_text(app).startswith("line 80\n")
        view.show(lines)
        await pilot.pause()
        assert screen_text(app).startswith("line 80\n")
        view.show(lines, is_other=True)
        await pilot.pause()
        assert screen_text(app).startswith("line 0\n")


async def test_an_empty_one_has_nothing_to_go_to() -> None:
    app, view = host()
    async with app.run_test(size=(40, 10)) as pilot:
        view.focus()
        await pilot.press("j", "home", "end")
        await pilot.click(view)
        assert view.fold_here is None


class Numbered:
    """Very many lines, and how many of them were asked for; the one before the last can be folded."""

    def __init__(self, most: int) -> None:
        self.most, self.asked = most, 0

    def lines(self) -> Iterator[CallLine]:
        for number in range(1, self.most + 1):
            self.asked = number
            yield CallLine((Span(f"line {number}"),), ("deep",) if number == self.most - 1 else None)


async def shows(text: str, pilot: Pilot[None]) -> None:
    async with asyncio.timeout(30):
        while not any(row.startswith(text) for row in screen_text(pilot.app).split("\n")):
            await pilot.pause()


async def test_of_very_many_lines_only_those_near_what_is_seen_are_made() -> None:
    app, view = host()
    many = Numbered(1_000_000)
    async with app.run_test(size=(40, 10)) as pilot:
        view.show(many.lines(), is_other=True)
        await pilot.pause()
        assert "line 1\n" in screen_text(app)
        assert many.asked <= 1001
        view.scroll_to(y=view.max_scroll_y, animate=False)
        await pilot.pause()
        assert "line 1000\n" in screen_text(app) + "\n"
        assert 1000 < many.asked <= 3003


async def test_the_end_of_very_many_lines_is_reached_with_keys_in_between_that_count() -> None:
    app, view = host()
    many = Numbered(20_000)
    async with app.run_test(size=(40, 10)) as pilot:
        view.show(many.lines(), is_other=True)
        view.focus()
        view.action_move(1_000_000)
        assert many.asked < 5000
        view.action_move(-1)
        await pilot.pause()
        assert many.asked < 8000
        await pilot.press("end")
        await shows("line 20000", pilot)
        assert many.asked == 20_000
        await pilot.press("home")
        assert view.scroll_offset.y == 0


async def test_what_is_folded_far_below_is_found() -> None:
    app, view = host()
    many = Numbered(20_000)
    async with app.run_test(size=(40, 10)) as pilot:
        view.focus()
        view.show(many.lines())
        view.go_to_fold(("deep",))
        await shows("line 19999", pilot)
        assert view.fold_here == ("deep",)
        view.show(many.lines())
        await shows("line 19999", pilot)
        view.go_to_fold(("nowhere",))
        await shows("line 19999", pilot)


async def test_another_width_makes_only_rows_that_are_seen_again() -> None:
    app, view = host()
    many = Numbered(1_000_000)
    async with app.run_test(size=(40, 10)) as pilot:
        view.show(many.lines(), is_other=True)
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert many.asked <= 1001
        assert "line 9\n" in screen_text(app)
