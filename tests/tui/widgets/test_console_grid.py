"""Panes on the screen, as the model has them."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_tui.model.console_panes import Layout, Pane, Panes
from cloche_tui.widgets.console_grid import ConsoleGrid
from cloche_tui.widgets.console_pane import ConsolePane
from tests.tui.support import HostApp


def _made(pane: Pane) -> ConsolePane:
    """A pane that shows nothing, of a hub that is not there."""
    nowhere: Any = None
    return ConsolePane(nowhere, nowhere, pane.sandbox, None, title=pane.sandbox)


def _panes(layout: Layout, names: str) -> Panes:
    panes = Panes(layout=Layout.GRID)
    for name in names:
        panes = panes.opened(name, None)
    return panes.arranged(layout)


def _places(grid: ConsoleGrid) -> list[tuple[str, int, int, int, int]]:
    """Each pane that is seen: its sandbox, and where it is."""
    shown = [pane for pane in grid.query(ConsolePane) if pane.display]
    return [(pane.sandbox, *pane.outer_size, *(pane.region.offset)) for pane in shown]


@pytest.mark.parametrize(
    ("layout", "names", "places"),
    [
        (Layout.BESIDE, "ab", [("b", 80, 24, 0, 0)]),
        (Layout.SPLIT, "ab", [("a", 80, 12, 0, 0), ("b", 80, 12, 0, 12)]),
        (Layout.GRID, "a", [("a", 80, 24, 0, 0)]),
        (Layout.GRID, "ab", [("a", 40, 24, 0, 0), ("b", 40, 24, 40, 0)]),
        (Layout.GRID, "abc", [("a", 40, 12, 0, 0), ("b", 40, 12, 40, 0), ("c", 80, 12, 0, 12)]),
        (
            Layout.GRID,
            "abcd",
            [("a", 40, 12, 0, 0), ("b", 40, 12, 40, 0), ("c", 40, 12, 0, 12), ("d", 40, 12, 40, 12)],
        ),
    ],
)
async def test_panes_share_the_room(
    layout: Layout, names: str, places: list[tuple[str, int, int, int, int]]
) -> None:
    grid = ConsoleGrid()
    async with HostApp(grid).run_test(size=(80, 24)) as pilot:
        grid.fit_panes(_panes(layout, names), _made)
        await pilot.pause()
        assert _places(grid) == places


async def test_one_over_all_the_screen_has_every_column() -> None:
    grid = ConsoleGrid()
    async with HostApp(grid).run_test(size=(80, 24)) as pilot:
        grid.fit_panes(_panes(Layout.FULL, "a"), _made)
        await pilot.pause()
        (pane,) = grid.query(ConsolePane)
        assert (pane.view.size.width, pane.view.size.height) == (80, 22)


async def test_panes_stay_in_their_order_and_go_with_their_keys() -> None:
    grid = ConsoleGrid()
    panes = _panes(Layout.GRID, "ab")
    async with HostApp(grid).run_test(size=(80, 24)) as pilot:
        grid.fit_panes(panes, _made)
        await pilot.pause()
        kept = grid.of(panes.all[1])
        panes = panes.focusing(1).closed(1)
        grid.fit_panes(panes, _made)
        await pilot.pause()
        assert ([*grid], _places(grid)) == ([(2, kept)], [("b", 80, 24, 0, 0)])
        # Another console in the place of the first one: its pane is new, its place is not.
        panes = panes.opened("c", None).focusing(2).opened("d", None)
        replaced = Panes((panes.all[2], *panes.all[:2]), layout=Layout.GRID)
        grid.fit_panes(replaced, _made)
        await pilot.pause()
        assert [place[0] for place in _places(grid)] == ["d", "b", "c"]
