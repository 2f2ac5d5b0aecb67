"""Which part of a console is in a window of another size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cloche_tui.model.console_window import ConsoleWindow


def window(console: tuple[int, int], room: tuple[int, int]) -> ConsoleWindow:
    fitted = ConsoleWindow()
    fitted.fit(console=console, room=room)
    return fitted


def test_a_window_of_the_same_size_shows_all_and_no_border() -> None:
    fitted = window((24, 80), (24, 80))
    assert [fitted.row_at(y) for y in (0, 23)] == [0, 23]
    assert not any(fitted.is_border(y) for y in range(24))
    assert fitted.shown_cols == 80


def test_a_larger_window_has_a_border_below_and_nothing_under_it() -> None:
    fitted = window((2, 10), (5, 20))
    assert [fitted.row_at(y) for y in range(5)] == [0, 1, None, None, None]
    assert [fitted.is_border(y) for y in range(5)] == [False, False, True, False, False]
    assert fitted.shown_cols == 10
    assert fitted.cell_at(9, 1) == (1, 9)
    assert fitted.cell_at(10, 1) is None
    assert fitted.cell_at(9, 2) is None
    assert fitted.nearest_cell(15, 4) == (1, 9)


def test_a_smaller_window_moves_as_little_as_shows_the_cursor() -> None:
    fitted = window((24, 80), (10, 40))
    assert not fitted.follow(5, 5)
    assert fitted.follow(12, 50)
    assert (fitted.top, fitted.left) == (3, 11)
    assert not fitted.follow(4, 20)
    assert fitted.y_of(12) == 9
    assert fitted.y_of(13) is None
    assert fitted.y_of(2) is None


def test_a_person_can_look_at_another_part_and_goes_back_by_going_down() -> None:
    fitted = window((24, 80), (10, 80))
    fitted.follow(23, 0)
    left = [(fitted.pan(lines), fitted.top, fitted.is_following) for lines in (-4, -30, 20, -1)]
    assert left == [(0, 10, False), (-20, 0, False), (6, 14, True), (0, 13, False)]
    assert not fitted.follow(23, 0)
    fitted.to_end()
    assert fitted.follow(23, 0)


def test_where_all_fits_nothing_is_panned() -> None:
    fitted = window((24, 80), (30, 80))
    assert fitted.pan(-3) == -3
    assert fitted.is_following


def test_fitting_says_whether_anything_is_another() -> None:
    fitted = window((24, 80), (10, 40))
    assert not fitted.fit(console=(24, 80), room=(10, 40))
    fitted.follow(23, 79)
    assert fitted.fit(console=(12, 50), room=(10, 40))
    assert (fitted.top, fitted.left) == (2, 10)


@given(*[st.integers(1, 60)] * 4, st.integers(0, 59), st.integers(0, 59))
def test_the_cursor_is_always_in_the_window(
    rows: int, cols: int, height: int, width: int, row: int, col: int
) -> None:
    row, col = min(row, rows - 1), min(col, cols - 1)
    fitted = window((rows, cols), (height, width))
    fitted.follow(row, col)
    y = fitted.y_of(row)
    assert y is not None
    assert fitted.row_at(y) == row
    assert 0 <= col - fitted.left < fitted.shown_cols
