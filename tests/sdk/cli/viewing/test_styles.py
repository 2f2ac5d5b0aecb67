"""Runs of cells as they are told to a terminal."""

from __future__ import annotations

import pytest

from cloche.cli.viewing.styles import cells_of, sgr
from cloche_term import Run, Style, Underline, open_terminal

PLAIN = Style()


@pytest.mark.parametrize(
    ("style", "told"),
    [
        (PLAIN, "\x1b[0m"),
        (Style(is_bold=True, is_inverse=True, foreground=1, background=4), "\x1b[0;1;7;31;44m"),
        (Style(foreground=9, background=200), "\x1b[0;38;5;9;48;5;200m"),
        (Style(foreground=(1, 2, 3), background=(4, 5, 6)), "\x1b[0;38;2;1;2;3;48;2;4;5;6m"),
        (Style(underline=Underline.SINGLE), "\x1b[0;4m"),
        (Style(underline=Underline.CURLY, underline_color=1), "\x1b[0;4:3;58;5;1m"),
        (Style(is_faint=True, is_italic=True, is_blinking=True, is_invisible=True, is_struck=True), "\x1b[0;2;3;5;8;9m"),
        (Style(is_overlined=True), "\x1b[0;53m"),
    ],
)  # fmt: skip
def test_a_style_is_told_whole(style: Style, told: str) -> None:
    assert sgr(style) == told


@pytest.mark.parametrize(
    ("left", "width", "shown"),
    [(0, 10, "abcdefghij"), (3, 4, "defg"), (8, 2, "ij"), (0, 1, "a")],
)
def test_a_part_of_a_row_is_told(left: int, width: int, shown: str) -> None:
    red = Style(foreground=1)
    runs = (Run("abcde", PLAIN, 5), Run("fghij", red, 5))
    told = cells_of(runs, left, width, 1)
    assert told.replace(sgr(PLAIN), "").replace(sgr(red), "") == shown


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
