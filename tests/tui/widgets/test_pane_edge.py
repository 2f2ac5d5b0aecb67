"""The edge of a pane: a heading, a last line, and a class for each way in which one stands to a console."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.containers import Container

from cloche_tui.model.console_status import ConsoleStatus, Keys, Phase, Size
from cloche_tui.widgets.pane_edge import show_edge
from tests.tui.consoles import console, viewer
from tests.tui.support import HostApp, screen_text

WATCHING = ConsoleStatus(Phase.LIVE, console(viewers=(viewer(1),)), "v1")


@pytest.mark.parametrize(
    ("status", "classes", "said"),
    [
        (WATCHING, {"-watching"}, "○ watching"),
        (replace(WATCHING, has_keys=True), {"-driving"}, "▶ driving…"),
        (replace(WATCHING, phase=Phase.AWAY), {"-bad", "-away"}, "✗ NOT CONNECTED"),
        (replace(WATCHING, phase=Phase.ENDED), {"-over"}, "■ ended"),
    ],
)
async def test_how_we_stand_to_a_console_is_seen_by_its_edge(
    status: ConsoleStatus, classes: set[str], said: str
) -> None:
    pane = Container()
    host = HostApp(pane, css="Container { border: round red; }")
    async with host.run_test(size=(80, 10)) as pilot:
        show_edge(pane, status, "box", window=Size(8, 78), keys=Keys(), notice="hello")
        await pilot.pause()
        assert {name for name in pane.classes if name.startswith("-")} == classes
        assert said in screen_text(host)
        assert "hello" in screen_text(host)
