"""What is told of a connection."""

from __future__ import annotations

from cloche import LinkNews


def test_losing_and_finding_the_hub_are_turns_and_attempts_are_none() -> None:
    assert LinkNews(is_up=False, text="lost", attempt=1).is_turn
    assert LinkNews(is_up=True, text="back", resumed=True).is_turn
    assert not LinkNews(is_up=False, text="still away", attempt=2).is_turn
