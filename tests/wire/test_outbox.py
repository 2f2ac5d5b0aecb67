"""Whose turn it is: words about the link first, then acknowledgements, then every channel in its turn."""

from __future__ import annotations

import pytest

from cloche_wire.channels import State
from cloche_wire.errors import RemoteProtocolError
from cloche_wire.frames import Ack, Close, Closed, Data, Open, Ping, Pong, Reset, encode
from tests.support.wire_pair import TINY, Solo


def solo_with_open_channels(count: int) -> tuple[Solo, list[int]]:
    solo = Solo(leader=True)
    return solo, [solo.bring(State.OPEN, opened_here=True) for _ in range(count)]


def test_a_flood_on_one_channel_does_not_delay_the_others() -> None:
    solo, (one, two, three) = solo_with_open_channels(3)
    solo.connection.send(one, 1, b"12345678")
    solo.connection.send(two, 1, b"abcd")
    solo.connection.send(three, 1, b"x")
    assert solo.says() == [
        Data(one, 1, 0, b"123"),
        Data(two, 1, 0, b"abc"),
        Data(three, 1, 0, b"x"),
        Data(one, 1, 3, b"456"),
        Data(two, 1, 3, b"d"),
        Data(one, 1, 6, b"78"),
    ]


def test_a_channel_that_already_waits_keeps_its_place() -> None:
    solo, (one, two) = solo_with_open_channels(2)
    solo.connection.send(one, 1, b"1")
    solo.connection.send(two, 1, b"2")
    solo.connection.send(one, 2, b"3")
    assert solo.says() == [Data(one, 1, 0, b"1"), Data(two, 1, 0, b"2"), Data(one, 2, 0, b"3")]


def test_the_turns_go_on_where_the_last_message_ended() -> None:
    solo, (one, two) = solo_with_open_channels(2)
    solo.connection.send(one, 1, b"12345678")
    solo.connection.send(two, 1, b"abcdefgh")
    said = [solo.says(most=1) for _ in range(6)]
    assert [frame.channel for message in said for frame in message] == [one, two] * 3


def test_opens_leave_in_the_order_of_their_numbers_whatever_else_waits() -> None:
    solo, (busy,) = solo_with_open_channels(1)
    solo.connection.send(busy, 1, b"12345678")
    numbers = [solo.connection.open("exec", {}) for _ in range(3)]
    assert [frame.channel for frame in solo.says() if isinstance(frame, Open)] == numbers


def test_acknowledgements_and_words_about_the_link_go_first() -> None:
    solo, (one, two) = solo_with_open_channels(2)
    solo.hears(Close(two, {}))
    solo.connection.send(one, 1, b"data")
    solo.connection.consume(one, 0, 3)
    solo.hears(Ping(0, 5))
    solo.connection.confirm(two)
    solo.connection.ping(9)
    assert solo.says() == [
        Closed(two),
        Ping(0, 9),
        Ack(one, 0, 3),
        Pong(0, 5),
        Data(one, 1, 0, b"dat"),
        Data(one, 1, 3, b"a"),
    ]


def test_all_streams_of_a_channel_are_acknowledged_together() -> None:
    solo, (one,) = solo_with_open_channels(1)
    solo.hears(Data(one, 2, 0, b"more"))
    solo.connection.consume(one, 2, 4)
    solo.connection.consume(one, 0, 1)
    assert solo.says() == [Ack(one, 0, 1), Ack(one, 2, 4)]


def test_only_the_newest_ping_is_answered() -> None:
    solo = Solo(leader=False)
    for token in range(1000):
        solo.hears(Ping(0, token))
    assert solo.says() == [Pong(0, 999)]


def test_turns_of_channels_that_are_gone_are_passed_over() -> None:
    solo, (one, two) = solo_with_open_channels(2)
    solo.connection.send(one, 1, b"never")
    solo.connection.consume(one, 0, 3)
    solo.connection.send(two, 1, b"x")
    solo.hears(Reset(one, "cancelled", "enough", {}))
    assert solo.says() == [Closed(one), Data(two, 1, 0, b"x")]
    assert not solo.connection.has_data_to_send


def test_a_new_link_begins_without_the_words_of_the_last() -> None:
    solo, _ = solo_with_open_channels(1)
    solo.hears(Ping(0, 5))
    solo.connection.ping(9)
    solo.connection.link_down()
    assert not solo.connection.has_data_to_send
    solo.connection.link_up()
    assert [type(frame).__name__ for frame in solo.says()] == ["Hello"]


def test_a_peer_that_resets_without_reading_is_dropped() -> None:
    solo = Solo(leader=False)
    # One confirmation for each channel of either side, and some words that stand beside them.
    patience = TINY.max_channels + TINY.max_own_channels + 17
    for number in range(1, 2 * patience, 2):
        solo.hears(Open(number, "exec", {}, 8), Reset(number, "cancelled", "enough", {}))
    with pytest.raises(RemoteProtocolError, match=r"does not read"):
        solo.hears(Open(999, "exec", {}, 8), Reset(999, "cancelled", "enough", {}))
    assert len(solo.says()) == patience


def test_one_that_reads_may_go_on_for_ever() -> None:
    solo = Solo(leader=False)
    for number in range(1, 1000, 2):
        solo.hears(Open(number, "exec", {}, 8), Reset(number, "cancelled", "enough", {}))
        assert solo.says() == [Closed(number)]


def test_a_message_takes_frames_until_it_is_about_as_long_as_was_asked() -> None:
    solo, (one, two) = solo_with_open_channels(2)
    solo.connection.send(one, 1, b"123456")
    solo.connection.send(two, 1, b"abcdef")
    size = len(encode(Data(one, 1, 0, b"123"), TINY))
    assert len(solo.says(most=size + 1)) == 2
    assert len(solo.says(most=size)) == 1
    assert len(solo.says(most=1000)) == 1
