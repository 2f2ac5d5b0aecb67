"""The help: what can be done here, by what it is about, until a key is pressed."""

from __future__ import annotations

import pytest

from cloche.filters import Fields, parse_filter
from cloche_tui.actions import ACTIONS, Place
from cloche_tui.views.help import HelpScreen
from tests.tui.support import HostApp, screen_text


def _help(place: Place = Place.APPROVALS) -> HelpScreen:
    there = [action for action in ACTIONS if place in action.places]
    return HelpScreen(place.value, there, {"help.show": ("f1",)}, while_driving="ctrl+] leaves")


async def test_the_actions_of_a_place_stand_with_their_keys_and_commands() -> None:
    host = HostApp()
    async with host.run_test(size=(100, 60)) as pilot:
        await host.push_screen(_help())
        await pilot.pause()
        shown = screen_text(host)
    assert "What can be done here: approvals" in shown
    lines = [" ".join(line.strip(" │").split()) for line in shown.splitlines()]
    assert "a Approve this call, once :approve" in lines
    assert "f1 Show what can be done here :help" in lines
    assert lines.index("Approvals") < lines.index("Views")
    assert "Destroy" not in shown
    assert "ctrl+] leaves" in shown


@pytest.mark.parametrize(
    ("place", "first"),
    [
        (Place.SANDBOXES, "Sandboxes"), (Place.CONSOLE, "Consoles"), (Place.APPROVALS, "Approvals"),
        (Place.AUDIT, "Audit"), (Place.FILES, "Files"),
    ],
)  # fmt: skip
async def test_each_heading_stands_once_and_what_the_place_is_about_before_the_program(
    place: Place, first: str
) -> None:
    host = HostApp()
    async with host.run_test(size=(100, 80)) as pilot:
        await host.push_screen(_help(place))
        await pilot.pause()
        lines = [line.strip(" │") for line in screen_text(host).splitlines()]
    for heading in (first, "Views", "Consoles", "This program"):
        assert lines.count(heading) == 1, heading
    assert lines.index(first) < lines.index("This program")


@pytest.mark.parametrize(
    ("place", "keys"),
    [
        (Place.SANDBOXES, "↑ ↓ or k j by one, pgup pgdn by a page, home, end"),
        (Place.FILES, "↑ ↓ or k j by one"),
        (Place.APPROVALS, "→ or l into the call, ← or h back to the list, J K scroll it"),
        (Place.AUDIT, "→ or l into the event"),
        (Place.CONSOLE, "pgup pgdn by a page, home to the oldest line, end to the newest"),
    ],
)
async def test_the_keys_that_move_are_told(place: Place, keys: str) -> None:
    host = HostApp()
    async with host.run_test(size=(120, 90)) as pilot:
        await host.push_screen(_help(place))
        await pilot.pause()
        words = " ".join(screen_text(host).replace("│", " ").split())
    assert keys in words


async def test_every_word_that_is_shown_as_a_filter_is_one_and_finds_what_it_says() -> None:
    host = HostApp()
    async with host.run_test(size=(120, 60)) as pilot:
        await host.push_screen(_help())
        await pilot.pause()
        shown = screen_text(host)
    for text in ("/regex/", "!not", "state=running,failed", "label=team=blue"):
        assert text in shown
        wanted = parse_filter(text)
        assert wanted is not None
        assert wanted.matches(Fields.of("a regex", state="running", labels={"team": "blue"}))


async def test_any_key_but_those_that_scroll_goes_back() -> None:
    host = HostApp()
    async with host.run_test(size=(60, 12)) as pilot:
        await host.push_screen(_help())
        await pilot.press("down", "pagedown")
        assert isinstance(host.screen, HelpScreen)
        await pilot.press("a")
        assert not isinstance(host.screen, HelpScreen)
