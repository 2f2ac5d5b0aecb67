"""The list of sandboxes as a person arranges it, while sandboxes come, change and go."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cloche.filters import parse_filter
from cloche_tui.model.fleet import HISTORY, Fleet
from cloche_tui.model.sandbox_rows import ORDERS, Attention
from tests.tui.sandbox_values import NOW, has_changed, is_gone, is_now, sandbox, usage


def _fleet(*names: str) -> Fleet:
    fleet = Fleet()
    fleet.begin()
    for name in names:
        fleet.apply(is_now(sandbox(name)))
    fleet.end_of_current()
    return fleet


def _shown(fleet: Fleet) -> list[str]:
    return [row.info.name for row in fleet.rows()]


def _chosen(fleet: Fleet) -> tuple[str, ...]:
    return fleet.chosen


# What the hub tells.


def test_what_is_told_is_there_in_the_order_of_names() -> None:
    fleet = _fleet("c", "a")
    fleet.apply(has_changed(sandbox("b")))
    assert _shown(fleet) == ["a", "b", "c"]
    assert fleet.names() == ["a", "b", "c"]
    assert len(fleet) == 3


def test_nothing_is_known_before_all_has_been_told_once() -> None:
    fleet, known = Fleet(), []
    known.append(fleet.is_known)
    for step in (fleet.begin, lambda: fleet.apply(is_now(sandbox("a"))), fleet.end_of_current, fleet.begin):
        step()
        known.append(fleet.is_known)
    assert known == [False, False, False, True, True]


def test_what_goes_is_gone_with_all_that_was_known_of_it() -> None:
    fleet = _fleet("a", "b")
    fleet.apply(has_changed(usage("sb_a")))
    fleet.mark("sb_a")
    fleet.apply(is_gone(sandbox("a")))
    fleet.apply(has_changed(usage("sb_a")))
    assert _shown(fleet) == ["b"]
    assert fleet.marks == ()
    fleet.apply(has_changed(sandbox("a")))
    assert fleet.row("sb_a").cpu == ()


def test_a_sandbox_that_is_told_to_be_removed_is_gone() -> None:
    fleet = _fleet("a")
    fleet.apply(has_changed(sandbox("a", state="removed")))
    assert len(fleet) == 0


def test_a_new_subscription_replaces_everything_at_its_end_and_not_before() -> None:
    fleet = _fleet("a", "b")
    fleet.apply(has_changed(usage("sb_a")))
    fleet.select("sb_b")
    fleet.begin()
    assert _shown(fleet) == ["a", "b"]
    fleet.apply(is_now(sandbox("b", state="failed")))
    fleet.apply(is_now(sandbox("c")))
    assert _shown(fleet) == ["a", "b", "c"]
    fleet.end_of_current()
    assert _shown(fleet) == ["b", "c"]
    assert fleet.selected == "sb_b"


def test_an_end_without_a_beginning_takes_nothing_away() -> None:
    fleet = _fleet("a")
    fleet.end_of_current()
    assert _shown(fleet) == ["a"]


def test_costs_have_a_history_of_bounded_length() -> None:
    fleet = _fleet("a")
    for number in range(HISTORY + 5):
        fleet.apply(has_changed(usage("sb_a", float(number), number, at=NOW + timedelta(seconds=number))))
    row = fleet.row("sb_a")
    assert row.cpu == tuple(float(number) for number in range(5, HISTORY + 5))
    assert row.memory[-1] == HISTORY + 4
    assert row.usage is not None
    assert row.usage.cpu_percent == HISTORY + 4


def test_a_sample_that_is_told_again_counts_once_and_a_first_one_as_nothing() -> None:
    fleet = _fleet("a")
    fleet.apply(is_now(usage("sb_a", None)))
    fleet.apply(is_now(usage("sb_a", None)))
    assert fleet.row("sb_a").cpu == (0.0,)


def test_a_machine_that_does_not_run_costs_nothing() -> None:
    fleet = _fleet("a")
    fleet.apply(has_changed(usage("sb_a")))
    fleet.apply(has_changed(sandbox("a", state="failed")))
    fleet.apply(has_changed(usage("sb_a", at=NOW + timedelta(seconds=1))))
    assert fleet.row("sb_a").usage is None
    assert fleet.row("sb_a").cpu == (10.0,)


def test_a_sandbox_is_found_by_its_name_or_id() -> None:
    fleet = _fleet("a", "b")
    assert (fleet.named("b"), fleet.named("sb_a"), fleet.named("x")) == ("sb_b", "sb_a", None)
    assert fleet.get("sb_a") == sandbox("a")
    assert fleet.get("sb_x") is fleet.get(None) is None


# The order.


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("name", "abc"),
        ("state", "cab"),
        ("waits", "bca"),
        ("cpu", "bac"),
        ("memory", "abc"),
        ("age", "bac"),
        ("lease", "cab"),
        ("accelerator", "cba"),
        ("viewers", "cab"),
        ("recipe", "cba"),
        ("owner", "bac"),
        ("labels", "acb"),
    ],
)
def test_each_column_has_an_order_and_what_is_alike_stands_by_name(key: str, shown: str) -> None:
    fleet = Fleet()
    for told in (
        sandbox("a", recipe="web", owner="bob"),
        sandbox("b", accelerator="kvm", created_at=NOW, expires_at=None, labels={"x": "1"}),
        sandbox("c", state="failed", flavor="large", owner="eve", accelerator=None, expires_at=NOW),
        usage("sb_a", 5, 20),
        usage("sb_b", 9, 10),
    ):
        fleet.apply(has_changed(told))
    fleet.note({"sb_b": Attention(approvals=1, asks=("eve",)), "sb_c": Attention(viewers=2, approvals=1)})
    fleet.sort_by(key)
    assert "".join(_shown(fleet)) == shown


def test_every_order_can_be_reversed_and_what_is_alike_stays_as_it_is() -> None:
    fleet = _fleet("a", "b", "c")
    fleet.apply(has_changed(usage("sb_b", 9)))
    fleet.sort_by("cpu")
    assert (fleet.sort, _shown(fleet)) == (("cpu", True), ["b", "a", "c"])
    fleet.reverse()
    assert (fleet.sort, _shown(fleet)) == (("cpu", False), ["a", "c", "b"])
    fleet.sort_by("name", is_descending=True)
    assert _shown(fleet) == ["c", "b", "a"]


@pytest.mark.parametrize("key", ORDERS)
def test_the_order_follows_what_it_is_made_of(key: str) -> None:
    fleet = _fleet("a", "b")
    fleet.sort_by(key, is_descending=False)
    before = _shown(fleet)
    fleet.apply(has_changed(usage("sb_a", 9, 10)))
    fleet.apply(has_changed(usage("sb_b", 1, 1)))
    fleet.note({"sb_a": Attention(viewers=1, approvals=1)})
    moved = ["b", "a"] if ORDERS[key].moves_with else before
    assert _shown(fleet) == moved


# Filter.


def test_a_filter_shows_what_matches_and_counts_both() -> None:
    fleet = _fleet("web1", "web2", "db")
    assert fleet.set_filter(parse_filter("web")) == (2, 3)
    assert _shown(fleet) == ["web1", "web2"]
    assert fleet.set_filter(None) == (3, 3)


@pytest.mark.parametrize(
    "text",
    [
        "state=failed", "name=box", "sandbox=box", "owner=ann", "recipe=python", "flavor=small", "label=team=blue",
        "sb_box", "tcg", '"out of memory"', '"team=blue"',
    ],
)  # fmt: skip
def test_a_filter_finds_all_that_is_shown_of_a_sandbox(text: str) -> None:
    fleet = Fleet()
    fleet.apply(
        has_changed(sandbox("box", state="failed", end_reason="out of memory", labels={"team": "blue"}))
    )
    assert fleet.set_filter(parse_filter(text)) == (1, 1)


def test_a_filter_goes_on_as_sandboxes_change() -> None:
    fleet = _fleet("a", "b")
    fleet.set_filter(parse_filter("state=running"))
    fleet.apply(has_changed(sandbox("a", state="failed")))
    fleet.apply(has_changed(sandbox("c")))
    assert _shown(fleet) == ["b", "c"]


# Selection.


def test_the_first_one_is_selected_when_all_have_been_told() -> None:
    fleet = Fleet()
    fleet.begin()
    fleet.apply(is_now(sandbox("b")))
    assert _chosen(fleet) == ()
    fleet.apply(is_now(sandbox("a")))
    fleet.end_of_current()
    assert _chosen(fleet) == ("sb_a",)
    assert not fleet.has_slipped


def test_the_selection_stays_with_its_sandbox_wherever_that_goes() -> None:
    fleet = _fleet("b", "c")
    fleet.select("sb_c")
    fleet.apply(has_changed(sandbox("a")))
    fleet.apply(has_changed(usage("sb_c", 90)))
    fleet.sort_by("cpu")
    assert (fleet.selected, fleet.index_of("sb_c")) == ("sb_c", 0)
    assert not fleet.has_slipped


@pytest.mark.parametrize(
    ("selected", "gone", "then"), [("b", "b", "c"), ("d", "d", "c"), ("b", "bc", "d"), ("d", "cd", "b")]
)
def test_when_the_selected_one_goes_its_nearest_neighbour_is_selected_by_nobody(
    selected: str, gone: str, then: str
) -> None:
    fleet = _fleet("a", "b", "c", "d")
    fleet.select(f"sb_{selected}")
    for name in gone:
        fleet.apply(is_gone(sandbox(name)))
    assert fleet.selected == f"sb_{then}"
    assert fleet.has_slipped


def test_a_neighbour_is_chosen_once_a_person_moves_selects_or_was_told() -> None:
    def slipped() -> Fleet:
        fleet = _fleet("a", "b", "c")
        fleet.select("sb_b")
        fleet.apply(is_gone(sandbox("b")))
        assert fleet.has_slipped
        return fleet

    fleet = slipped()
    fleet.move(-1)
    assert (fleet.selected, fleet.has_slipped) == ("sb_a", False)
    fleet = slipped()
    fleet.select("sb_c")
    assert not fleet.has_slipped
    fleet = slipped()
    fleet.select("sb_x")
    assert fleet.has_slipped
    fleet.settle()
    assert not fleet.has_slipped


def test_one_that_leaves_the_filter_by_itself_slips_and_one_that_a_new_filter_hides_does_not() -> None:
    fleet = _fleet("a", "b", "c")
    fleet.select("sb_b")
    fleet.set_filter(parse_filter("name!=b"))
    assert (fleet.selected, fleet.has_slipped) == ("sb_c", False)
    fleet.set_filter(parse_filter("state=running"))
    fleet.apply(has_changed(sandbox("c", state="failed")))
    assert (fleet.selected, fleet.has_slipped) == ("sb_b", True)


def test_one_that_went_as_the_filter_changed_has_slipped_all_the_same() -> None:
    fleet = _fleet("a", "b", "c")
    fleet.select("sb_b")
    fleet.apply(is_gone(sandbox("b")))
    fleet.set_filter(parse_filter("state=running"))
    assert fleet.has_slipped


def test_moves_stop_at_both_ends() -> None:
    fleet = _fleet("a", "b", "c")
    fleet.move(1)
    assert fleet.selected == "sb_b"
    fleet.move(9)
    assert fleet.selected == "sb_c"
    fleet.move(-9)
    assert fleet.selected == "sb_a"


def test_nothing_is_selected_where_nothing_is_shown_and_the_next_one_is() -> None:
    fleet = _fleet("a")
    fleet.apply(is_gone(sandbox("a")))
    fleet.move(1)
    assert (fleet.selected, fleet.has_slipped, fleet.chosen) == (None, False, ())
    fleet.apply(has_changed(sandbox("b")))
    assert fleet.selected == "sb_b"


# Marks.


def test_what_is_chosen_are_the_marked_ones_in_their_order_else_the_selected_one() -> None:
    fleet = _fleet("a", "b", "c")
    assert _chosen(fleet) == ("sb_a",)
    fleet.mark("sb_c")
    fleet.mark("sb_b")
    assert _chosen(fleet) == ("sb_b", "sb_c")
    assert [row.is_marked for row in fleet.rows()] == [False, True, True]
    fleet.mark("sb_b")
    fleet.mark("sb_x")
    assert _chosen(fleet) == ("sb_c",)
    fleet.clear_marks()
    assert _chosen(fleet) == ("sb_a",)


def test_all_that_are_shown_can_be_marked_and_marks_outlive_the_filter() -> None:
    fleet = _fleet("web1", "web2", "db")
    fleet.set_filter(parse_filter("web"))
    fleet.mark_all()
    fleet.set_filter(parse_filter("db"))
    assert fleet.marks == ("sb_web1", "sb_web2")
    assert fleet.hidden_marks == 2


# Standing still.


def test_while_it_stands_still_order_and_values_do_not_change() -> None:
    fleet = _fleet("b", "c")
    fleet.apply(has_changed(usage("sb_b", 10)))
    fleet.sort_by("cpu")
    fleet.freeze(on=True)
    fleet.apply(has_changed(usage("sb_c", 90, at=NOW + timedelta(seconds=1))))
    fleet.apply(has_changed(sandbox("a")))
    fleet.apply(has_changed(sandbox("b", state="failed")))
    assert [(row.info.name, row.info.state, row.cpu) for row in fleet.rows()] == [
        ("b", "running", (10.0,)),
        ("c", "running", ()),
    ]
    assert fleet.new_since_frozen == 1
    fleet.freeze(on=False)
    assert [(row.info.name, row.info.state) for row in fleet.rows()] == [
        ("c", "running"),
        ("a", "running"),
        ("b", "failed"),
    ]
    assert fleet.new_since_frozen == 0


def test_what_goes_while_it_stands_still_is_said_to_be_gone_and_cannot_be_chosen() -> None:
    fleet = _fleet("a", "b")
    fleet.freeze(on=True)
    fleet.apply(is_gone(sandbox("a")))
    assert [row.is_gone for row in fleet.rows()] == [True, False]
    assert (fleet.selected, fleet.chosen) == ("sb_a", ())
    fleet.mark_all()
    assert _chosen(fleet) == ("sb_b",)
    assert fleet.live_rows(("sb_a", "sb_b")) == [fleet.row("sb_b")]
    fleet.freeze(on=False)
    assert (fleet.selected, fleet.has_slipped) == ("sb_b", True)


def test_marks_sort_and_filter_work_on_what_stands_still() -> None:
    fleet = _fleet("a", "b", "c")
    fleet.apply(has_changed(usage("sb_b", 10)))
    fleet.freeze(on=True)
    fleet.freeze(on=True)
    fleet.apply(has_changed(usage("sb_c", 90)))
    fleet.apply(has_changed(sandbox("bb")))
    fleet.sort_by("cpu")
    assert _shown(fleet) == ["b", "a", "c"]
    assert fleet.set_filter(parse_filter("name=b*")) == (1, 3)
    fleet.mark_all()
    assert [row.is_marked for row in fleet.rows()] == [True]
    assert fleet.new_since_frozen == 1
    assert fleet.is_frozen
