"""What does not fit into a row goes on in the next one, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cloche_tui.model.roles import Line, Role, Span, plain_text
from cloche_tui.widgets.wrapping import pad, wrap


def rows(text: str, width: int, indent: int = 0) -> list[str]:
    return [plain_text(row) for row in wrap((Span(text),), width, indent=indent)]


@pytest.mark.parametrize(
    ("text", "width", "indent", "expected"),
    [
        ("", 10, 0, [""]),
        ("abc", 3, 0, ["abc"]),
        ("abcdefgh", 3, 0, ["abc", "def", "gh"]),
        ("abcdefgh", 4, 2, ["abcd", "  ef", "  gh"]),
        ("abcdefgh", 4, 40, ["abcd", "  ef", "  gh"]),
        ("one two three", 9, 0, ["one two ", "three"]),
        ("one two three", 7, 0, ["one two", " three"]),
        ("日本語", 4, 0, ["日本", "語"]),
        ("a日本", 2, 0, ["a", "日", "本"]),
    ],
)
def test_a_line_is_broken_at_a_near_blank_or_where_the_row_ends(
    text: str, width: int, indent: int, expected: list[str]
) -> None:
    assert rows(text, width, indent) == expected


def test_spans_keep_their_roles_over_rows() -> None:
    line: Line = (Span("ab", Role.ACCENT), Span("cdef", Role.BAD))
    assert list(wrap(line, 4)) == [
        (Span("ab", Role.ACCENT), Span("cd", Role.BAD)),
        (Span("ef", Role.BAD),),
    ]


@given(
    st.lists(st.text(alphabet="ab ç日😀"), max_size=5),
    st.integers(min_value=4, max_value=20),
    st.integers(0, 10),
)
def test_nothing_is_lost_and_no_row_is_too_wide(texts: list[str], width: int, indent: int) -> None:
    wrapped = list(wrap(tuple(Span(text) for text in texts), width, indent=indent))
    margin = min(indent, width // 2)
    assert all(cell_len(plain_text(row)) <= width for row in wrapped)
    first, *others = [plain_text(row) for row in wrapped]
    assert first + "".join(row[margin:] for row in others) == "".join(texts)


def test_a_row_is_filled_up_with_blanks() -> None:
    assert plain_text(pad((Span("日"),), 4)) == "日  "
    assert plain_text(pad((Span("abcd"),), 4)) == "abcd"
