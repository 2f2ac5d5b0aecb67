"""Asking once more: no unless somebody means yes, and never by a key that was meant for something else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.model.guard import QUIET_S
from cloche_tui.model.roles import line
from tests.tui.support import HostApp, screen_text

LINES = [line("box ● running  2 open consoles"), line("db ✗ failed")]


class Asked:
    """A dialog that is open, and what it has answered."""

    def __init__(self, number: int | None) -> None:
        self.now = 100.0
        self.answers: list[bool | None] = []
        self.app = HostApp()
        self.dialog = Confirm("Destroy this?", LINES, verb="destroy", number=number, clock=lambda: self.now)
        self.pilot: Pilot[None]

    async def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def _asked(number: int | None = None) -> AsyncIterator[Asked]:
    asked = Asked(number)
    async with asked.app.run_test(size=(80, 24)) as asked.pilot:
        await asked.app.push_screen(asked.dialog, asked.answers.append)
        await asked.pilot.pause()
        yield asked


async def test_it_says_what_is_lost_and_what_the_keys_do() -> None:
    async with _asked() as asked:
        shown = screen_text(asked.app)
        for text in ("Destroy this?", "box ● running  2 open consoles", "db ✗ failed", "y means destroy"):
            assert text in shown


@pytest.mark.parametrize("key", ["y", "enter"])
async def test_a_key_that_comes_with_the_dialog_says_no_yes(key: str) -> None:
    async with _asked() as asked:
        if key == "enter":
            await asked.press("tab")
        asked.now += QUIET_S - 0.01
        await asked.press(key)
        assert asked.answers == []
        assert "keys wait a moment" in screen_text(asked.app)


async def test_a_key_that_is_held_down_says_no_yes_either() -> None:
    async with _asked() as asked:
        for _ in range(5):
            asked.now += QUIET_S - 0.1
            await asked.press("y")
        assert asked.answers == []
        asked.now += QUIET_S
        await asked.press("y")
        assert asked.answers == [True]


async def test_y_means_yes_after_a_moment() -> None:
    async with _asked() as asked:
        asked.now += QUIET_S
        await asked.press("y")
        assert asked.answers == [True]


@pytest.mark.parametrize("keys", [("enter",), ("n",), ("escape",), ("right", "left", "enter")])
async def test_no_is_what_enter_says_unless_somebody_goes_to_yes(keys: tuple[str, ...]) -> None:
    async with _asked() as asked:
        asked.now += QUIET_S
        await asked.press(*keys)
        assert asked.answers == [None]


async def test_yes_can_be_gone_to_and_clicked() -> None:
    async with _asked() as asked:
        asked.now += QUIET_S
        await asked.press("right", "enter")
        assert asked.answers == [True]
    async with _asked() as asked:
        asked.now += QUIET_S
        await asked.pilot.click("#yes")
        await asked.pilot.pause()
        assert asked.answers == [True]
    async with _asked() as asked:
        await asked.pilot.click("#no")
        await asked.pilot.pause()
        assert asked.answers == [None]


async def test_where_several_are_ended_their_number_is_typed() -> None:
    async with _asked(number=12) as asked:
        assert "type 12 and press enter to destroy them" in screen_text(asked.app)
        asked.now += QUIET_S
        await asked.press("y", "1", "enter")
        assert asked.answers == []
        assert "1 is not how many there are" in screen_text(asked.app)
        await asked.press("2", "enter")
        assert asked.answers == [True]


async def test_a_number_that_comes_with_the_dialog_is_held_back_too() -> None:
    async with _asked(number=2) as asked:
        await asked.press("2", "enter")
        assert asked.answers == []
        asked.now += QUIET_S
        await asked.press("enter")
        assert asked.answers == [True]


async def test_no_number_means_no() -> None:
    async with _asked(number=2) as asked:
        asked.now += QUIET_S
        await asked.press("enter")
        assert asked.answers == [None]


async def test_a_long_list_leaves_the_answer_in_sight() -> None:
    app = HostApp()
    dialog = Confirm("Destroy?", [line(f"box{number}") for number in range(40)], verb="destroy", number=40)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(dialog)
        await pilot.pause()
        assert "type 40 and press enter" in screen_text(app)


async def test_what_loses_nothing_does_not_look_as_if_it_did() -> None:
    app = HostApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for is_loss in (True, False):
            dialog = Confirm("Copy this?", LINES, verb="copy", is_loss=is_loss)
            app.push_screen(dialog)
            await pilot.pause()
            assert dialog.query_one("#yes", Button).variant == ("error" if is_loss else "primary")
            edge = dialog.query_one(".box").styles.border_top[1]
            assert edge.hex == app.theme_variables["error" if is_loss else "primary"].upper()
            app.pop_screen()
