"""A console put together from paintings."""

from __future__ import annotations

from typing import Any

from cloche_term.apart.paintings import Painting
from cloche_term.terminal import PLAIN, Cursor, CursorShape, Match, Modes, Run, Style
from cloche_tui.model.picture import Change, Picture
from cloche_tui.model.selection import Bounds, Place

COLS = 10


def row(text: str, style: Style = PLAIN) -> tuple[Run, ...]:
    return (Run(text.ljust(COLS), style, COLS),)


def cursor_at(y: int, x: int) -> Cursor:
    return Cursor(y, x, is_visible=True, shape=CursorShape.BLOCK, blinks=False)


def painting(*rows: str, **changes: Any) -> Painting:
    values: dict[str, Any] = {
        "rows": {y: row(text) for y, text in enumerate(rows)},
        "size": (3, COLS),
        "cursor": cursor_at(0, 0),
        "modes": Modes(),
        "title": "",
        "first_line": 0,
        "view_line": 0,
        "scrollback_rows": 0,
        "revision": 1,
        "number": 1,
    }
    return Painting(**{**values, **changes})


def test_the_first_painting_is_everything() -> None:
    picture = Picture()
    assert picture.apply(painting("a", "b", "c")) == Change(frozenset({0, 1, 2}), is_everything=True)
    assert picture.runs(1) == row("b")


def test_later_ones_change_the_rows_that_differ_and_those_the_cursor_leaves_and_enters() -> None:
    picture = Picture()
    picture.apply(painting("a", "b", "c"))
    change = picture.apply(painting(rows={1: row("x"), 2: row("c")}, cursor=cursor_at(2, 1)))
    assert change == Change(frozenset({0, 1, 2}))
    assert picture.apply(painting(rows={1: row("x")}, cursor=cursor_at(2, 1))) == Change(frozenset())


def test_another_size_or_turned_colors_change_everything() -> None:
    picture = Picture()
    picture.apply(painting("a", "b", "c"))
    assert picture.apply(painting("a", "b", size=(2, COLS))).is_everything
    assert picture.runs(2) == ()
    assert picture.apply(painting(rows={}, size=(2, COLS), modes=Modes(is_reversed=True))).is_everything


def test_it_knows_whether_it_shows_the_end_and_what_is_kept() -> None:
    picture = Picture()
    picture.apply(painting("a", first_line=50, view_line=50, scrollback_rows=20))
    assert picture.is_at_end
    assert picture.oldest_line == 30
    picture.apply(painting("a", first_line=50, view_line=40, scrollback_rows=20))
    assert not picture.is_at_end


def test_the_cursor_covers_a_whole_wide_character() -> None:
    picture = Picture()
    picture.apply(painting(rows={0: (Run("a日", PLAIN, 3), Run(" " * 7, PLAIN, 7))}, cursor=cursor_at(0, 1)))
    assert picture.cursor_cells() == (1, 3)
    picture.apply(painting(rows={}, cursor=cursor_at(2, 4)))
    assert picture.cursor_cells() == (4, 5)


def test_glyphs_are_those_of_the_newest_painting() -> None:
    picture = Picture()
    picture.apply(painting("abc", view_line=7, first_line=7))
    assert [glyph.text for glyph in picture.glyphs_of_line(7)[:3]] == ["a", "b", "c"]
    picture.apply(painting("xyz", view_line=7, first_line=7))
    assert [glyph.text for glyph in picture.glyphs_of_line(7)[:3]] == ["x", "y", "z"]
    assert picture.glyphs_of_line(6) == ()


def test_a_link_is_where_its_run_is() -> None:
    picture = Picture()
    picture.apply(
        painting(rows={0: (Run("ab", PLAIN, 2), Run("cd", Style(is_link=True), 2), Run("      ", PLAIN, 6))})
    )
    assert [picture.has_link(0, col) for col in range(6)] == [False, False, True, True, False, False]
    assert not picture.has_link(1, 0)
    assert not picture.has_link(0, 99)


def test_text_in_a_part_is_told_by_line_as_far_as_it_is_in_the_view() -> None:
    picture = Picture()
    picture.apply(painting("one", "two", "three", view_line=10, first_line=10))
    bounds = Bounds(Place(8, 0), Place(11, 2))
    texts = picture.texts_in(bounds)
    assert texts == {10: "one".ljust(COLS), 11: "tw"}
    assert picture.texts_in(None) == {}
    assert not picture.differs_from(texts, bounds)
    picture.apply(painting(rows={1: row("tea")}, view_line=10, first_line=10))
    assert picture.differs_from(texts, bounds)


def test_text_that_has_been_scrolled_is_the_same_text() -> None:
    picture = Picture()
    picture.apply(painting("one", "two", "three", view_line=10, first_line=10))
    bounds = Bounds(Place(11, 0), Place(11, 3))
    texts = picture.texts_in(bounds)
    picture.apply(painting("two", "three", "four", view_line=11, first_line=11))
    assert not picture.differs_from(texts, bounds)
    picture.apply(painting("five", "six", "seven", view_line=20, first_line=20))
    assert not picture.differs_from(texts, bounds)


def test_a_match_that_was_wrapped_is_on_both_lines() -> None:
    picture = Picture()
    picture.apply(painting("a", "b", "c"))
    match = Match(line=5, col=8, cells=4)
    assert picture.cells_of_match(match, 5) == (8, 10)
    assert picture.cells_of_match(match, 6) == (0, 2)
    assert picture.cells_of_match(match, 7) is None
    assert picture.cells_of_match(match, 4) is None
