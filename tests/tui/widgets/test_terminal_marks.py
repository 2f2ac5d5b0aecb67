"""What is marked in a row of a console."""

from __future__ import annotations

from cloche_term.terminal import Match
from cloche_tui.model.matches import Matches
from cloche_tui.model.picture import Picture
from cloche_tui.model.selection import Bounds, Place
from cloche_tui.widgets.terminal_marks import marks_of
from cloche_tui.widgets.terminal_strips import Mark, Marked
from tests.tui.model.test_picture import COLS, cursor_at, painting


def test_matches_come_first_then_the_selection_then_the_cursor() -> None:
    picture = Picture()
    picture.apply(painting("a", "b", "c", view_line=10, first_line=10, cursor=cursor_at(1, 4)))
    marks = marks_of(
        picture,
        1,
        matches=Matches("x", (Match(11, 0, 2), Match(11, 5, 1), Match(12, 0, 1)), COLS),
        selected=Bounds(Place(10, 3), Place(11, 6)),
        cursor=Mark.CURSOR_BAR,
    )
    assert marks == [
        Marked(0, 2, Mark.MATCH),
        Marked(5, 6, Mark.MATCH),
        Marked(0, 6, Mark.SELECTED),
        Marked(4, 5, Mark.CURSOR_BAR),
    ]


def test_the_match_the_person_is_at_looks_different() -> None:
    picture = Picture()
    picture.apply(painting("a", "b", "c"))
    matches = Matches("x", (Match(2, 0, 2),), COLS)
    marks = marks_of(picture, 2, matches=matches, selected=None, cursor=Mark.CURSOR_IDLE)
    assert marks == [Marked(0, 2, Mark.NEWEST_MATCH)]


def test_a_hidden_cursor_is_not_marked() -> None:
    picture = Picture()
    assert marks_of(picture, 0, matches=None, selected=None, cursor=Mark.CURSOR_BLOCK) == []
