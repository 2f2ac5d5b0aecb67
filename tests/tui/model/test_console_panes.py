"""Which panes there are, what they show, and which of them is seen."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_tui.model.console_panes import (
    Layout,
    Panes,
    closable,
    from_plain,
    in_order,
    newest_console,
    next_console,
    room_note,
    to_plain,
)
from tests.tui.consoles import boot, console


def _panes(layout: Layout, *names: str) -> Panes:
    """Panes with consoles of these names, the last one focused."""
    panes = Panes().arranged(Layout.GRID)
    for name in names:
        panes = panes.opened(f"sb_{name}", f"con_{name}")
    return panes.arranged(Layout.BESIDE).arranged(layout)


def _names(panes: Panes) -> str:
    return " ".join(pane.sandbox.removeprefix("sb_") for pane in panes.all)


def _shown(panes: Panes) -> str:
    return " ".join(pane.sandbox.removeprefix("sb_") for pane in panes.shown)


def _focused(panes: Panes) -> str:
    assert panes.focused is not None
    return panes.focused.sandbox.removeprefix("sb_")


# Opening.


def test_without_panes_nothing_is_shown_or_focused() -> None:
    assert (Panes().shown, Panes().focused, Panes(layout=Layout.FULL).covers) == ((), None, False)


def test_a_free_pane_of_the_layout_is_taken_and_then_the_focused_one_makes_room() -> None:
    panes = Panes(layout=Layout.SPLIT).opened("sb_a", "con_a").opened("sb_b", "con_b")
    assert (_names(panes), _focused(panes)) == ("a b", "b")
    panes = panes.opened("sb_c", "con_c")
    assert (_names(panes), _focused(panes)) == ("a c", "c")
    assert [pane.key for pane in panes.all] == [1, 3]


def test_a_console_that_is_in_a_pane_is_gone_to() -> None:
    panes = _panes(Layout.GRID, "a", "b", "c").opened("sb_a", "con_a")
    assert (_names(panes), _focused(panes)) == ("a b c", "a")


def test_a_console_that_we_drive_makes_no_room_as_long_as_there_is_another_way() -> None:
    panes = _panes(Layout.BESIDE, "a")
    driven = {1}
    panes = panes.opened("sb_b", "con_b", driven=driven)
    assert (_names(panes), _focused(panes)) == ("a b", "b")
    panes = _panes(Layout.GRID, "a", "b", "c", "d")
    assert _names(panes.opened("sb_e", None, driven={4})) == "e b c d"
    assert _names(panes.opened("sb_e", None, driven={1})) == "a b c e"
    assert _names(panes.opened("sb_e", None, driven={1, 2, 3, 4})) == "a b c e"


def test_a_new_console_is_another_one_than_all_there_are() -> None:
    panes = Panes(layout=Layout.SPLIT).opened("sb_a", None, is_new=True)
    assert _names(panes.opened("sb_a", None)) == "a"
    assert _names(panes.opened("sb_a", None, is_new=True)) == "a a"


def test_several_sandboxes_are_shown_together_in_a_layout_that_has_room_for_them() -> None:
    one = _panes(Layout.BESIDE, "x")
    two = one.together({"sb_a": None, "sb_x": "con_other"})
    # What is shown of a sandbox already stays, in its place among the others.
    assert (two.layout, [pane.console for pane in two.shown]) == (Layout.SPLIT, [None, "con_x"])
    assert two.all[1] is one.all[0]
    five = two.together(dict.fromkeys(f"sb_{name}" for name in "abcde"))
    assert (five.layout, _shown(five)) == (Layout.GRID, "a b c d")
    assert len({pane.key for pane in five.all}) == 4
    assert five.next_key > max(pane.key for pane in five.all)
    assert five.uncovered().layout is Layout.SPLIT


def test_a_pane_without_a_console_gets_one_later() -> None:
    panes = Panes(layout=Layout.SPLIT).opened("sb_a", None).opened("sb_b", None)
    panes = panes.showing(1, "con_a")
    assert [pane.console for pane in panes.all] == ["con_a", None]


# Closing.


@pytest.mark.parametrize(
    ("focused", "closed", "left", "then"),
    [("a", 1, "b c", "b"), ("b", 1, "b c", "b"), ("b", 2, "a c", "c"), ("c", 3, "a b", "b"), ("c", 9, "a b c", "c")],
)  # fmt: skip
def test_the_focus_goes_to_a_neighbour_of_a_closed_pane(
    focused: str, closed: int, left: str, then: str
) -> None:
    panes = _panes(Layout.GRID, "a", "b", "c").opened(f"sb_{focused}", f"con_{focused}").closed(closed)
    assert (_names(panes), _focused(panes)) == (left, then)


def test_the_last_pane_can_be_closed() -> None:
    panes = _panes(Layout.GRID, "a").closed(1)
    assert (panes.all, panes.focused, panes.covers) == ((), None, False)


# Layouts.


@pytest.mark.parametrize(
    ("layout", "shown", "covers"),
    [(Layout.BESIDE, "c", False), (Layout.SPLIT, "c d", False), (Layout.GRID, "a b c d", True), (Layout.FULL, "c", True)],
)  # fmt: skip
def test_a_layout_shows_so_many_panes_and_always_the_focused_one(
    layout: Layout, shown: str, covers: bool
) -> None:
    panes = _panes(layout, "a", "b", "c", "d").opened("sb_c", "con_c")
    assert (_shown(panes), panes.covers) == (shown, covers)


def test_layouts_follow_one_another() -> None:
    panes = _panes(Layout.BESIDE, "a")
    seen = []
    for _ in range(3):
        panes = panes.turned()
        seen.append(panes.layout)
    assert seen == [Layout.SPLIT, Layout.GRID, Layout.BESIDE]
    assert _panes(Layout.SPLIT, "a").filled().turned().layout is Layout.GRID


def test_the_whole_screen_is_given_and_given_back() -> None:
    panes = _panes(Layout.SPLIT, "a", "b")
    assert panes.filled().layout is Layout.FULL
    assert panes.filled().filled() == panes
    assert panes.arranged(Layout.GRID).filled().uncovered().layout is Layout.SPLIT


def test_the_list_comes_back_from_where_it_is_covered() -> None:
    panes = _panes(Layout.SPLIT, "a", "b")
    assert panes.uncovered() == panes
    assert panes.arranged(Layout.GRID).uncovered().layout is Layout.SPLIT


# The focus.


def _round(panes: Panes, by: int, *, at_list: bool) -> list[str]:
    stops = []
    for _ in range(4):
        panes, at_list = panes.stepped(by, at_list=at_list)
        stops.append("list" if at_list else _focused(panes))
    return stops


def test_the_focus_goes_around_through_the_list_and_what_is_shown() -> None:
    panes = _panes(Layout.SPLIT, "a", "b")
    assert _round(panes, 1, at_list=True) == ["a", "b", "list", "a"]
    assert _round(panes, -1, at_list=True) == ["b", "a", "list", "b"]
    assert _round(_panes(Layout.BESIDE, "a", "b"), 1, at_list=True) == ["b", "list", "b", "list"]


def test_where_the_list_is_covered_the_focus_goes_through_the_panes() -> None:
    assert _round(_panes(Layout.GRID, "a", "b"), 1, at_list=False) == ["a", "b", "a", "b"]
    assert _round(_panes(Layout.FULL, "a", "b", "c"), -1, at_list=False) == ["b", "a", "c", "b"]
    assert _round(_panes(Layout.FULL, "a", "b"), 1, at_list=True) == ["a", "b", "a", "b"]


def test_without_panes_the_list_keeps_the_focus() -> None:
    assert Panes().stepped(1, at_list=False) == (Panes(), True)


def test_a_pane_that_is_gone_is_not_focused() -> None:
    panes = _panes(Layout.GRID, "a", "b")
    assert _focused(panes.focusing(1)) == "a"
    assert panes.focusing(9) == panes
    assert (panes.pane(1), panes.pane(9)) == (panes.all[0], None)


# Which console is meant.


def test_the_newest_open_console_is_meant_and_the_machines_own_if_there_is_none() -> None:
    ended = console(9, state="ended")
    assert newest_console([boot(5), console(1), console(3), console(2), ended]) == console(3)
    assert newest_console([ended, boot(5)]) == boot(5)
    assert newest_console([ended]) is None


def test_what_the_machine_says_and_what_has_ended_cannot_be_ended() -> None:
    assert closable([console(2), boot(0), console(1), console(9, state="ended")]) == [console(1), console(2)]


@pytest.mark.parametrize(
    ("layout", "names", "note"),
    [
        (Layout.SPLIT, "a", "room for 2, but one console is open: x adds one"),
        (Layout.GRID, "a", "room for 4, but one console is open: x adds one"),
        (Layout.SPLIT, "ab", ""),
        (Layout.BESIDE, "a", ""),
        (Layout.FULL, "a", ""),
    ],
)
def test_room_for_what_is_not_there_is_told(layout: Layout, names: str, note: str) -> None:
    assert room_note(_panes(layout, *names), "x adds one") == note


def test_the_consoles_of_a_sandbox_follow_one_another() -> None:
    there = [console(2), boot(0), console(1), console(9, state="ended")]
    assert in_order(there) == [boot(0), console(1), console(2)]
    assert next_console(there, "con_1") == console(2)
    assert next_console(there, "con_2") == boot(0)
    assert next_console(there, "con_9") == console(2)
    assert next_console([console(1)], "con_1") is None
    assert next_console([], None) is None


# What is remembered.


def test_what_was_left_is_found_again_without_what_is_gone() -> None:
    panes = _panes(Layout.SPLIT, "a", "b", "c").opened("sb_b", "con_b")
    found = from_plain(to_plain(panes), is_there=lambda _: True)
    assert (_names(found), _focused(found), found.layout) == ("a b c", "b", Layout.SPLIT)
    assert found.opened("sb_d", None).next_key == 5
    assert _names(from_plain(to_plain(panes), is_there="sb_b".__eq__)) == "b"
    assert from_plain(to_plain(panes.filled()), is_there=lambda _: False).layout is Layout.SPLIT
    assert from_plain(to_plain(panes.arranged(Layout.GRID)), is_there=lambda _: False).layout is Layout.GRID


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"layout": ["grid"], "panes": {"a": 1}, "focus": "x"},
        {"layout": "huge", "panes": [1, {"sandbox": 2}, {"console": "c"}], "focus": 7},
    ],
)
def test_what_cannot_be_understood_is_forgotten(value: Any) -> None:
    assert from_plain(value, is_there=lambda _: True) == Panes()


def test_a_console_comes_back_once_and_no_more_than_there_is_room_for() -> None:
    pane = {"sandbox": "sb_a", "console": 5}
    many = [{"sandbox": f"sb_{number}", "console": "c"} for number in range(9)]
    found = from_plain({"panes": [pane, pane, *many]}, is_there=lambda _: True)
    assert _names(found) == "a 0 1 2"
    assert found.all[0].console is None
