"""The connection's states, and how they are said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cloche import HubStatus
from cloche_tui.model.link import (
    Answered,
    Broke,
    Connecting,
    Failed,
    IllegalMove,
    LinkState,
    Lost,
    Up,
    after,
    banner,
    duration,
)
from cloche_tui.model.roles import Role, plain_text

T0 = datetime(2026, 1, 2, 9, 41, 3, tzinfo=UTC)
STATUS = HubStatus("0.1.0", 7, "unix:///hub.sock", "tcg", "no kvm here", 2, T0)
UP = Up(T0, "unix:///hub.sock", STATUS)


def _later(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def _said(state: LinkState, seconds: float, width: int = 200) -> str:
    return plain_text(banner(state, _later(seconds), width, zone=UTC))


def test_a_hub_that_answers_is_up() -> None:
    assert after(Connecting(attempt=4, reason="no hub"), Answered(T0, "unix:///hub.sock", STATUS)) == UP


def test_failed_attempts_are_counted_and_remember_why() -> None:
    state = after(Connecting(), Failed("no hub is running", _later(0.2)))
    assert state == Connecting(attempt=2, reason="no hub is running", next_try_at=_later(0.2))
    assert after(state, Broke(T0, "it went away")) == Connecting(attempt=3, reason="it went away")


def test_a_connection_that_breaks_is_lost_from_then_on() -> None:
    lost = after(UP, Broke(_later(60), "the socket closed"))
    assert lost == Lost(_later(60), "the socket closed", as_of=_later(60), attempt=1)


def test_what_is_shown_is_as_old_as_the_last_word_of_a_silent_hub() -> None:
    lost = after(UP, Broke(_later(60), "silence", silent_s=20))
    assert isinstance(lost, Lost)
    assert lost.as_of == _later(40)


def test_attempts_to_find_a_lost_hub_do_not_make_the_loss_younger() -> None:
    lost = after(UP, Broke(_later(60), "the socket closed"))
    lost = after(lost, Failed("nobody listens", _later(65)))
    lost = after(lost, Broke(_later(80), "closed again", next_try_at=_later(81)))
    assert lost == Lost(_later(60), "closed again", as_of=_later(60), attempt=3, next_try_at=_later(81))


def test_a_hub_that_is_found_again_is_up_since_then() -> None:
    lost = after(UP, Broke(_later(60), "the socket closed"))
    assert after(lost, Answered(_later(70), UP.address, STATUS)) == replace(UP, since=_later(70))


def test_another_answer_of_a_hub_that_is_up_changes_its_status_only() -> None:
    fresh = replace(STATUS, machines=3)
    assert after(UP, Answered(_later(9), UP.address, fresh)) == replace(UP, status=fresh)


def test_a_connection_that_is_up_cannot_have_failed_to_be_made() -> None:
    with pytest.raises(IllegalMove, match="that is Up cannot have Failed"):
        after(UP, Failed("no hub"))


def test_nothing_is_said_while_all_is_well() -> None:
    assert banner(UP, T0, 80) == ()


def test_the_first_attempt_is_said_without_alarm() -> None:
    (span,) = banner(Connecting(), T0, 80)
    assert span.text == "… connecting to the hub"
    assert span.role is Role.MUTED


def test_an_attempt_that_failed_says_why_and_when_the_next_one_is() -> None:
    state = Connecting(2, "no hub is running; start one with: cloche hub --background", _later(3))
    assert _said(state, 0) == (
        "! not connected · trying again in 3 s · no hub is running; start one with: cloche hub --background"
    )
    assert _said(state, 0, width=78) == (
        "! not connected · no hub is running; start one with: cloche hub --background"
    )
    assert _said(state, 0, width=70) == (
        "! not connected · trying again in 3 s · no hub is running; start one …"
    )
    assert _said(state, 0, width=40) == "! not connected · trying again in 3 s"


def test_a_lost_connection_says_since_when_and_how_old_what_is_shown_is() -> None:
    lost = Lost(T0, "the socket closed", as_of=T0, next_try_at=_later(15))
    assert _said(lost, 12) == (
        "! connection lost 12 s ago · trying again in 3 s · what you see is as of 09:41:03 · the socket closed"
    )
    (span,) = banner(lost, _later(12), 200, zone=UTC)
    assert span.role is Role.BAD


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (90, "! lost 12 s ago · trying again in 3 s · shown as of 09:41:03 · the socket closed"),
        (80, "! lost 12 s ago · trying again in 3 s · shown as of 09:41:03 · the socket closed"),
        (79, "! lost 12 s ago · as of 09:41:03 · the socket closed"),
        (40, "! lost 12 s ago · the socket closed"),
        (34, "! lost 12 s ago · as of 09:41:03"),
        (10, "! lost 12 s ago"),
    ],
)
def test_a_narrow_screen_gets_fewer_words(width: int, text: str) -> None:
    assert _said(Lost(T0, "the socket closed", as_of=T0, next_try_at=_later(15)), 12, width) == text


def test_what_to_do_is_said_whole_where_there_is_any_room_for_it() -> None:
    """Half a command helps nobody."""
    lost = Lost(T0, "no hub is running; start one with: cloche hub --background", as_of=T0)
    assert (
        _said(lost, 12, 78) == "! lost 12 s ago · no hub is running; start one with: cloche hub --background"
    )
    assert _said(lost, 12, 118).endswith("start one with: cloche hub --background")
    assert _said(lost, 12, 72).endswith("shown as of 09:41:03 · no hub is runni…")


def test_an_attempt_that_is_underway_or_due_has_no_countdown() -> None:
    assert "trying again ·" in _said(Lost(T0, "x", as_of=T0), 12)
    assert "trying again ·" in _said(Lost(T0, "x", as_of=T0, next_try_at=_later(12.9)), 12)


def test_what_is_shown_of_another_day_has_its_date() -> None:
    assert "as of 2026-01-02 09:41:03" in _said(Lost(T0, "x", as_of=T0), 20 * 3600)


def test_the_day_is_that_of_whoever_looks() -> None:
    zone = timezone(timedelta(hours=14, minutes=30))
    said = plain_text(banner(Lost(T0, "x", as_of=T0), _later(60), 200, zone=zone))
    assert "as of 00:11:03" in said


def test_a_reason_cannot_paint_over_the_screen() -> None:
    assert "\x1b" not in _said(Connecting(2, "odd\x1b[31m"), 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"), (0.9, "0 s"), (99, "99 s"), (100, "1 min"), (3599, "59 min"), (3600, "1 h"),
        (7500, "2 h 5 min"), (90_000, "25 h"),
    ],
)  # fmt: skip
def test_durations_are_said_in_two_words_at_most(seconds: float, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text
