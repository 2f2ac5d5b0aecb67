"""Going through what a search has found."""

from __future__ import annotations

from cloche_term.terminal import Match
from cloche_tui.model.matches import Matches

FOUND = (Match(3, 0, 2), Match(5, 8, 4), Match(9, 1, 2))


def test_it_begins_at_the_newest_and_goes_round() -> None:
    matches = Matches("ab", FOUND, cols=10)
    assert (matches.text, len(matches), matches.current, matches.number) == ("ab", 3, FOUND[2], 1)
    assert matches.step(-1) == FOUND[1]
    assert matches.number == 2
    assert matches.step(-1) == FOUND[0]
    assert matches.step(-1) == FOUND[2]
    assert matches.step(1) == FOUND[0]


def test_a_match_that_was_wrapped_is_on_all_its_lines() -> None:
    matches = Matches("ab", FOUND, cols=10)
    assert [len(matches.on_line(line)) for line in range(3, 8)] == [1, 0, 1, 1, 0]


def test_nothing_found_is_nothing_to_go_to() -> None:
    matches = Matches("ab", (), cols=10)
    assert matches.step(1) is None
    assert (len(matches), matches.number) == (0, 0)
