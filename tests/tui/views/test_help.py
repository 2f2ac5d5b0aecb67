"""The help: what can be done here, by what it is about, until a key is pressed."""

from __future__ import annotations

from cloche_tui.actions import ACTIONS, Place
from cloche_tui.views.help import HelpScreen
from tests.tui.support import HostApp, screen_text


def _help() -> HelpScreen:
    there = [action for action in ACTIONS if Place.APPROVALS in action.places]
    return HelpScreen("approvals", there, {"help.show": ("f1",)}, while_driving="ctrl+] leaves")


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


async def test_each_heading_stands_once() -> None:
    host = HostApp()
    async with host.run_test(size=(100, 80)) as pilot:
        await host.push_screen(_help())
        await pilot.pause()
        lines = [line.strip(" │") for line in screen_text(host).splitlines()]
    for heading in ("Views", "Approvals", "Consoles", "This program"):
        assert lines.count(heading) == 1, heading


async def test_any_key_but_those_that_scroll_goes_back() -> None:
    host = HostApp()
    async with host.run_test(size=(60, 12)) as pilot:
        await host.push_screen(_help())
        await pilot.press("down", "pagedown")
        assert isinstance(host.screen, HelpScreen)
        await pilot.press("a")
        assert not isinstance(host.screen, HelpScreen)
