"""Characters and the cells they cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_term.terminal import PLAIN, Run, Style
from cloche_tui.model.cells import Glyph, cut_cells, glyph_at, glyphs_in, glyphs_of, width_of

FAMILY = "👨\u200d👩\u200d👧"
THUMB = "👍🏽"
FLAG = "🇩🇪"
HEART = "❤\ufe0f"


@pytest.mark.parametrize(
    ("text", "cells", "glyphs"),
    [
        ("ab", 2, [("a", 0, 1), ("b", 1, 1)]),
        ("日本", 4, [("日", 0, 2), ("本", 2, 2)]),
        ("a日b", 4, [("a", 0, 1), ("日", 1, 2), ("b", 3, 1)]),
        ("e\u0301x", 2, [("e\u0301", 0, 1), ("x", 1, 1)]),
        (FAMILY, 2, [(FAMILY, 0, 2)]),
        (THUMB, 2, [(THUMB, 0, 2)]),
        (THUMB, 4, [("👍", 0, 2), ("🏽", 2, 2)]),
        (FLAG, 2, [("🇩", 0, 1), ("🇪", 1, 1)]),
        (FLAG + "x", 3, [("🇩", 0, 1), ("🇪", 1, 1), ("x", 2, 1)]),
        (HEART, 2, [(HEART, 0, 2)]),
        (HEART, 1, [(HEART, 0, 1)]),
        ("日", 1, [(" ", 0, 1)]),
        ("日", 3, [("日", 0, 2), (" ", 2, 1)]),
    ],
)
def test_glyphs_cover_the_cells_the_terminal_says(
    text: str, cells: int, glyphs: list[tuple[str, int, int]]
) -> None:
    assert list(glyphs_in(text, cells)) == [Glyph(*glyph) for glyph in glyphs]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12), st.integers(1, 30))
def test_glyphs_cover_all_cells_without_gaps_whatever_the_text(text: str, cells: int) -> None:
    col = 5
    for glyph in glyphs_in(text, cells, 5):
        assert glyph.col == col
        assert glyph.cells > 0
        col += glyph.cells
    assert col == 5 + cells


@given(
    st.text("ab日本e\u0301👍", min_size=1, max_size=12),
    st.integers(1, 30),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_a_cut_is_as_wide_as_it_was_wanted(text: str, cells: int, first: int, last: int) -> None:
    first, last = min(first, last, cells), min(max(first, last), cells)
    cut = cut_cells(text, cells, first, last)
    if (first, last) != (0, cells):
        assert sum(glyph.cells for glyph in glyphs_in(cut)) == last - first


def test_half_of_a_wide_character_is_blank() -> None:
    assert cut_cells("a日b", 4, 0, 2) == "a "
    assert cut_cells("a日b", 4, 2, 4) == " b"
    assert cut_cells("a日b", 4, 1, 3) == "日"
    assert cut_cells("abcd", 4, 1, 3) == "bc"


def test_a_row_is_made_of_its_runs() -> None:
    row = (Run("a日", PLAIN, 3), Run("b ", Style(is_bold=True), 2))
    assert glyphs_of(row) == (Glyph("a", 0, 1), Glyph("日", 1, 2), Glyph("b", 3, 1), Glyph(" ", 4, 1))


def test_a_wide_character_is_at_both_of_its_cells() -> None:
    glyphs = glyphs_in("a日b")
    assert glyph_at(glyphs, 1) == glyph_at(glyphs, 2) == Glyph("日", 1, 2)
    assert glyph_at(glyphs, 4) is None


def test_what_combines_with_nothing_covers_nothing() -> None:
    assert glyphs_in("\u0301a") == (Glyph("a", 0, 1),)
    assert width_of("\u0301a") == 1
    assert width_of("日a") == 3
