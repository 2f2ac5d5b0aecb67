"""A sandbox's states, moves and lease."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.sandbox import (
    MAX_REASON,
    TRANSITIONS,
    Move,
    State,
    is_expired,
    move,
    require_running,
    touched,
)
from cloche_hub.errors import WrongState
from tests.hub.domain.examples import MOMENT, sandbox

LATER = MOMENT + timedelta(seconds=30)
MINUTE = timedelta(seconds=60)


def test_a_sandbox_lives_from_creating_over_running_and_removing_to_removed() -> None:
    running = move(sandbox(), Move.START, at=MOMENT)
    removing = move(running, Move.REMOVE, at=LATER, reason="removed by admin")
    removed = move(removing, Move.END, at=LATER)
    assert running == sandbox(state=State.RUNNING, expires_at=MOMENT + MINUTE)
    assert removing == replace(running, state=State.REMOVING, end_reason="removed by admin")
    assert removed == replace(removing, state=State.REMOVED, ended_at=LATER)


def test_a_failed_sandbox_keeps_its_own_reason_and_end_when_it_is_removed() -> None:
    failed = move(sandbox(), Move.FAIL, at=MOMENT, reason="no space left")
    removed = move(move(failed, Move.REMOVE, at=LATER, reason="removed by admin"), Move.END, at=LATER)
    assert failed == sandbox(
        state=State.FAILED, end_reason="no space left", ended_at=MOMENT, expires_at=MOMENT + MINUTE
    )
    assert removed == replace(failed, state=State.REMOVED)


def test_failing_takes_nothing_from_a_running_sandboxs_lease_and_adds_nothing() -> None:
    running = sandbox(state=State.RUNNING, expires_at=MOMENT + MINUTE)
    assert move(running, Move.FAIL, at=LATER).expires_at == MOMENT + MINUTE


@given(st.lists(st.sampled_from(list(Move))))
def test_whatever_is_tried_only_the_tables_moves_happen(moves: list[Move]) -> None:
    current = sandbox()
    for what in moves:
        after = TRANSITIONS.get((current.state, what))
        if after is None:
            with pytest.raises(WrongState) as refusal:
                move(current, what, at=MOMENT, reason="because")
            for part in (current.name, current.id, current.state, what):
                assert part in refusal.value.message
            assert refusal.value.details == {"sandbox": current.id, "state": current.state, "move": what}
        else:
            current = move(current, what, at=MOMENT, reason="because")
            assert current.state is after
    assert (current.ended_at is not None) >= (current.state in {State.FAILED, State.REMOVED})
    assert (current.expires_at is not None) >= (current.state in {State.RUNNING, State.FAILED})


def test_from_every_state_but_removed_there_is_a_way_to_removed() -> None:
    reachable = {State.REMOVED}
    for _ in State:
        reachable |= {before for (before, _), after in TRANSITIONS.items() if after in reachable}
    assert reachable == set(State)
    assert not [before for before, _ in TRANSITIONS if before is State.REMOVED]


def test_a_refused_move_says_why_the_sandbox_is_where_it_is() -> None:
    failed = move(sandbox(), Move.FAIL, at=MOMENT, reason="crashed")
    with pytest.raises(
        WrongState, match=r"cannot start sandbox mossy-acorn \(sb_7k2m9qx4tn0c\): it is failed \(crashed\)"
    ):
        move(failed, Move.START, at=MOMENT)


def test_a_reason_is_kept_as_one_line_of_bounded_length() -> None:
    failed = move(sandbox(), Move.FAIL, at=MOMENT, reason="qemu:\n  no\tmemory " + "x" * 1000)
    assert failed.end_reason is not None
    assert failed.end_reason.startswith("qemu: no memory xxx")
    assert len(failed.end_reason) == MAX_REASON


def test_everything_but_a_removed_sandbox_holds_its_name() -> None:
    assert [state for state in State if not sandbox(state=state).live] == [State.REMOVED]


def test_a_touch_gives_the_whole_lease_again() -> None:
    running = sandbox(state=State.RUNNING, expires_at=MOMENT + MINUTE)
    assert touched(running, at=LATER).expires_at == LATER + MINUTE


def test_a_touch_by_a_clock_that_stepped_back_takes_nothing_away() -> None:
    running = sandbox(state=State.RUNNING, expires_at=MOMENT + MINUTE)
    assert touched(running, at=MOMENT - MINUTE) is running


def test_a_lease_runs_out_at_its_very_moment() -> None:
    running = sandbox(state=State.RUNNING, expires_at=LATER)
    assert not is_expired(running, now=LATER - timedelta(microseconds=1))
    assert is_expired(running, now=LATER)


def test_only_running_and_failed_sandboxes_expire() -> None:
    expired = [state for state in State if is_expired(sandbox(state=state, expires_at=MOMENT), now=LATER)]
    assert expired == [State.RUNNING, State.FAILED]
    assert not is_expired(sandbox(state=State.RUNNING), now=LATER)


def test_only_a_running_sandbox_can_be_used() -> None:
    running = sandbox(state=State.RUNNING)
    assert require_running(running) is running
    with pytest.raises(WrongState, match=r"mossy-acorn \(sb_7k2m9qx4tn0c\) is creating, not running"):
        require_running(sandbox())
