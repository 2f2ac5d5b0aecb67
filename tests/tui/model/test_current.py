"""What the hub does not tell when it tells all there is, is gone."""

from __future__ import annotations

from cloche_tui.model.current import Current


def test_what_is_not_told_until_the_end_is_gone() -> None:
    current = Current()
    current.begin()
    current.tell("a")
    assert current.end({"a", "b"}) == {"b"}


def test_what_is_told_later_counts_for_nothing_and_an_end_without_a_beginning_takes_nothing() -> None:
    current = Current()
    current.tell("a")
    assert current.end({"a", "b"}) == set()
    current.begin()
    assert current.end({"a"}) == {"a"}


def test_all_is_known_from_the_first_end_on() -> None:
    current, states = Current(), []
    for step in (current.begin, lambda: current.end(set()), current.begin):
        step()
        states.append((current.is_under_way, current.is_known))
    assert states == [(True, False), (False, True), (True, True)]
