"""Times, sizes and shares as every view writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cloche_tui.model import figures
from cloche_tui.model.roles import Role, Span

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def _in(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h00m"), (8040, "2h14m"),
        (86400, "1d"), (97200, "1d3h"), (86400 * 40, "40d"),
    ],
)  # fmt: skip
def test_a_duration_has_its_two_largest_units_rounded_down(seconds: float, text: str) -> None:
    assert figures.span(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0:00"), (7.9, "0:07"), (299, "4:59"), (3603, "1:00:03")])
def test_a_clock_counts_every_second(seconds: float, text: str) -> None:
    assert figures.clock_span(seconds) == text


def test_an_age_is_how_long_ago_something_was() -> None:
    assert figures.age(_in(-180), NOW) == "3m"
    assert figures.ago(_in(-180), NOW) == "3m ago"
    # Clocks of two hosts differ.
    assert figures.age(_in(30), NOW) == "0s"


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (120, Span("◷ 2:00")),
        (59.5, Span("! 0:59", Role.WARNING)),
        (14, Span("‼ 0:14", Role.BAD)),
        (0, Span("✗ 0:00", Role.BAD)),
        (-9, Span("✗ 0:00", Role.BAD)),
    ],
)
def test_a_deadline_changes_its_symbol_as_it_comes_near(left: float, shown: Span) -> None:
    assert figures.countdown(_in(left), NOW) == shown


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (8040, Span("2h14m")),
        (59, Span("! 59s", Role.WARNING)),
        (0, Span("! over", Role.WARNING)),
    ],
)
def test_the_last_minute_of_a_lease_stands_out(left: float, shown: Span) -> None:
    assert figures.time_left(_in(left), NOW) == shown


def test_no_lease_is_said_to_be_none() -> None:
    assert figures.time_left(None, NOW) == Span(figures.NOTHING, Role.MUTED)


def test_a_moment_is_shown_as_the_clock_here_shows_it() -> None:
    assert figures.clock(NOW) == NOW.astimezone().strftime("%H:%M:%S")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (312, "312 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024 * 9.94, "9.9 KiB"),
        (1024 * 9.96, "10 KiB"), (1024 * 1023.6, "1.0 MiB"), (64 << 20, "64 MiB"), (1288490189, "1.2 GiB"),
        (3 << 60, "3072 PiB"),
    ],
)  # fmt: skip
def test_bytes_are_written_with_a_unit_that_keeps_them_short(count: float, text: str) -> None:
    assert figures.size(count) == text


def test_a_share_that_is_not_known_is_no_zero() -> None:
    assert figures.percent(None) == figures.NOTHING
    assert figures.percent(0.4) == "0%"
    assert figures.percent(137.2) == "137%"


def test_things_are_counted_in_words() -> None:
    assert figures.count(1, "console") == "1 console"
    assert figures.count(1200, "console") == "1,200 consoles"
    assert figures.count(0, "sandbox", "sandboxes") == "0 sandboxes"


def test_a_sparkline_shows_the_newest_values_at_its_right() -> None:
    assert figures.spark([0, 1, 2, 3, 4, 5, 6, 7, 8], 8, top=8) == "▂▃▄▅▆▇██"
    assert figures.spark([8, 4], 4) == "  █▅"
    assert figures.spark([], 3) == "   "
    assert figures.spark([1], 0) == ""


def test_a_sparkline_of_nothing_but_zeros_lies_on_the_ground_and_one_above_its_top_is_cut() -> None:
    assert figures.spark([0, 0], 2) == "▁▁"
    assert figures.spark([-1, 900], 2, top=100) == "▁█"


def test_what_stays_as_it_is_does_not_look_like_all_there_is() -> None:
    assert figures.round_top([]) == figures.round_top([1, 125 << 20]) == 256 << 20
    assert figures.round_top([300 << 20, 1 << 20]) == 512 << 20


def test_an_id_is_shortened_and_a_text_cut() -> None:
    assert figures.short_id("sb_1") == "sb_1"
    assert figures.short_id("sb_0123456789abcdef") == "sb_012345678"
    assert figures.cut("abcdef", 4) == "abc…"
    assert figures.cut("abcd", 4) == "abcd"
    assert figures.cut("abcd", 0) == "…"
