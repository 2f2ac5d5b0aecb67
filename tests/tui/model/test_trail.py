"""A list as long as the audit: places, what is held of it, and what is new."""

from __future__ import annotations

import pytest

from cloche_tui.model import trail as module
from cloche_tui.model.trail import BRIEF, MOST_ROWS, MOST_WANTED, Trail, row_of
from tests.tui.trail_values import all_of_them, event, part


def numbers(trail: Trail) -> list[int]:
    return [trail.number_at(index) for index in range(len(trail))]


def put(trail: Trail, *wanted: int) -> None:
    trail.put(row_of(event(number), {}) for number in wanted)


def test_where_everything_is_wanted_an_events_place_is_its_number_less_one() -> None:
    trail = Trail()
    trail.add(all_of_them(1_000_000))
    assert (len(trail), trail.number_at(0), trail.number_at(999_999)) == (1_000_000, 1, 1_000_000)
    assert (trail.index_of(500), trail.index_of(1_000_000)) == (499, 999_999)
    assert (trail.index_of(0), trail.index_of(1_000_001)) == (None, None)
    assert not trail.is_searching


def test_what_is_found_is_in_the_chains_order_whichever_part_came_first() -> None:
    trail = Trail()
    trail.add(part(900, 1000, 950, 990))
    assert numbers(trail) == [950, 990]
    trail.add(part(1001, 1002, 1001, 1002, head=1002))
    trail.add(part(100, 899, 150, 160, 800, head=1002))
    trail.add(part(1003, 1003, 1003, head=1003))
    trail.add(part(1, 99, 3, head=1003))
    assert numbers(trail) == [3, 150, 160, 800, 950, 990, 1001, 1002, 1003]
    assert [trail.index_of(number) for number in numbers(trail)] == list(range(9))
    assert [trail.index_of(number) for number in (1, 155, 900, 1000, 1004)] == [None] * 5


def test_what_comes_where_nothing_was_found_is_followed_by_what_is_older_and_newer() -> None:
    trail = Trail()
    trail.add(part(900, 1000))
    trail.add(part(1001, 1001, 1001, head=1001))
    trail.add(part(500, 899, 600, head=1001))
    trail.add(part(1002, 1002, 1002, head=1002))
    assert numbers(trail) == [600, 1001, 1002]


def test_the_nearest_place_of_what_is_not_there_is_what_comes_after_it() -> None:
    trail = Trail()
    trail.add(part(1, 1000, 10, 20, 30))
    trail.add(part(1001, 1002, 1002))
    assert [trail.nearest(number) for number in (1, 10, 11, 30, 31, 1002, 5000)] == [0, 0, 1, 2, 3, 3, 3]


def test_how_far_a_search_has_come_is_known() -> None:
    trail = Trail()
    trail.add(part(900, 1000))
    assert (trail.searched, trail.head, trail.is_searching) == (101, 1000, True)
    trail.add(part(1, 899))
    assert (trail.searched, trail.is_searching) == (1000, False)


def test_another_search_begins_with_nothing() -> None:
    trail = Trail()
    trail.add(all_of_them(50))
    trail.begin()
    assert (len(trail), trail.searched, trail.head) == (0, 0, 0)
    trail.add(part(40, 50, 41, head=50))
    assert numbers(trail) == [41]


def test_more_than_can_be_held_is_left_out_from_the_oldest_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FOUND", 3)
    trail = Trail()
    trail.add(part(900, 1000, 950, 990))
    trail.add(part(500, 899, 500, 600))
    trail.add(part(1, 499, 1))
    assert trail.is_full
    assert not trail.is_searching
    assert numbers(trail) == [950, 990]
    trail.add(part(1001, 1002, 1001, 1002))
    assert numbers(trail) == [950, 990, 1001, 1002]


# Rows.


def test_a_row_is_there_once_it_has_come_and_only_missing_ones_are_asked_for() -> None:
    trail = Trail()
    trail.add(all_of_them(1000))
    assert trail.row(99) is None
    assert trail.missing(99, 3) == [100, 101, 102]
    put(trail, 100, 101)
    assert trail.row(99) == row_of(event(100), {})
    assert trail.kept(101) == row_of(event(101), {})
    assert trail.missing(99, 3) == [102]


