"""Reasons that were given are there to be given again."""

from __future__ import annotations

from cloche_tui.model.reasons import MAX_REASON, MOST, read_reasons, with_reason


def test_the_reason_that_was_given_last_stands_first_and_once() -> None:
    assert with_reason(["a", "b", "c"], "b") == ["b", "a", "c"]
    assert with_reason([], "a") == ["a"]


def test_only_the_newest_are_kept() -> None:
    reasons = [str(number) for number in range(MOST)]
    assert with_reason(reasons, "new") == ["new", *reasons[:-1]]


def test_what_is_no_reason_is_passed_over() -> None:
    assert read_reasons(["a", 1, "", None, "x" * (MAX_REASON + 1), ["b"], "c"]) == ["a", "c"]
    assert len(read_reasons(["a"] * 100)) == MOST
