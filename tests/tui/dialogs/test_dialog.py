"""What all dialogs have in common: a heading, a line that says something, the keys, and escape."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Input

from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.roles import Role
from tests.tui.support import HostApp, screen_text


class Question(Dialog[str]):
    """A dialog with a line to type in."""

    heading = "A question"
    keys = "enter answers · esc leaves"

    def compose_body(self) -> Iterable[Widget]:
        yield Input()


async def test_a_dialog_says_what_it_is_and_what_its_keys_do() -> None:
    app = HostApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(Question())
        await pilot.pause()
        shown = screen_text(app)
        assert "A question" in shown
        assert "enter answers · esc leaves" in shown


async def test_a_heading_is_text_and_no_markup() -> None:
    app, dialog = HostApp(), Question()
    dialog.heading = "Remove [@click=app.quit]x[/]\x1b[2J?"
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(dialog)
        await pilot.pause()
        assert r"Remove [@click=app.quit]x[/]\x1b[2J?" in screen_text(app)


async def test_what_is_said_is_one_line_of_text_and_no_markup() -> None:
    app, dialog = HostApp(), Question()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(dialog)
        dialog.say("no such [b]recipe[/b]\n\x1b[2J", Role.BAD)
        await pilot.pause()
        assert "no such [b]recipe[/b] \\x1b[2J" in screen_text(app)


async def test_escape_leaves_it_with_no_answer_even_while_somebody_types() -> None:
    app, answers = HostApp(), list[str | None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(Question(), answers.append)
        await pilot.press("a", "escape")
        await pilot.pause()
        assert answers == [None]


async def test_it_fits_on_a_narrow_screen() -> None:
    app = HostApp()
    async with app.run_test(size=(40, 10)) as pilot:
        await app.push_screen(Question())
        await pilot.pause()
        assert all(len(row) <= 40 for row in screen_text(app).splitlines())
        assert "esc leaves" in screen_text(app)