def test_screens_below_and_above_are_asked_for_when_all_on_the_screen_are_there() -> None:
    trail = Trail()
    trail.add(all_of_them(105))
    put(trail, *range(90, 93))
    assert trail.missing(89, 3) == list(range(93, 102))
    put(trail, *range(93, 102))
    assert trail.missing(89, 3) == list(range(81, 90))
    put(trail, *range(81, 90))
    assert trail.missing(89, 3) == []
    assert trail.missing(103, 5) == [104, 105]
    assert trail.missing(0, 2) == [1, 2]


def test_no_more_is_asked_for_at_once_than_a_screen_could_show() -> None:
    trail = Trail()
    trail.add(all_of_them(10_000))
    assert trail.missing(0, 5000) == list(range(1, MOST_WANTED + 1))
    put(trail, *range(9801, 10_001))
    assert trail.missing(9800, 200) == list(range(9801 - MOST_WANTED, 9801))


def test_what_the_hub_has_not_is_not_asked_for_again() -> None:
    trail = Trail()
    trail.add(all_of_them(3))
    trail.put([row_of(event(1), {})], asked=[1, 2, 3])
    assert trail.missing(0, 3) == []
    assert trail.row(1) is None


def test_rows_that_were_not_looked_at_for_longest_leave_first() -> None:
    trail = Trail()
    trail.add(all_of_them(MOST_ROWS + 10))
    put(trail, *range(1, MOST_ROWS + 1))
    assert trail.row(0) is not None
    put(trail, MOST_ROWS + 1)
    assert trail.kept(1) is not None
    assert trail.kept(2) is None
    trail.forget_rows()
    assert trail.kept(1) is None


def test_a_row_is_as_large_as_a_list_can_show() -> None:
    detail = {f"name_{number}": "x" * 100_000 for number in range(100)}
    row = row_of(event(1, **detail), {"tok_1": "laptop", "sb_1": "box"})
    assert (row.actor_name, row.sandbox_name, len(row.about)) == ("laptop", "box", BRIEF)
    assert row_of(event(1, sandbox=None), {}).about == ""
    assert row_of(event(1, path="/a\u202eb"), {}).about == r'path: "/a\u202eb"'


def test_a_row_begins_with_what_tells_a_person_most() -> None:
    row = row_of(event(1, console="con_x3n7", rule="by hand", approval="apr_1", argv=["ls"]), {})
    assert row.about == 'argv: ["ls"], rule: "by hand", approval: "apr_1", console: "con_x3n7"'


# Following.


def test_who_follows_has_seen_everything() -> None:
    trail = Trail()
    trail.add(all_of_them(10))
    assert (trail.is_followed, trail.unseen) == (True, 0)


@pytest.mark.parametrize("wants_all", [True, False])
def test_who_stands_still_is_told_how_many_have_come_since(*, wants_all: bool) -> None:
    trail = Trail()
    trail.add(all_of_them(900) if wants_all else part(100, 900, 850, 900, head=900))
    trail.follow(is_on=False)
    assert trail.unseen == 0
    trail.add(all_of_them(905) if wants_all else part(901, 905, 901, 903, head=905))
    assert trail.unseen == (5 if wants_all else 2)
    trail.follow(is_on=False)
    assert trail.unseen == (5 if wants_all else 2)
    trail.follow(is_on=True)
    assert (trail.is_followed, trail.unseen) == (True, 0)


def test_older_events_that_are_found_later_are_not_new() -> None:
    trail = Trail()
    trail.add(part(100, 900, 850, 900, head=900))
    trail.follow(is_on=False)
    trail.add(part(1, 99, 1, 2, 3, head=900))
    assert trail.unseen == 0


def test_what_a_filter_has_hidden_is_not_new_without_it() -> None:
    trail = Trail()
    trail.add(part(1, 900, 850, head=900))
    trail.follow(is_on=False)
    trail.begin()
    trail.add(all_of_them(903))
    assert trail.unseen == 3


def test_an_empty_list_stands_still_too() -> None:
    trail = Trail()
    trail.follow(is_on=False)
    assert trail.unseen == 0
    trail.add(part(1, 1, 1, head=1))
    assert trail.unseen == 1
