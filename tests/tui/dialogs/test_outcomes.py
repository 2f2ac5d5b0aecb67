"""What becomes of several things, each on its line."""

from __future__ import annotations

from cloche_tui.dialogs.outcomes import Outcomes
from tests.tui.support import HostApp, screen_text


async def test_each_thing_has_a_line_that_says_what_became_of_it() -> None:
    app, dialog = HostApp(), Outcomes("Destroying 3 sandboxes", {"sb_1": "web", "sb_2": "db", "sb_3": "[b]"})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(dialog)
        dialog.tell("sb_1", is_done=True, text="destroyed")
        dialog.tell("sb_2", is_done=False, text="it is being\nremoved already")
        await pilot.pause()
        shown = screen_text(app)
        for text in (
            "✓ web  destroyed",
            "✗ db  it is being removed already",
            "… [b]",
            "what was begun goes on",
        ):
            assert text in shown
        dialog.tell("sb_3", is_done=True, text="destroyed")
        await pilot.pause()
        assert "2 of 3 done" in screen_text(app)


async def test_what_is_known_before_it_is_shown_and_after_it_was_left_is_no_error() -> None:
    app, dialog = HostApp(), Outcomes("Destroying 2 sandboxes", {"sb_1": "web", "sb_2": "db"})
    async with app.run_test(size=(80, 24)) as pilot:
        dialog.tell("sb_1", is_done=True, text="destroyed")
        await app.push_screen(dialog)
        await pilot.pause()
        assert "✓ web  destroyed" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        dialog.tell("sb_2", is_done=True, text="destroyed")
        assert app.screen is not dialog


async def test_a_long_list_can_be_scrolled() -> None:
    names = {f"sb_{number}": f"box{number}" for number in range(40)}
    app, dialog = HostApp(), Outcomes("Destroying 40 sandboxes", names)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(dialog)
        await pilot.pause()
        assert "box39" not in screen_text(app)
        await pilot.press("end")
        await pilot.pause()
        await pilot.pause()
        assert "esc closes" in screen_text(app)
