"""How long a guest is waited for."""

from __future__ import annotations

from cloche_hub.guestlink.bounds import MAX_BREAKS, LinkBounds, link_bounds, pause_before_link
from cloche_wire.aio import Heartbeat


def test_a_machine_in_software_emulation_is_waited_for_longer_in_everything() -> None:
    assert link_bounds(interval_s=5, silent_after_s=20, scale=1) == LinkBounds(1, 20, 20, Heartbeat(5, 20))
    assert link_bounds(interval_s=5, silent_after_s=20, scale=4) == LinkBounds(4, 80, 80, Heartbeat(20, 80))


def test_the_first_break_costs_no_time_and_later_ones_ever_more_up_to_a_second() -> None:
    pauses = [pause_before_link(breaks) for breaks in range(MAX_BREAKS)]
    assert pauses[:4] == [0.0, 0.0, 0.01, 0.02]
    assert pauses == sorted(pauses)
    assert max(pauses) == 1.0
