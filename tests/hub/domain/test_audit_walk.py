"""The way of a search through the audit."""

from __future__ import annotations

import pytest

from cloche_hub.domain.audit_walk import FIRST, LARGEST, PART_S, SMALLEST, Walk


def test_the_newest_part_comes_first_and_each_event_is_in_one_part() -> None:
    head = 3 * FIRST
    walk = Walk(head)
    parts = [walk.next(head), walk.next(head), walk.next(head)]
    assert parts == [(2 * FIRST + 1, head), (FIRST + 1, 2 * FIRST), (1, FIRST)]
    assert walk.next(head) is None


def test_what_comes_meanwhile_is_looked_at_before_what_is_older() -> None:
    walk = Walk(1000)
    assert walk.next(1000) == (1001 - FIRST, 1000)
    assert walk.next(1003) == (1001, 1003)
    assert walk.last == 1003
    assert walk.next(1003) == (1, 1000 - FIRST)
    assert walk.next(1003) is None
    assert walk.next(1004) == (1004, 1004)


def test_of_a_flood_the_older_part_comes_first() -> None:
    walk = Walk(0)
    assert walk.next(0) is None
    assert walk.next(FIRST + 1) == (1, FIRST)
    assert walk.next(FIRST + 1) == (FIRST + 1, FIRST + 1)


@pytest.mark.parametrize(
    ("seconds", "times", "size"),
    [(0, 1, 2 * FIRST), (0, 20, LARGEST), (PART_S, 1, FIRST), (1, 1, FIRST // 2), (1, 20, SMALLEST)],
)
def test_parts_become_as_large_as_their_time_allows(seconds: float, times: int, size: int) -> None:
    walk = Walk(100_000)
    for _ in range(times):
        walk.took(seconds)
    assert walk.next(100_000) == (100_001 - size, 100_000)
