"""A choice among a few words, by keys and by clicks."""

from __future__ import annotations

from cloche_tui.widgets.choice import Choice
from tests.tui.support import HostApp, screen_text


async def test_keys_go_from_one_word_to_the_next_and_round() -> None:
    choice = Choice(("small", "medium", "large"))
    async with HostApp(choice).run_test(size=(40, 3)) as pilot:
        choice.focus()
        chosen = [choice.value]
        for key in ("right", "space", "down", "left"):
            await pilot.press(key)
            chosen.append(choice.value)
        assert chosen == ["small", "medium", "large", "small", "large"]


async def test_the_chosen_word_is_told_without_colours() -> None:
    choice = Choice(("small", "medium"))
    async with HostApp(choice).run_test(size=(40, 3)) as pilot:
        choice.index = 1
        await pilot.pause()
        assert screen_text(pilot.app).splitlines()[0] == " small  [medium]"


async def test_a_click_takes_the_word_under_it() -> None:
    choice = Choice(("small", "medium", "large"))
    async with HostApp(choice).run_test(size=(40, 3)) as pilot:
        await pilot.click(choice, offset=(10, 0))
        assert choice.value == "medium"
        await pilot.click(choice, offset=(35, 0))
        assert choice.value == "medium"
