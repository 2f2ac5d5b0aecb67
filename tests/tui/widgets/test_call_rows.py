"""Lines become rows as they are wanted."""

from __future__ import annotations

from collections.abc import Iterator

from cloche_tui.model.call_text import CallLine
from cloche_tui.model.roles import Span, plain_text
from cloche_tui.widgets.call_rows import CallRows


def lines(*texts: str) -> Iterator[CallLine]:
    return (CallLine((Span(text),), indent=1) for text in texts)


def made(rows: CallRows) -> list[tuple[str, int]]:
    return [(plain_text(row), number) for row, number in rows.made]


def test_rows_are_made_as_they_are_wanted_also_within_a_line() -> None:
    rows = CallRows(lines("abcdefg", "h", "i"), 4)
    assert (made(rows), rows.lines) == ([], [])
    rows.make(1)
    assert (made(rows), len(rows.lines), rows.is_whole) == ([("abcd", 0)], 1, False)
    rows.make(2)
    assert (made(rows)[1:], len(rows.lines), rows.is_whole) == ([(" efg", 0), ("h", 1)], 2, False)
    rows.make(2)
    assert (made(rows)[3:], rows.is_whole) == ([("i", 2)], True)
    rows.make(1)
    assert (len(rows.made), rows.is_whole) == (4, True)


def test_another_width_begins_anew_and_takes_no_line_twice() -> None:
    rows = CallRows(lines("abcdefg", "h", "i"), 4)
    rows.make(3)
    rows.wrap_to(10)
    assert (rows.made, rows.is_whole) == ([], False)
    rows.make(10)
    assert (made(rows), rows.is_whole) == ([("abcdefg", 0), ("h", 1), ("i", 2)], True)
    assert len(rows.lines) == 3


def test_a_line_is_found_where_its_first_row_is() -> None:
    rows = CallRows(lines("abcdefg", "h", "i"), 4)
    rows.make(3)
    assert [rows.first_row_of(line) for line in (0, 1, 2)] == [0, 2, 0]
