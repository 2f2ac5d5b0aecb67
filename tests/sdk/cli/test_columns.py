"""How wide texts are on a terminal, and how columns of them fit into one."""

from __future__ import annotations

import pytest

from cloche.cli.columns import cut, fit, padded, width_of


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("box", 3), ("é", 1), ("e\u0301", 1), ("漢", 2), ("…", 1)]
)
def test_the_width_is_that_of_the_terminal_s_places(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "most", "left"),
    [("box", 3, "box"), ("boxes", 3, "bo…"), ("漢字", 3, "漢…"), ("漢字", 2, "…"), ("boxes", 0, "")],
)
def test_what_is_cut_says_so_and_fits(text: str, most: int, left: str) -> None:
    assert cut(text, most) == left
    assert width_of(left) <= most


def test_blanks_fill_places_not_characters() -> None:
    assert padded("漢", 4) == "漢  "
    assert padded("long", 2) == "long"


@pytest.mark.parametrize(
    ("widths", "most", "shrinking", "fitted"),
    [
        ([4, 30], 40, [1], [4, 30]),
        ([4, 30], 26, [1], [4, 20]),
        ([12, 30], 40, [0, 1], [12, 26]),
        ([12, 30], 22, [0, 1], [10, 10]),
        ([12, 30], 10, [0, 1], [8, 8]),
        ([4, 30], 10, [0], [4, 30]),
    ],
)
def test_the_widest_gives_way_first_and_none_vanishes(
    widths: list[int], most: int, shrinking: list[int], fitted: list[int]
) -> None:
    assert fit(widths, most, shrinking) == fitted
