"""A list that may not be all there is."""

from __future__ import annotations

from cloche.partial import Partial


def test_it_is_a_list_that_says_how_much_is_missing() -> None:
    found = Partial(iter((1, 2)), omitted=3)
    assert (found, found.omitted) == ([1, 2], 3)
