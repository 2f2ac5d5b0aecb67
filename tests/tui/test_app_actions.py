"""What the app does itself: help, the palette, command lines, themes, pictures, keys in a file, the console it begins with."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

import pytest

from cloche_tui.app import DashboardApp
from cloche_tui.app_actions import Desk
from cloche_tui.frame import Options
from tests.tui.whole import whole_dashboard


def test_the_app_does_all_that_its_actions_need_of_it() -> None:
    needed = [name for name, value in vars(Desk).items() if _is_left_to_others(value)]
    assert {"begin_action", "view"} <= set(needed)
    assert [name for name in needed if name not in vars(DashboardApp)] == []


def _is_left_to_others(value: object) -> bool:
    function = value.fget if isinstance(value, property) else value
    return isinstance(function, FunctionType) and "NotImplementedError" in function.__code__.co_names


async def test_a_command_is_done_with_its_argument(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press(":", *"theme cloche-light", "enter")
        await desk.until_so(lambda: desk.app.theme == "cloche-light", "another theme")
        assert desk.app.remembered.get("theme", "") == "cloche-light"


async def test_help_shows_what_can_be_done_here_and_goes_with_any_key(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("?")
        await desk.until("What can be done here: sandboxes")
        await desk.press("n")
        await desk.until_gone("What can be done here")
        assert "Create" not in desk.text


async def test_the_command_line_that_does_the_same_is_shown(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",)) as desk:
        await desk.press("!")
        await desk.until("In a shell", "cloche rm box", "cloche attach --watch box")


async def test_the_palette_offers_what_can_be_done_and_does_it(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        await desk.press("ctrl+p")
        await desk.press(*"calls that wait")
        await desk.until("Show the calls that wait for a decision")
        await desk.press("enter")
        await desk.until("Nothing waits for a decision.")


async def test_the_screen_is_saved_as_a_picture_and_as_text(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path) as desk:
        for name in ("a.svg", "a.txt"):
            await desk.press(":", *f"screendump {tmp_path / name}", "enter")
            await desk.until(f"saved {tmp_path / name}"[:60])
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert "box" in (tmp_path / "a.txt").read_text()


async def test_a_picture_takes_no_file_s_place_and_a_path_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    async with whole_dashboard(tmp_path, size=(220, 30)) as desk:
        await desk.press(":", *f"screendump {tmp_path / 'a.txt'}", "enter")
        await desk.until("is there already")
        await desk.press(":", *"screendump ~nobody-of-this-name/a.txt", "enter")
        await desk.until("~nobody-of-this-name/a.txt cannot be written: No such file")
    assert (tmp_path / "a.txt").read_text() == "mine"


async def test_the_keys_are_written_to_a_file_that_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "keymap.toml"
    async with whole_dashboard(tmp_path, size=(220, 30)) as desk:
        await desk.press(":", *f"keymap {path}", "enter")
        await desk.until("wrote")
        await desk.press(":", *f"keymap {path}", "enter")
        await desk.until("is there already")
    assert 'sandbox.create = "n"' in path.read_text()


async def test_it_begins_with_the_console_that_was_asked_for_and_keeps_the_focus_where_it_began(
    tmp_path: Path,
) -> None:
    options = Options(console="box", view="approvals")
    async with whole_dashboard(tmp_path, options=options, size=(140, 30), view_text="Nothing waits") as desk:
        await desk.until("box")
        await desk.until_so(lambda: desk.app.consoles.display, "no console is shown")
        assert desk.app.view.has_focus_within


@pytest.mark.parametrize(
    ("size", "view", "is_beside"),
    [
        ((80, 24), "1", True), ((80, 24), "2", False), ((80, 24), "3", False), ((80, 24), "4", False),
        ((80, 40), "2", True), ((80, 40), "3", False),
        ((120, 30), "1", True), ((120, 30), "2", True), ((120, 30), "3", False), ((120, 30), "4", False),
        ((170, 30), "2", True), ((170, 30), "3", True), ((170, 30), "4", True),
    ],
)  # fmt: skip
async def test_consoles_stand_beside_a_list_only_where_it_can_be_read_and_come_when_they_are_gone_to(
    tmp_path: Path, size: tuple[int, int], view: str, is_beside: bool
) -> None:
    async with whole_dashboard(tmp_path, size=size) as desk:

        def is_shown() -> bool:
            return desk.app.consoles.region.area > 0

        await desk.press("enter")
        await desk.until("○ watching")
        await desk.press(view)
        await desk.until_so(lambda: not desk.app.consoles.has_focus_within, "the list has not the focus")
        await desk.until_so(lambda: is_shown() is is_beside, "the consoles stand where they should not")
        await desk.press("shift+tab")
        await desk.until_so(lambda: desk.app.consoles.has_focus_within and is_shown(), "no console is shown")
        await desk.press(":")
        await desk.pilot.pause()
        assert is_shown()
        await desk.press("escape", "escape")
        await desk.until_so(lambda: is_shown() is is_beside, "the consoles stand where they should not")


@pytest.mark.parametrize(
    ("console", "said"), [("nobody", "nobody"), ("box/9", "box has no open console '9'")]
)
async def test_a_console_that_is_not_there_is_said(tmp_path: Path, console: str, said: str) -> None:
    async with whole_dashboard(tmp_path, options=Options(console=console)) as desk:
        await desk.until(said)
