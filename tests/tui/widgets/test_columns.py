"""Which columns there is room for, how wide they are, and how texts fit into them."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from cloche_tui.model.roles import Role, Span, line
from cloche_tui.widgets.columns import Column, fit, place_columns

STATE, NAME = Column("state", "STATE", 6), Column("name", "NAME", 10, most=20)
OWNER, CPU = Column("owner", "OWNER", 8, most=12, rank=2), Column("cpu", "CPU", 4, rank=1, is_right=True)
COLUMNS = (STATE, OWNER, NAME, CPU)


def _placed(width: int) -> list[tuple[str, int, int]]:
    return [(placed.column.key, placed.at, placed.width) for placed in place_columns(COLUMNS, width)]


@pytest.mark.parametrize(
    ("width", "placed"),
    [
        # What is always there is there even where there is no room for it.
        (5, [("state", 0, 6), ("name", 7, 10)]),
        (17, [("state", 0, 6), ("name", 7, 10)]),
        (21, [("state", 0, 6), ("name", 7, 14)]),
        # The most important of the others comes first, at its own place.
        (22, [("state", 0, 6), ("name", 7, 10), ("cpu", 18, 4)]),
        (31, [("state", 0, 6), ("owner", 7, 8), ("name", 16, 10), ("cpu", 27, 4)]),
        # What is left over goes to those that can use it, one as much as the other.
        (35, [("state", 0, 6), ("owner", 7, 10), ("name", 18, 12), ("cpu", 31, 4)]),
        (90, [("state", 0, 6), ("owner", 7, 12), ("name", 20, 20), ("cpu", 41, 4)]),
    ],
)
def test_columns_come_by_their_rank_and_share_what_is_left(
    width: int, placed: list[tuple[str, int, int]]
) -> None:
    assert _placed(width) == placed


def test_no_place_is_left_over_while_a_column_can_use_it() -> None:
    for width in range(31, 46):
        assert sum(wide for _, _, wide in _placed(width)) + 3 == width


def test_a_column_that_does_not_fit_keeps_out_all_that_matter_less() -> None:
    wide, small = Column("wide", "", 50, rank=1), Column("small", "", 1, rank=2)
    assert [placed.column.key for placed in place_columns((NAME, wide, small), 30)] == ["name"]


def test_a_line_is_filled_up_at_the_side_it_does_not_stand_at() -> None:
    assert fit(line("ab", Span("c", Role.BAD)), 5) == [
        ("ab", Role.PLAIN),
        ("c", Role.BAD),
        ("  ", Role.PLAIN),
    ]
    assert fit(line("37%"), 5, is_right=True) == [("  ", Role.PLAIN), ("37%", Role.PLAIN)]
    assert fit((), 3) == [("   ", Role.PLAIN)]


def test_a_line_that_fits_exactly_stays_as_it_is() -> None:
    assert fit(line("abc"), 3) == [("abc", Role.PLAIN)]


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [("abcdef", 4, "abc…"), ("日本語", 5, "日本…"), ("日本語", 4, "日 …"), ("abc", 1, "…"), ("abc", 0, "")],
)
def test_what_does_not_fit_is_cut_and_says_so(text: str, width: int, cut: str) -> None:
    pieces = fit(line(Span(text, Role.BAD)), width)
    assert pieces == [(cut, Role.BAD)]
    assert cell_len(cut) == width


def test_what_stands_behind_a_cut_is_gone() -> None:
    assert fit(line("abc", "def", "ghi"), 5) == [("abc", Role.PLAIN), ("d…", Role.PLAIN)]
    assert fit(line("abc", "def"), 3) == [("abc", Role.PLAIN), ("", Role.PLAIN)]
