"""Finding text in rows of cells."""

from __future__ import annotations

from bittty.style import Style

from cloche_term.on_bittty.rows import Cell
from cloche_term.on_bittty.searching import Line, find
from cloche_term.terminal import Match

_PLAIN = Style()


def line(*rows: tuple[int, str]) -> Line:
    return [(number, cells(text)) for number, text in rows]


def cells(text: str) -> list[Cell]:
    made: list[Cell] = []
    for character in text:
        made.append((_PLAIN, character))
        if character == "日":
            made.append((_PLAIN, ""))
    return made


def test_case_does_not_count() -> None:
    assert find([line((7, "an Error"))], "eRRor", limit=9) == (Match(7, 3, 5),)


def test_a_text_across_rows_is_found_where_it_begins() -> None:
    assert find([line((1, "abcd"), (2, "efgh"))], "def", limit=9) == (Match(1, 3, 1),)


def test_wide_characters_count_as_two_cells() -> None:
    assert find([line((0, "日日x"))], "日x", limit=9) == (Match(0, 2, 3),)
    assert find([line((0, "日日x"))], "日", limit=9) == (Match(0, 0, 2), Match(0, 2, 2))


def test_a_match_ends_at_its_own_end_not_at_the_rows() -> None:
    assert find([line((0, "abc"), (1, "def"))], "bc", limit=9) == (Match(0, 1, 2),)


def test_only_the_newest_are_told() -> None:
    lines = [line((number, "x")) for number in range(5)]
    assert find(lines, "x", limit=2) == (Match(3, 0, 1), Match(4, 0, 1))


def test_nothing_is_nowhere() -> None:
    assert find([line((0, "abc"))], "", limit=9) == ()


def test_letters_that_grow_in_lower_case_keep_their_places() -> None:
    assert find([line((0, "İx"))], "x", limit=9) == (Match(0, 1, 1),)
