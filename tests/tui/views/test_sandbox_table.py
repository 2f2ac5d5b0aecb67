"""The columns of sandboxes on narrow and wide screens, and the fleet as the table asks for it."""

from __future__ import annotations

import pytest

from cloche_tui.model.link import Connecting
from cloche_tui.model.roles import Role, plain_text
from cloche_tui.model.sandbox_rows import ORDERS, Row
from cloche_tui.model.sandbox_text import cells
from cloche_tui.model.world import World
from cloche_tui.views.sandbox_table import COLUMNS, SORTED_BY, FleetRows
from cloche_tui.widgets.columns import place_columns
from tests.tui.sandbox_values import NOW, has_changed, is_gone, sandbox


@pytest.mark.parametrize(
    ("width", "come"),
    [
        (40, ["cpu"]),
        # What is left beside a console on a screen of 110, 120 and 160 columns.
        (49, ["memory"]),
        (53, []),
        (71, ["lease", "age"]),
        (80, ["viewers"]),
        (120, ["recipe", "labels", "owner", "cpu_bars", "accelerator"]),
        (160, ["memory_bars"]),
    ],
)
def test_a_wider_screen_shows_more_and_what_matters_first(width: int, come: list[str]) -> None:
    widths = (40, 49, 53, 71, 80, 120, 160)
    shown = {each: [placed.column.key for placed in place_columns(COLUMNS, each)] for each in (0, *widths)}
    assert shown[0] == ["mark", "state", "name", "waits"]
    before = (0, *widths)[widths.index(width)]
    assert set(shown[width]) == {*shown[before], *come}


def test_every_column_says_something_and_can_be_sorted_by() -> None:
    keys = {column.key for column in COLUMNS}
    assert keys == cells(Row(sandbox()), NOW).keys()
    assert keys - {"mark"} == ORDERS.keys() | SORTED_BY.keys()
    assert set(SORTED_BY.values()) <= ORDERS.keys()


def test_the_longest_state_fits_its_column() -> None:
    width = next(column.width for column in COLUMNS if column.key == "state")
    states = ("creating", "running", "removing", "failed")
    assert all(len(plain_text(cells(Row(sandbox(state=state)), NOW)["state"])) <= width for state in states)


def test_without_a_world_there_are_no_rows() -> None:
    rows = FleetRows()
    assert (len(rows), rows.index_of("sb_a")) == (0, None)


def test_rows_are_those_of_the_fleet_in_its_order() -> None:
    rows = FleetRows()
    rows.world = World(Connecting(), now=NOW)
    for name in ("b", "a"):
        rows.world.fleet.apply(has_changed(sandbox(name)))
    rows.world.fleet.mark("sb_b")
    assert len(rows) == 2
    assert rows.index_of("sb_b") == 1
    row = rows.row(1)
    assert (row.key, row.is_marked, row.role) == ("sb_b", True, Role.PLAIN)
    rows.world.fleet.freeze(on=True)
    rows.world.fleet.apply(is_gone(sandbox("b")))
    assert rows.row(1).role is Role.MUTED
