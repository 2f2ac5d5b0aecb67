"""What follows for us from who drives a console."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cloche_tui.model.console_status import ConsoleStatus, Phase
from cloche_tui.model.wheel import Seen, Wheel, viewer_of, why_not
from tests.tui.consoles import BEGAN, boot, console, viewer

US, THEM = viewer(1, "us"), viewer(2, "ann")
FREE = console(viewers=(US, THEM))
OURS, THEIRS = replace(FREE, driver="v1"), replace(FREE, driver="v2")
WANTED = Wheel().wanted()


def test_the_wheel_that_was_wanted_is_ours_when_the_hub_says_so() -> None:
    assert WANTED.seen(FREE, "v1", None) == (WANTED, Seen.NOTHING)
    assert WANTED.seen(OURS, "v1", None) == (WANTED, Seen.OURS)


def test_a_wheel_that_is_given_to_us_is_ours() -> None:
    assert Wheel().seen(OURS, "v1", None) == (WANTED, Seen.OURS)


def test_who_loses_the_wheel_wants_it_no_more() -> None:
    assert WANTED.seen(THEIRS, "v1", None) == (Wheel(), Seen.LOST)
    assert Wheel().seen(THEIRS, "v1", None) == (Wheel(), Seen.NOTHING)
    assert WANTED.gone() == Wheel()


def test_a_wheel_that_is_being_let_go_is_not_ours_again_before_the_hub_has_heard_of_it() -> None:
    leaving = WANTED.let_go()
    assert not leaving.is_wanted
    assert leaving.seen(OURS, "v1", None) == (leaving, Seen.NOTHING)
    assert leaving.seen(THEIRS, "v1", None) == (Wheel(), Seen.NOTHING)
    assert leaving.attached() == Wheel()
    assert leaving.wanted() == WANTED


def test_who_we_were_is_known_by_more_than_a_number() -> None:
    ghost = viewer(2, "us")
    haunted = console(viewers=(replace(US, id="v3"), ghost), driver="v2")
    assert WANTED.seen(haunted, "v3", ghost) == (WANTED, Seen.GHOST)
    for other in (
        replace(ghost, token="tok_b"),
        replace(ghost, since=BEGAN + timedelta(seconds=1)),
        replace(ghost, id="v7"),
    ):
        assert WANTED.seen(haunted, "v3", other)[1] is Seen.LOST
    assert Wheel().seen(haunted, "v3", ghost)[1] is Seen.NOTHING


def test_who_asks_does_so_until_it_drives_or_leaves() -> None:
    asked = WANTED.asked(THEM)
    assert asked.seen(OURS, "v1", None)[0].asking == THEM
    assert asked.seen(THEIRS, "v1", None)[0].asking is None
    assert asked.seen(replace(OURS, viewers=(US,)), "v1", None)[0].asking is None
    assert asked.asked(None) == WANTED


def test_a_viewer_is_found_by_its_id() -> None:
    assert (viewer_of(FREE, "v2"), viewer_of(FREE, "v9"), viewer_of(FREE, None)) == (THEM, None, None)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (ConsoleStatus(Phase.LIVE, FREE, "v1"), None),
        (ConsoleStatus(Phase.LIVE, OURS, "v1"), None),
        (ConsoleStatus(Phase.LIVE, THEIRS, "v1"), "ann drives: ask, or take over"),
        (ConsoleStatus(Phase.LIVE, boot(), "v1"), "what the machine says can only be watched"),
        (ConsoleStatus(Phase.AWAY, FREE, "v1"), "not connected: nothing can be typed"),
        (ConsoleStatus(Phase.ATTACHING), "not yet: the console is not shown yet"),
        (ConsoleStatus(Phase.FAILED, reason="no room"), "no room"),
        (
            ConsoleStatus(Phase.LIVE, FREE, "v1", can_drive=False),
            "this dashboard only looks on: it was started with --readonly",
        ),
    ],
)
def test_what_keeps_a_console_from_being_driven_is_said(status: ConsoleStatus, why: str | None) -> None:
    assert why_not(status, over_others=False) == why


def test_who_takes_over_is_not_kept_by_who_drives() -> None:
    assert why_not(ConsoleStatus(Phase.LIVE, THEIRS, "v1"), over_others=True) is None
