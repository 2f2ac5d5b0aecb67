"""Patterns: two wildcards, everything else exact, and never slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.globs import MAX_GLOB, matches

few = st.text("ab.", max_size=12)
patterns = st.text("ab.*?", max_size=8)


def by_definition(pattern: str, text: str) -> bool:
    """The same, said by a regular expression, which may take for ever on longer texts."""
    parts = {"*": ".*", "?": "."}
    said = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(said, text, re.DOTALL) is not None


@given(patterns, few)
def test_a_pattern_means_what_its_regular_expression_does(pattern: str, text: str) -> None:
    assert matches(pattern, text) is by_definition(pattern, text)


@given(st.text("ab?", min_size=28, max_size=40), few, few)
def test_a_long_piece_is_found_as_a_short_one_is(piece: str, before: str, after: str) -> None:
    assert matches(f"*{piece}*", before + piece.replace("?", "x") + after)
    assert matches(f"*{piece}*", before + after) is by_definition(f"*{piece}*", before + after)


@pytest.mark.parametrize("piece", ["a?b", "a" * 40 + "?b"])
def test_a_piece_is_found_across_lines_and_between_signs_of_expressions(piece: str) -> None:
    assert matches(f"*{piece}*", "\n" + piece.replace("?", "\n") + "\n")
    assert matches(f"*.+[{piece}*", "x.+[" + piece.replace("?", "("))
    assert not matches(f"*.+[{piece}*", "xxx[" + piece)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("pay.*", "pay.send", True),
        ("pay.*", "pay.", True),
        ("pay.*", "pay", False),
        ("pay.*", "repay.send", False),
        ("*", "", True),
        ("*", "a/b.c\nd", True),
        ("?", "é", True),
        ("?", "", False),
        ("a*a", "a", False),
        ("a?*?c", "abc", False),
        ("*a?c*", "xxabaxc!", True),
        ("PAY", "pay", False),
        ("é", "e\u0301", False),
        ("[a-z]", "b", False),
        ("a\\*", "a*", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_everything_but_the_two_wildcards_stands_for_itself(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


@pytest.mark.parametrize(
    "pattern", ["*a" * 127 + "b*", "*" + "a?" * 127 + "b", "*" + "a" * 200 + "?b*", "*?a" * 80 + "b"]
)
@pytest.mark.timeout(10)
def test_no_pattern_takes_long_on_a_long_text(pattern: str) -> None:
    # A backtracking matcher would be at it for years, one that compares at each place for half a minute.
    assert len(pattern) <= MAX_GLOB
    assert not matches(pattern, "a" * (128 << 10))
