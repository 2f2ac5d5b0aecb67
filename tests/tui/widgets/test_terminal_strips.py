"""Rows of a console as strips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.style import Style as RichStyle
from textual.strip import Strip

from cloche_term.terminal import PLAIN, Run, Style, Underline
from cloche_tui.widgets.terminal_strips import (
    Mark,
    Marked,
    border_below,
    border_strip,
    rich_style,
    strip_of,
    text_strip,
)

BASE = RichStyle(color="#e0e0e0", bgcolor="#0c0c0c")
BOLD = Style(is_bold=True)


def text_of(strip: Strip) -> str:
    return "".join(segment.text for segment in strip)


def runs_of(*pieces: tuple[str, int]) -> tuple[Run, ...]:
    return tuple(Run(text, PLAIN if at % 2 else BOLD, cells) for at, (text, cells) in enumerate(pieces))


def styles_of(strip: Strip) -> list[tuple[str, RichStyle]]:
    return [(segment.text, segment.style or RichStyle()) for segment in strip]


def test_a_row_is_its_runs_in_their_styles() -> None:
    strip = strip_of(runs_of(("ab", 2), ("cd", 2)), left=0, width=4, base=BASE)
    assert styles_of(strip) == [("ab", BASE + RichStyle(bold=True)), ("cd", BASE)]


def test_a_part_of_a_row_is_cut_out_of_it() -> None:
    strip = strip_of(runs_of(("abcd", 4), ("日本", 4), ("efgh", 4)), left=2, width=5, base=BASE)
    assert text_of(strip) == "cd日 "


def test_what_turns_its_neighbours_round_is_left_out_and_moves_nothing() -> None:
    turned = runs_of(("a\u202eb\u2066c\u200f\u061cd\u2028e", 5), ("日\u202d本", 4))
    assert text_of(strip_of(turned, left=0, width=9, base=BASE)) == "abcde日本"
    assert text_of(strip_of(turned, left=1, width=5, base=BASE)) == "bcde "


def test_what_is_not_known_is_blank() -> None:
    assert text_of(strip_of((), left=0, width=5, base=BASE)) == "     "
    assert text_of(strip_of(runs_of(("ab", 2)), left=1, width=5, base=BASE)) == "b    "


@given(
    st.lists(
        st.tuples(st.text("ab日e\u0301👍\u200d👧❤\ufe0f🇩", min_size=1, max_size=5), st.integers(1, 12)),
        max_size=4,
    ),
    st.integers(0, 20),
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from(Mark)), max_size=3),
)
def test_a_strip_is_as_wide_as_it_says_whatever_the_characters(
    pieces: list[tuple[str, int]], left: int, width: int, marks: list[tuple[int, int, Mark]]
) -> None:
    strip = strip_of(
        runs_of(*pieces), left=left, width=width, base=BASE, marks=[Marked(*mark) for mark in marks]
    )
    assert strip.cell_length == width == sum(cell_len(segment.text) for segment in strip)


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        (
            Style(foreground=1, background=200),
            RichStyle(color=RichColor.from_ansi(1), bgcolor=RichColor.from_ansi(200)),
        ),
        (Style(foreground=(1, 2, 3)), RichStyle(color=RichColor.from_rgb(1, 2, 3))),
        (Style(is_faint=True, is_italic=True, is_struck=True), RichStyle(dim=True, italic=True, strike=True)),
        (
            Style(is_blinking=True, is_overlined=True, is_inverse=True),
            RichStyle(blink=True, overline=True, reverse=True),
        ),
        (Style(underline=Underline.CURLY), RichStyle(underline=True)),
        (Style(is_link=True), RichStyle(underline=True)),
        (PLAIN, RichStyle()),
    ],
)
def test_styles_are_as_rich_has_them(style: Style, shown: RichStyle) -> None:
    assert rich_style(style) == shown


def test_a_screen_with_turned_colors_is_in_reverse_but_for_what_is_already() -> None:
    assert rich_style(PLAIN, is_reversed=True) == RichStyle(reverse=True)
    assert rich_style(Style(is_inverse=True), is_reversed=True) == RichStyle()


def test_what_is_invisible_is_blank() -> None:
    row = (Run("secret", Style(is_invisible=True), 6),)
    assert text_of(strip_of(row, left=0, width=6, base=BASE)) == "      "


def test_marks_cut_runs_and_the_later_is_on_top() -> None:
    strip = strip_of(
        runs_of(("abcdef", 6)),
        left=1,
        width=5,
        base=BASE,
        marks=[Marked(2, 5, Mark.SELECTED), Marked(3, 4, Mark.CURSOR_UNDERLINE)],
    )
    bold = BASE + RichStyle(bold=True)
    turned = bold + RichStyle(reverse=True)
    assert styles_of(strip) == [
        ("b", bold),
        ("c", turned),
        ("d", turned + RichStyle(underline=True, bold=True)),
        ("e", turned),
        ("f", bold),
    ]


@pytest.mark.parametrize("mark", Mark)
def test_every_mark_is_seen_without_colors_also_on_text_in_reverse(mark: Mark) -> None:
    for style in (PLAIN, Style(is_inverse=True)):
        row = (Run("x", style, 1),)
        plain = strip_of(row, left=0, width=1, base=BASE)
        marked = strip_of(row, left=0, width=1, base=BASE, marks=[Marked(0, 1, mark)])
        (_, before), (_, after) = styles_of(plain)[0], styles_of(marked)[0]
        attributes = [(one.reverse, one.underline, one.bold, one.dim) for one in (before, after)]
        assert attributes[0] != attributes[1]


def test_borders_fill_what_is_beside_and_below_a_console() -> None:
    strip = strip_of(runs_of(("abc", 3)), left=0, width=3, base=BASE)
    assert text_of(border_strip(strip, 6, BASE)) == "abc│  "
    assert border_strip(strip, 3, BASE) is strip
    assert text_of(border_below(3, 6, BASE)) == "───┘  "
    assert text_of(border_below(6, 6, BASE)) == "──────"
    assert text_of(border_below(9, 6, BASE)) == "──────"


def test_a_line_of_ours_is_cut_or_filled() -> None:
    assert text_of(text_strip("abc", 5, BASE)) == "abc  "
    assert text_of(text_strip("abcdef", 3, BASE)) == "abc"
