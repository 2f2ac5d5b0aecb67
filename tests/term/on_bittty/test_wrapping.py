"""Lines cut into rows of another width."""

from __future__ import annotations

from bittty.style import Style
from bittty.video import WideHead

from cloche_term.on_bittty.rows import Cell, text_of
from cloche_term.on_bittty.wrapping import Row, begins_wide, ends_at, wrap_anew

_PLAIN = Style()


def cells(text: str) -> list[Cell]:
    made: list[Cell] = []
    for character in text:
        made += [(_PLAIN, WideHead("日")), (_PLAIN, "")] if character == "日" else [(_PLAIN, character)]
    return made


def wrapped(rows: list[tuple[str, bool]], cols: int) -> list[tuple[str, bool]]:
    made, _ = wrap_anew([Row(cells(text), is_wrapped) for text, is_wrapped in rows], cols, [])
    return [(text_of(row.cells), row.is_wrapped) for row in made]


def test_a_line_is_cut_and_joined_again() -> None:
    rows = [("abcd", True), ("ef  ", False), ("gh", False)]
    narrow = wrapped(rows, 3)
    assert narrow == [("abc", True), ("def", False), ("gh", False)]
    assert wrapped(narrow, 10) == [("abcdef", False), ("gh", False)]


def test_empty_rows_stay() -> None:
    assert wrapped([("   ", False), ("a  ", False), ("   ", False)], 2) == [
        ("", False),
        ("a", False),
        ("", False),
    ]


def test_blanks_inside_a_line_stay() -> None:
    assert wrapped([("ab  ", True), ("cd", False)], 10) == [("ab  cd", False)]


def test_a_line_whose_end_is_not_there_yet_ends_for_now() -> None:
    assert wrapped([("abcd", True)], 3) == [("abc", True), ("d", False)]


def test_a_wide_character_is_not_cut() -> None:
    assert wrapped([("a日b", False)], 2) == [("a", True), ("日", True), ("b", False)]


def test_the_blank_before_a_wide_character_without_room_is_not_text() -> None:
    assert wrapped([("a ", True), ("日", True), ("b", False)], 10) == [("a日b", False)]


def test_a_wide_character_without_any_room_is_dropped() -> None:
    assert wrapped([("日a", False)], 1) == [("", True), ("a", False)]


def test_places_are_found_again() -> None:
    rows = [
        Row(cells("abcd"), is_wrapped=True),
        Row(cells("ef"), is_wrapped=False),
        Row(cells(""), is_wrapped=False),
    ]
    _, places = wrap_anew(rows, 3, [(0, 0), (0, 3), (1, 1), (2, 0)])
    assert places == [(0, 0), (1, 0), (1, 2), (2, 0)]


def test_a_place_behind_the_text_keeps_its_distance() -> None:
    made, places = wrap_anew([Row(cells("ab"), is_wrapped=False)], 4, [(0, 6)])
    assert (places, len(made)) == ([(1, 2)], 2)


def test_a_place_behind_a_full_row_is_behind_its_last_column() -> None:
    _, places = wrap_anew([Row(cells("abcd"), is_wrapped=False)], 4, [(0, 4)])
    assert places == [(0, 4)]


def test_what_ends_and_begins_a_row() -> None:
    assert (ends_at(cells("a b  ")), ends_at(cells("  "))) == (3, 0)
    assert (begins_wide(cells("日")), begins_wide(cells("ab")), begins_wide([])) == (True, False, False)
