"""The first line: the views with what waits in them, and the hub; a click shows a view."""

from __future__ import annotations

from rich.text import Text

from cloche_tui.messages import RunAction
from cloche_tui.widgets.heading import Heading, Tab
from tests.tui.support import HostApp, screen_text

TABS = (Tab("1", "Sandboxes", "view.sandboxes"), Tab("2", "Approvals", "view.approvals", badge=2))


def _filled(heading: Heading, place: str) -> None:
    heading.tabs, heading.current, heading.place = TABS, "view.sandboxes", Text(place)


async def test_the_views_stand_left_with_what_waits_and_the_hub_right() -> None:
    heading = Heading()
    host = HostApp(heading)
    async with host.run_test(size=(60, 4)) as pilot:
        _filled(heading, "hub · 12:30")
        await pilot.pause()
        first = screen_text(host).splitlines()[0]
    assert first.startswith(" Cloche  1 Sandboxes  2 Approvals ●2 ")
    assert first.endswith("hub · 12:30")


async def test_where_there_is_no_room_the_hub_is_cut_and_the_views_stay() -> None:
    heading = Heading()
    host = HostApp(heading)
    async with host.run_test(size=(44, 4)) as pilot:
        _filled(heading, "unix:///run/somewhere/very/long.sock")
        await pilot.pause()
        first = screen_text(host).splitlines()[0]
    assert "2 Approvals ●2" in first
    assert "long.sock" not in first


async def test_a_click_on_a_view_wants_it_shown() -> None:
    heading = Heading()
    host = HostApp(heading)
    host.listens_to = (RunAction,)
    async with host.run_test(size=(60, 4)) as pilot:
        _filled(heading, "hub")
        await pilot.pause()
        await pilot.click(Heading, offset=(26, 0))
        await pilot.click(Heading, offset=(2, 0))
        await pilot.pause()
    assert [message.id for message in host.heard if isinstance(message, RunAction)] == ["view.approvals"]
