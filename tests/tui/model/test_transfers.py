"""What is copied: one after another, how fast, and how it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cloche.transfer import Copied
from cloche_tui.model.transfers import MOST_ENDED, Direction, Pace, State, Transfers, Wanted
from tests.tui.file_values import down, up

COPIED = Copied(1, 10, 0.5, ())


def _transfers(*names: str, sandbox: str = "sb_box") -> Transfers:
    transfers = Transfers()
    transfers.add(sandbox, "box", [down(name) for name in names])
    return transfers


def _names(transfers: Transfers) -> list[str]:
    return [one.wanted.name for one in map(transfers.get, transfers.order) if one is not None]


def test_what_is_wanted_waits_and_the_first_is_next() -> None:
    transfers = _transfers("a", "b")
    first = transfers.next_of("sb_box")
    assert first is not None
    assert (first.id, first.state, first.wanted.target) == (1, State.WAITING, "/here/a")
    assert len(transfers) == 2
    assert transfers.next_of("sb_other") is None
    assert transfers.get(9) is None


def test_a_target_is_right_below_its_folder() -> None:
    assert down("a", folder="/").target == "/a"
    assert Wanted(Direction.UP, "a", "/x/a", "/y/").target == "/y/a"


def test_each_sandbox_has_a_queue_of_its_own() -> None:
    transfers = _transfers("a")
    transfers.add("sb_other", "other", [up("b")])
    transfers.start(1, now=0.0)
    assert transfers.next_of("sb_box") is None
    other = transfers.next_of("sb_other")
    assert other is not None
    assert other.id == 2
    assert [one.id for one in transfers.under_way("sb_other")] == [2]
    assert [one.id for one in transfers.under_way()] == [1, 2]


def test_what_runs_is_shown_first_and_what_has_ended_last() -> None:
    transfers = _transfers("a", "b", "c", "d")
    for number in (1, 2):
        transfers.start(number, now=0.0)
        transfers.finish(number, COPIED)
    transfers.start(3, now=0.0)
    assert _names(transfers) == ["c", "d", "b", "a"]


@pytest.mark.parametrize(
    ("moves", "state"),
    [
        (("start", "finish"), State.DONE),
        (("start", "fail"), State.FAILED),
        (("start", "cancel"), State.CANCELLED),
        (("cancel",), State.CANCELLED),
    ],
)
def test_it_ends_once(moves: tuple[str, ...], state: State) -> None:
    transfers = _transfers("a")
    do: dict[str, Callable[[], None]] = {
        "start": lambda: transfers.start(1, now=0.0),
        "finish": lambda: transfers.finish(1, COPIED),
        "fail": lambda: transfers.fail(1, "no"),
        "cancel": lambda: transfers.cancel(1),
    }
    for move in moves:
        do[move]()
    one = transfers.get(1)
    assert one is not None
    assert (one.state, one.is_over) == (state, True)
    assert transfers.next_of("sb_box") is None
    assert transfers.under_way() == []
    for again in do.values():
        with pytest.raises(ValueError, match=f"transfer 1 is {state}"):
            again()


def test_what_waits_can_be_given_up_out_of_its_turn() -> None:
    transfers = _transfers("a", "b", "c")
    transfers.cancel(2)
    transfers.start(1, now=0.0)
    following = transfers.next_of("sb_box")
    assert following is not None
    assert following.id == 3


def test_nothing_is_finished_before_it_has_begun() -> None:
    with pytest.raises(ValueError, match="transfer 1 is waiting: it cannot finish"):
        _transfers("a").finish(1, COPIED)


def test_how_it_ended_is_kept() -> None:
    transfers = _transfers("a", "b")
    transfers.start(1, now=0.0)
    transfers.finish(1, COPIED)
    transfers.start(2, now=0.0)
    transfers.fail(2, "no room")
    done, failed = transfers.get(1), transfers.get(2)
    assert done is not None
    assert failed is not None
    assert (done.copied, done.done_bytes, done.total_bytes, failed.message) == (COPIED, 10, 10, "no room")


def test_what_has_ended_is_put_away_and_never_more_than_so_much_kept() -> None:
    transfers = _transfers(*(str(number) for number in range(MOST_ENDED + 3)))
    for number in range(1, MOST_ENDED + 3):
        transfers.cancel(number)
    assert len(transfers) == MOST_ENDED + 1
    assert transfers.get(2) is None
    transfers.put_away()
    assert _names(transfers) == [str(MOST_ENDED + 2)]


# How fast.


def test_nothing_is_said_of_a_pace_before_bytes_have_moved_for_a_while() -> None:
    transfers = _transfers("a")
    assert transfers.pace(1, now=0.0) is None
    transfers.start(1, now=0.0)
    assert transfers.pace(1, now=9.0) is None
    transfers.progress(1, 10, 100, "a", now=9.0)
    assert transfers.pace(1, now=9.4) is None


def test_the_pace_begins_when_counting_is_over() -> None:
    transfers = _transfers("a")
    transfers.start(1, now=0.0)
    transfers.progress(1, 0, 1000, "a", now=2.0)
    transfers.progress(1, 200, 1000, "a", now=4.0)
    assert transfers.pace(1, now=4.0) == Pace(100.0, 8.0)


def test_the_pace_is_that_of_the_last_seconds() -> None:
    transfers = _transfers("a")
    transfers.start(1, now=0.0)
    transfers.progress(1, 0, 10_000, "a", now=0.0)
    for second in range(1, 11):
        transfers.progress(1, second * 900, 10_000, "a", now=float(second))
    for second in range(11, 17):
        transfers.progress(1, 9000 + (second - 10) * 10, 10_000, "a", now=float(second))
    pace = transfers.pace(1, now=16.0)
    assert pace is not None
    assert pace.bytes_per_s == pytest.approx(10)
    assert pace.left_s == pytest.approx(94)


def test_what_stalls_is_seen_to_stall() -> None:
    transfers = _transfers("a")
    transfers.start(1, now=0.0)
    transfers.progress(1, 0, 100, "a", now=0.0)
    assert transfers.pace(1, now=60.0) == Pace(0.0, None)


def test_samples_are_not_taken_more_often_than_needed() -> None:
    transfers = _transfers("a")
    transfers.start(1, now=0.0)
    for number in range(1000):
        transfers.progress(1, number, 1000, "a", now=number / 1000)
    assert len(transfers._samples[1]) <= 6
    one = transfers.get(1)
    assert one is not None
    assert (one.done_bytes, one.total_bytes, one.path) == (999, 1000, "a")


def test_progress_of_what_does_not_run_changes_nothing() -> None:
    transfers = _transfers("a", "b")
    before = transfers.get(2)
    transfers.progress(2, 1, 2, "b", now=0.0)
    transfers.progress(9, 1, 2, "b", now=0.0)
    assert transfers.get(2) == before
