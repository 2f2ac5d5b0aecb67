"""Runs of cells as they are told to a terminal."""

from __future__ import annotations

import pytest

from cloche.cli.viewing.styles import cells_of
from cloche_term import Run, Style, open_terminal
from cloche_term.rendition import rendition

PLAIN = Style()


@pytest.mark.parametrize(
    ("left", "width", "shown"),
    [(0, 10, "abcdefghij"), (3, 4, "defg"), (8, 2, "ij"), (0, 1, "a")],
)
def test_a_part_of_a_row_is_told(left: int, width: int, shown: str) -> None:
    red = Style(foreground=1)
    runs = (Run("abcde", PLAIN, 5), Run("fghij", red, 5))
    told = cells_of(runs, left, width, 1)
    assert told.replace(rendition(PLAIN), "").replace(rendition(red), "") == shown


@pytest.mark.parametrize("left", range(8))
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_wide_characters_stay_in_their_places_wherever_they_are_cut(left: int, width: int) -> None:
    whole, part = open_terminal(1, 8), open_terminal(1, width)
    whole.feed("a漢b字é".encode())
    whole.update()
    part.feed(cells_of(whole.row(0), left, width, 1).encode())
    cells = "a漢\0b字\0é "
    expected = [cells[at] for at in range(left, min(left + width, 8))]
    if expected[0] == "\0":
        expected[0] = " "
    if expected[-1] in "漢字":
        expected[-1] = " "
    assert part.text()[0] == "".join(expected).replace("\0", "").rstrip()


def test_what_comes_behind_characters_of_doubtful_width_begins_where_it_belongs() -> None:
    runs = (Run("👩‍🚀", PLAIN, 4), Run("x", Style(foreground=1), 1))
    assert cells_of(runs, 0, 10, 3) == "\x1b[3;1H\x1b[0m👩‍🚀\x1b[3;5H\x1b[0;31mx"


def test_no_control_character_is_told_even_if_an_emulator_had_one() -> None:
    assert cells_of((Run("a\x1b\x9bb", PLAIN, 4),), 0, 9, 1) == "\x1b[1;1H\x1b[0ma��b\x1b[1;5H"
