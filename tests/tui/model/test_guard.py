"""Keys that decide are held back while they may have been meant for something else."""

from __future__ import annotations

import pytest

from cloche_tui.model.guard import QUIET_S, Cause, Guard


@pytest.mark.parametrize("cause", Cause)
def test_keys_are_held_back_until_all_has_been_quiet_for_a_moment(cause: Cause) -> None:
    guard = Guard().hold(cause, now=10.0)
    assert not guard.is_open(now=10.0)
    assert guard.hint(now=10.49) == f"keys wait a moment: {cause.value}"
    assert guard.is_open(now=10.0 + QUIET_S)
    assert guard.hint(now=10.0 + QUIET_S) is None


def test_an_open_guard_lets_each_key_act() -> None:
    guard, acts = Guard().press(now=1.0)
    assert acts
    assert guard.press(now=1.1) == (guard, True)


def test_a_key_that_is_kept_down_never_decides_what_came_up_under_it() -> None:
    guard = Guard().hold(Cause.ARRIVED, now=0.0)
    acted = []
    for number in range(1, 300):
        guard, acts = guard.press(now=number * 0.033)
        acted.append(acts)
    assert not any(acted)
    assert guard.press(now=299 * 0.033 + QUIET_S)[1]


def test_a_key_that_was_pressed_before_something_came_up_does_not_decide_it_however_late_it_is_taken() -> (
    None
):
    guard = Guard().hold(Cause.ARRIVED, now=10.0)
    assert guard.press(now=8.0) == (guard, False)


def test_a_move_of_ones_own_holds_nothing_back() -> None:
    guard = Guard().changed(now=0.0).moved(now=QUIET_S)
    assert guard.is_open(now=QUIET_S)


def test_a_move_while_the_list_changes_may_have_been_meant_for_another_call() -> None:
    guard = Guard().changed(now=0.0).moved(now=0.49)
    assert not guard.is_open(now=0.98)
    assert guard.hint(now=0.98) == "keys wait a moment: the list has only just changed"
    assert guard.is_open(now=0.49 + QUIET_S)


def test_a_change_of_the_list_alone_leaves_the_keys_to_what_is_selected() -> None:
    assert Guard().changed(now=1.0).is_open(now=1.0)
