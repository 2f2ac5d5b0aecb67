"""The limits: values that agree with one another."""

from __future__ import annotations

import dataclasses

import pytest

from cloche_wire import PROTOCOL_VERSION
from cloche_wire.frames import Data, Hello, check, encode
from cloche_wire.framing import Framing
from cloche_wire.limits import MAX_STREAMS, Limits

HUGE = (1 << 63) - 1
LIMITS = Limits()


def test_limits_are_fixed_once_made() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LIMITS.window = 1  # type: ignore[misc]


def test_every_limit_can_be_given() -> None:
    ones = {field.name: 1 for field in dataclasses.fields(Limits)}
    assert dataclasses.asdict(Limits(**ones)) == ones


def test_the_largest_hello_fits_a_frame() -> None:
    most = 2 * LIMITS.max_channels + LIMITS.max_own_channels
    report = [HUGE, 3, [[stream, HUGE, True] for stream in range(MAX_STREAMS)]]
    hello = Hello(
        0, PROTOCOL_VERSION, "s" * 100, bytes(16), HUGE, True, HUGE, [report] * most, {"token": "t" * 200}
    )
    check(hello, LIMITS)


def test_a_chunk_of_data_fits_a_frame() -> None:
    encode(Data(HUGE, MAX_STREAMS - 1, HUGE, bytes(LIMITS.chunk)), LIMITS)


def test_a_frame_fits_a_message_and_a_message_the_byte_streams_header() -> None:
    assert LIMITS.max_frame <= LIMITS.max_message
    Framing(leader=True, max_message=LIMITS.max_message)


def test_neither_side_opens_more_channels_than_the_other_takes() -> None:
    assert LIMITS.max_own_channels <= LIMITS.max_channels


def test_no_window_is_refused() -> None:
    assert LIMITS.chunk <= LIMITS.window <= LIMITS.max_peer_window


def test_two_sides_with_the_same_limits_do_not_wait_for_each_other() -> None:
    assert LIMITS.least_peer_window <= LIMITS.least_window


def test_what_a_peer_that_confirms_nothing_makes_us_keep_is_at_most_25_mib() -> None:
    short = LIMITS.short_result * 2 * LIMITS.max_channels
    assert LIMITS.max_results + LIMITS.max_frame + short == 25 << 20


def test_what_a_peer_that_reads_nothing_makes_us_keep_is_at_most_64_mib() -> None:
    least = MAX_STREAMS * LIMITS.least_window * LIMITS.max_channels
    assert LIMITS.max_unacknowledged + least == 64 << 20
    assert LIMITS.least_window <= LIMITS.window
