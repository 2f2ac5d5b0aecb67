"""The course of a figure, drawn as bars some lines high."""

from __future__ import annotations

import pytest

from cloche_tui.model.roles import line
from cloche_tui.widgets.sparkline import Sparkline, bar_lines
from tests.tui.support import HostApp, screen_text


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ([0, 25, 50, 75, 100], ["   ▄█", "▁▄███"]),
        ([100], ["    █", "    █"]),
        ([1, 2, 3, 4, 100, 100], ["   ██", "▁▁▁██"]),
        ([], ["     ", "     "]),
        ([-5, 900], ["    █", "   ▁█"]),
    ],
)
def test_bars_stand_on_the_ground_and_reach_the_top_together(values: list[float], lines: list[str]) -> None:
    assert bar_lines(values, 5, 2, 100.0) == lines


def test_nothing_but_zeros_lies_on_the_ground() -> None:
    assert bar_lines([0, 0], 3, 1, 0.0) == [" ▁▁"]
    assert bar_lines([1], 0, 1, 1.0) == [""]


async def test_it_shows_its_title_and_its_bars() -> None:
    chart = Sparkline()
    async with HostApp(chart, css="Sparkline { width: 6; height: 3; }").run_test(size=(20, 5)) as pilot:
        chart.show(line("CPU 9%"), [0, 50, 100], top=100)
        await pilot.pause()
        assert screen_text(pilot.app).splitlines()[:3] == ["CPU 9%", "     █", "   ▁██"]
        chart.show(line("memory"), [1, 2])
        await pilot.pause()
        assert screen_text(pilot.app).splitlines()[:3] == ["memory", "     █", "    ██"]
