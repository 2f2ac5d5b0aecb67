"""When frames of a console are due."""

from __future__ import annotations

import pytest

from cloche_tui.widgets.terminal_pace import FRAME_S, LEAD_S, MOST_AT_ONCE, MOST_HELD_S, Pace


def test_what_comes_after_a_while_is_painted_in_a_moment() -> None:
    pace = Pace()
    assert pace.delay(0.0) == LEAD_S
    pace.painted(10.0)
    assert pace.delay(11.0) == LEAD_S


def test_a_flood_is_painted_so_many_times_a_second() -> None:
    pace = Pace()
    now = painted = 10.0
    for _ in range(100):
        now += pace.delay(now)
        pace.painted(now)
    assert now - painted == pytest.approx(100 * FRAME_S, rel=0.05)


def test_an_answer_in_a_few_pieces_need_not_wait_for_a_frames_time() -> None:
    pace = Pace()
    for _ in range(MOST_AT_ONCE):
        assert pace.delay(10.0) == LEAD_S
        pace.painted(10.0)
    assert pace.delay(10.01) == pytest.approx(FRAME_S - 0.01)


def test_an_update_that_is_under_way_is_held_until_its_end_or_for_a_second() -> None:
    pace = Pace()
    assert pace.holds(5.0, is_held=True) == MOST_HELD_S
    assert pace.holds(5.4, is_held=True) == pytest.approx(MOST_HELD_S - 0.4)
    assert pace.holds(5.5, is_held=False) is None
    assert pace.holds(7.0, is_held=True) == MOST_HELD_S
    assert pace.holds(8.0, is_held=True) is None
