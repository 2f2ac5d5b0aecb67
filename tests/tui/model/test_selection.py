"""What presses and drags of the mouse select, and the text that is copied."""

from __future__ import annotations

import pytest

from cloche_tui.model.cells import Glyph, glyphs_in
from cloche_tui.model.selection import Bounds, Place, Pointing, Unit, extent, word_at

COLS = 20


class Text:
    """Lines, and somebody with a mouse."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        self.pointing = Pointing()

    def glyphs(self, line: int) -> tuple[Glyph, ...]:
        return glyphs_in(self.lines[line])

    def press(self, line: int, col: int, now: float = 0.0) -> None:
        self.pointing.pressed(Place(line, col), self.glyphs(line), now)

    def move(self, line: int, col: int) -> bool:
        return self.pointing.moved(Place(line, col), self.glyphs(line))

    def selected(self, *, joins_wrapped: bool = True) -> str:
        selection = self.pointing.selection
        assert selection is not None
        lines = [self.glyphs(line) for line in selection.bounds.lines]
        return selection.bounds.text(lines, cols=COLS, joins_wrapped=joins_wrapped)


def test_a_drag_selects_the_cells_between_both_ends_included() -> None:
    text = Text("hello world")
    text.press(0, 6)
    assert text.move(0, 8)
    assert text.selected() == "wor"
    assert text.pointing.released()


def test_a_drag_back_selects_the_same() -> None:
    text = Text("hello world")
    text.press(0, 8)
    text.move(0, 6)
    assert text.selected() == "wor"


def test_a_drag_over_lines_selects_in_reading_order_without_blanks_at_the_ends() -> None:
    text = Text("hello world   ", "between  ", "the end")
    text.press(2, 2)
    text.move(0, 6)
    assert text.selected() == "world\nbetween\nthe"


def test_a_wide_character_is_selected_whole_from_either_half() -> None:
    text = Text("a日本b")
    text.press(0, 2)
    text.move(0, 3)
    assert text.selected() == "日本"


def test_a_press_alone_selects_nothing() -> None:
    text = Text("hello")
    text.press(0, 1)
    assert not text.move(0, 1)
    assert not text.pointing.released()
    assert text.pointing.selection is None


def test_two_presses_select_a_word_three_a_line_and_four_begin_anew() -> None:
    text = Text("see /usr/x.so, more")
    text.press(0, 8, now=0.0)
    text.pointing.released()
    text.press(0, 8, now=0.3)
    assert text.pointing.released()
    assert text.selected() == "/usr/x.so"
    text.press(0, 8, now=0.6)
    text.pointing.released()
    assert text.selected() == "see /usr/x.so, more"
    text.press(0, 8, now=0.9)
    assert not text.pointing.released()


@pytest.mark.parametrize(("col", "now"), [(9, 0.3), (8, 0.6)])
def test_presses_in_another_place_or_later_begin_anew(col: int, now: float) -> None:
    text = Text("see /usr/x.so, more")
    text.press(0, 8, now=0.0)
    text.press(0, col, now=now)
    assert not text.pointing.released()


def test_a_drag_after_two_presses_goes_by_words_in_both_directions() -> None:
    text = Text("one two three four")
    text.press(0, 9, now=0.0)
    text.press(0, 9, now=0.1)
    text.move(0, 15)
    assert text.selected() == "three four"
    text.move(0, 5)
    assert text.selected() == "two three"


def test_a_drag_after_three_presses_goes_by_lines() -> None:
    text = Text("one two", "three four", "five")
    for press in range(3):
        text.press(1, 3, now=press / 10)
    text.move(0, 5)
    assert text.selected() == "one two\nthree four"


def test_a_line_that_was_wrapped_is_copied_as_one() -> None:
    text = Text("x" * COLS, "rest", "next")
    text.press(0, 0)
    text.move(2, 3)
    assert text.selected() == "x" * COLS + "rest\nnext"
    assert text.selected(joins_wrapped=False) == "x" * COLS + "\nrest\nnext"


def test_nothing_is_dragged_without_a_press_or_after_it_was_cleared() -> None:
    text = Text("hello")
    assert not text.move(0, 3)
    text.press(0, 0)
    text.pointing.clear()
    assert not text.move(0, 3)
    assert text.pointing.selection is None


@pytest.mark.parametrize(
    ("line", "at", "word"),
    [
        ("a https://x.org/a?b=c#d. next", 5, "https://x.org/a?b=c#d"),
        ("error: no", 2, "error"),
        ("a.b", 1, "a.b"),
        ("f(x)", 1, "("),
        ("a   b", 2, "   "),
        ("日本語 text", 1, "日本語"),
        ("a", 7, ""),
        ("user@host:~/x", 3, "user@host:~/x"),
    ],
)
def test_words_are_names_paths_and_addresses(line: str, at: int, word: str) -> None:
    assert word_at(glyphs_in(line), at) == word


def test_columns_of_a_line_are_those_that_are_selected_in_it() -> None:
    bounds = Bounds(Place(3, 5), Place(5, 2))
    assert [bounds.columns(line, COLS) for line in range(2, 7)] == [None, (5, 20), (0, 20), (0, 2), None]
    assert extent(Place(4, 1), Unit.LINES, ()).columns(4, COLS) == (0, COLS)
    assert Bounds(Place(3, 5), Place(4, 0)).columns(4, COLS) is None
