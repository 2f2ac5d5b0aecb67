"""Cells of bittty as runs."""

from __future__ import annotations

import pytest
from bittty.style import Color
from bittty.style import Style as Cells

from cloche_term.on_bittty.rows import runs_of, style_of, text_of
from cloche_term.terminal import PLAIN, Run, Style, Underline


def test_neighbours_that_look_the_same_are_one_run() -> None:
    red, red_again, plain = Cells(fg=Color("indexed", 1)), Cells(fg=Color("indexed", 1)), Cells()
    cells = [(red, "a"), (red_again, "日"), (red_again, ""), (plain, "b"), (Cells(bold=False), "c")]
    assert runs_of(cells) == (Run("a日", Style(foreground=1), 3), Run("bc", PLAIN, 2))


def test_no_cells_are_no_runs() -> None:
    assert runs_of([]) == ()


def test_trailing_blanks_are_no_text() -> None:
    plain = Cells()
    assert text_of([(plain, " "), (plain, "a"), (plain, " ")]) == " a"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, Underline.SINGLE),
        ("double", Underline.DOUBLE),
        ("curly", Underline.CURLY),
        ("dotted", Underline.DOTTED),
        ("dashed", Underline.DASHED),
    ],
)
def test_underlines_are_told_apart(name: str | None, expected: Underline) -> None:
    assert style_of(Cells(underline=True, underline_style=name)) == Style(underline=expected)


def test_default_colors_are_the_terminals_own() -> None:
    assert style_of(Cells(fg=Color("default"), bg=Color("rgb", (1, 2, 3)))) == Style(background=(1, 2, 3))


def test_a_link_is_marked() -> None:
    assert style_of(Cells(hyperlink="http://x")).is_link
