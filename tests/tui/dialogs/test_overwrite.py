"""What is in the way of a copy: replaced only if somebody means it, and never by a key that was meant for something else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from cloche_tui.dialogs.overwrite import InTheWay, Overwrite
from cloche_tui.model.guard import QUIET_S
from cloche_tui.model.roles import line
from tests.tui.support import HostApp, screen_text


class Asked:
    """A dialog that is open, and what it has answered."""

    def __init__(self, others: int) -> None:
        self.now = 100.0
        self.answers: list[InTheWay | None] = []
        self.app = HostApp()
        self.dialog = Overwrite([line("  a.txt")], others=others, clock=lambda: self.now)
        self.pilot: Pilot[None]

    async def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def _asked(others: int = 2, *, rested: bool = True) -> AsyncIterator[Asked]:
    asked = Asked(others)
    async with asked.app.run_test(size=(80, 24)) as asked.pilot:
        await asked.app.push_screen(asked.dialog, asked.answers.append)
        await asked.pilot.pause()
        asked.now += QUIET_S if rested else 0.0
        yield asked


async def test_it_says_what_is_in_the_way_and_what_the_keys_do() -> None:
    async with _asked() as asked:
        shown = screen_text(asked.app)
        assert "a.txt" in shown
        assert "r replaces it · s copies only the others · enter or esc copies nothing" in shown


@pytest.mark.parametrize(
    ("key", "answer"),
    [("r", InTheWay.REPLACE), ("s", InTheWay.SKIP), ("escape", None), ("enter", None)],
)
async def test_a_key_answers(key: str, answer: InTheWay | None) -> None:
    async with _asked() as asked:
        await asked.press(key)
        assert asked.answers == [answer]


async def test_the_buttons_answer_too() -> None:
    async with _asked() as asked:
        await asked.press("right", "right", "left", "enter")
        assert asked.answers == [InTheWay.SKIP]


async def test_where_there_is_nothing_else_nothing_is_skipped() -> None:
    async with _asked(others=0) as asked:
        assert "Skip" not in screen_text(asked.app)
        await asked.press("s")
        assert asked.answers == []
        await asked.press("r")
        assert asked.answers == [InTheWay.REPLACE]


async def test_a_key_that_was_typed_before_it_came_replaces_nothing() -> None:
    async with _asked(rested=False) as asked:
        await asked.press("r")
        assert asked.answers == []
        assert "keys wait a moment" in screen_text(asked.app)
        asked.now += QUIET_S
        await asked.press("r")
        assert asked.answers == [InTheWay.REPLACE]
