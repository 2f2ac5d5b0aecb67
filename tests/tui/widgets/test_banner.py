"""The line that says that the hub is away."""

from __future__ import annotations

from datetime import UTC, timedelta

from textual.widgets import Static

from cloche import HubStatus
from cloche_tui.model.link import Connecting, Lost, Up
from cloche_tui.widgets.banner import Banner
from tests.tui.support import NOW, HostApp, screen_text

LOST = Lost(NOW, "the socket closed", as_of=NOW, next_try_at=NOW + timedelta(seconds=15))
UP = Up(NOW, "unix:///x", HubStatus("0.1.0", 7, "unix:///x", "tcg", "no kvm here", 2, NOW))


def _host() -> tuple[HostApp, Banner]:
    banner = Banner(zone=UTC)
    return HostApp(banner, Static("the view")), banner


async def test_it_takes_a_line_while_the_hub_is_away_and_none_otherwise() -> None:
    host, banner = _host()
    async with host.run_test(size=(110, 4)) as pilot:
        banner.show(UP, now=NOW)
        await pilot.pause()
        assert screen_text(host).splitlines()[0] == "the view"
        banner.show(LOST, now=NOW + timedelta(seconds=12))
        await pilot.pause()
        assert screen_text(host).splitlines()[:2] == [
            " ! connection lost 12 s ago · trying again in 3 s · what you see is as of 03:04:05 · the socket closed",
            "the view",
        ]
        banner.show(UP, now=NOW)
        await pilot.pause()
        assert screen_text(host).splitlines()[0] == "the view"


async def test_its_age_grows() -> None:
    host, banner = _host()
    async with host.run_test(size=(80, 4)) as pilot:
        for seconds in (1, 2):
            banner.show(LOST, now=NOW + timedelta(seconds=seconds))
            await pilot.pause()
            assert f"lost {seconds} s ago" in screen_text(host)


async def test_it_says_less_where_there_is_less_room() -> None:
    host, banner = _host()
    async with host.run_test(size=(40, 4)) as pilot:
        banner.show(LOST, now=NOW + timedelta(seconds=12))
        await pilot.pause()
        assert screen_text(host).splitlines()[0] == " ! lost 12 s ago · the socket closed"


async def test_a_first_connection_alarms_nobody() -> None:
    host, banner = _host()
    async with host.run_test(size=(80, 4)) as pilot:
        banner.show(Connecting(), now=NOW)
        await pilot.pause()
        assert screen_text(host).splitlines()[0] == " … connecting to the hub"
        assert not banner.has_class("-lost")
        banner.show(LOST, now=NOW)
        assert banner.has_class("-lost")


async def test_words_from_elsewhere_are_shown_as_they_are() -> None:
    host, banner = _host()
    async with host.run_test(size=(80, 4)) as pilot:
        banner.show(Connecting(2, "odd [b]hub[/b]"), now=NOW)
        await pilot.pause()
        assert "odd [b]hub[/b]" in screen_text(host)


async def test_without_colours_it_is_still_seen(monkeypatch: object) -> None:
    host, banner = _host()
    async with host.run_test(size=(80, 4)) as pilot:
        host.theme = "ansi-dark"
        banner.show(LOST, now=NOW)
        await pilot.pause()
        assert banner.styles.text_style.reverse
