"""One side of a link in conversation: links come and go, frames turn into events and moves into frames."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_wire.channels import State
from cloche_wire.errors import Cancelled, LocalProtocolError, NotFound, RemoteProtocolError, TooLarge
from cloche_wire.events import (
    Accepted,
    Acknowledged,
    Confirmed,
    Ended,
    Failed,
    Finished,
    Greeted,
    Opened,
    Received,
)
from cloche_wire.frames import Accept, Ack, Close, Closed, Data, Eof, Frame, Open, Reset
from cloche_wire.limits import Limits
from tests.support.wire_pair import Pair, Side, Solo, frames_of


def opened(pair: Pair) -> int:
    """A channel open both ways."""
    number = pair.leader.connection.open("exec", {"argv": ["cat"]})
    pair.settle()
    pair.follower.connection.accept(number, {"pid": 7})
    pair.settle()
    for side in pair.sides:
        side.heard.clear()
    return number


def consume_all(side: Side) -> None:
    for event in side.heard:
        if isinstance(event, Received):
            side.connection.consume(event.channel, event.stream, len(event.data))


class TestAConversation:
    def test_an_exec_from_the_first_word_to_the_last(self) -> None:
        pair = Pair()
        pair.link()
        number = pair.leader.connection.open("exec", {"argv": ["cat"]})
        pair.settle()
        pair.follower.connection.accept(number, {"pid": 7})
        pair.settle()
        pair.leader.connection.send(number, 1, b"hi")
        pair.leader.connection.end(number, 1)
        pair.settle()
        pair.follower.connection.consume(number, 1, 2)
        pair.follower.connection.send(number, 1, b"hi")
        pair.follower.connection.close(number, {"exit_code": 0})
        pair.settle()
        pair.leader.connection.confirm(number)
        pair.settle()
        assert pair.leader.heard == [
            Greeted({}, "follower/1", resumed=False),
            Accepted(number, {"pid": 7}, 8),
            Received(number, 1, b"hi"),
            Finished(number, {"exit_code": 0}),
        ]
        assert pair.follower.heard == [
            Greeted({}, "leader/1", resumed=False),
            Opened(number, "exec", {"argv": ["cat"]}, 8),
            Received(number, 1, b"hi"),
            Ended(number, 1),
            Confirmed(number),
        ]
        assert pair.leader.connection.channels == pair.follower.connection.channels == {}

    def test_either_side_opens_channels(self) -> None:
        pair = Pair()
        pair.link()
        number = pair.follower.connection.open("callback", {})
        pair.settle()
        pair.leader.connection.close(number, {"answer": 42})
        pair.settle()
        assert pair.follower.heard_of(number) == [Finished(number, {"answer": 42})]

    def test_a_reset_tells_the_other_side_why(self) -> None:
        pair = Pair()
        pair.link()
        number = opened(pair)
        pair.follower.connection.reset(number, NotFound("no such sandbox", name="x"))
        pair.settle()
        (event,) = pair.leader.heard_of(number)
        assert isinstance(event, Failed)
        assert isinstance(event.error, NotFound)
        assert (event.error.message, event.error.details) == ("no such sandbox", {"name": "x"})
        assert pair.leader.connection.channels == pair.follower.connection.channels == {}

    def test_a_stalled_reader_stalls_its_own_stream_only(self) -> None:
        pair = Pair()
        pair.link()
        stalled, busy = opened(pair), opened(pair)
        pair.follower.connection.send(stalled, 1, b"8 bytes.")
        for _ in range(5):
            pair.follower.connection.send(busy, 1, b"8 bytes.")
            pair.settle()
            pair.leader.connection.consume(busy, 1, 8)
            pair.settle()
        assert pair.follower.connection.credit(stalled, 1) == 0
        assert pair.follower.connection.credit(busy, 1) == 8

    def test_a_link_cut_in_the_middle_loses_nothing_and_repeats_nothing(self) -> None:
        pair = Pair()
        pair.link()
        number = opened(pair)
        pair.follower.connection.send(number, 1, b"abcdefgh")
        pair.follower.connection.close(number, {"exit_code": 0})
        pair.speak(pair.follower, 1)
        pair.leader.hear()
        pair.speak(pair.follower, 1)
        pair.link()
        assert pair.leader.heard_of(number) == [
            Received(number, 1, b"abc"),
            Received(number, 1, b"def"),
            Received(number, 1, b"gh"),
            Finished(number, {"exit_code": 0}),
        ]


class TestChannelsThatAreOver:
    @pytest.mark.parametrize(
        "late",
        [
            Accept(1, {}, 8),
            Data(1, 0, 9, b"late"),
            Eof(1, 0, 9),
            Ack(1, 0, 2),
            Close(1, {}),
            Reset(1, "cancelled", "late", {}),
            Closed(1),
        ],
    )
    def test_nothing_that_comes_late_is_an_event(self, late: Frame) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.reset(number, Cancelled("enough"))
        assert solo.hears(late) == []
        if number in solo.connection.channels:
            solo.hears(Closed(number))
        assert solo.hears(late) == []

    def test_moves_that_ask_for_nothing_more_do_nothing(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.hears(Reset(number, "cancelled", "enough", {}))
        solo.connection.consume(number, 0, 3)
        solo.connection.confirm(number)
        solo.connection.reset(number, Cancelled("enough"))
        assert solo.says() == [Closed(number)]

    def test_the_others_are_our_own_mistake(self) -> None:
        solo = Solo(leader=True)
        with pytest.raises(LocalProtocolError, match=r"channel 1 is gone"):
            solo.connection.send(1, 0, b"x")
        with pytest.raises(LocalProtocolError, match=r"channel 1 is gone"):
            solo.connection.end(1, 0)

    def test_a_channel_of_which_nobody_has_heard_is_dropped_in_silence(self) -> None:
        solo = Solo(leader=True)
        solo.connection.reset(solo.connection.open("exec", {}), Cancelled("enough"))
        assert solo.says() == []

    def test_a_confirmation_before_the_close_breaks_the_protocol(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.close(number)
        with pytest.raises(RemoteProtocolError, match=r"before its close was sent"):
            solo.hears(Closed(number))

    def test_a_channel_too_many_is_refused_and_is_no_event(self) -> None:
        solo = Solo(leader=False)
        opens = [Open(number, "exec", {}, 8) for number in (1, 3, 5, 7, 9)]
        assert solo.hears(*opens) == [Opened(number, "exec", {}, 8) for number in (1, 3, 5, 7)]
        assert solo.says() == [Reset(9, "too_large", "more than 4 channels at once on one link", {})]

    def test_a_peer_that_sends_and_does_not_read_is_dropped(self) -> None:
        solo = Solo(leader=False)
        for number in range(1, 51, 2):
            solo.hears(Open(number, "exec", {}, 8), Reset(number, "cancelled", "", {}))
        with pytest.raises(RemoteProtocolError, match=r"does not read"):
            solo.hears(Open(51, "exec", {}, 8), Reset(51, "cancelled", "", {}))


class TestMoves:
    def test_small_counts_are_gathered_until_an_acknowledgement_is_worth_a_frame(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.consume(number, 0, 1)
        assert solo.says() == []
        solo.connection.consume(number, 0, 1)
        assert solo.says() == [Ack(number, 0, 2)]

    def test_what_is_gathered_is_said_at_once_on_request(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.consume(number, 0, 1)
        solo.connection.acknowledge(number)
        solo.connection.acknowledge(999)
        assert solo.says() == [Ack(number, 0, 1)]

    def test_the_sender_hears_what_was_consumed(self) -> None:
        pair = Pair()
        pair.link()
        number = opened(pair)
        pair.leader.connection.send(number, 1, b"abcd")
        pair.settle()
        consume_all(pair.follower)
        pair.settle()
        assert pair.leader.heard == [Acknowledged(number, 1, 4)]

    def test_windows_are_what_each_side_grants(self) -> None:
        pair = Pair(Limits())
        pair.link()
        number = pair.leader.connection.open("exec", {}, window=5)
        pair.settle()
        pair.follower.connection.accept(number, window=7)
        pair.settle()
        assert pair.follower.connection.credit(number, 0) == 5
        assert pair.leader.connection.credit(number, 0) == 7
        assert pair.leader.connection.credit(999, 0) == 0

    def test_a_channel_is_open_from_its_acceptance_to_its_close(self) -> None:
        solo = Solo(leader=True)
        assert solo.connection.is_open(solo.bring(State.OPEN, opened_here=True))
        assert not solo.connection.is_open(solo.bring(State.OPENING, opened_here=True))
        assert not solo.connection.is_open(solo.bring(State.CLOSED_BY_PEER, opened_here=True))
        assert not solo.connection.is_open(999)

    @pytest.mark.parametrize(
        ("wrong", "error"), [({"a": "x" * 2000}, TooLarge), ({"a": {5: 1}}, LocalProtocolError)]
    )
    def test_values_no_frame_can_carry_change_nothing(self, wrong: Any, error: type[Exception]) -> None:
        solo = Solo(leader=True)
        offered = solo.bring(State.OFFERED, opened_here=False)
        with pytest.raises(error):
            solo.connection.open("exec", wrong)
        with pytest.raises(error):
            solo.connection.accept(offered, wrong)
        with pytest.raises(error):
            solo.connection.close(offered, wrong)
        assert solo.state(offered) is State.OFFERED
        assert solo.connection.open("exec", {}) == 1

    def test_a_negative_window_is_our_own_mistake(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"out of range"):
            Solo(leader=True).connection.open("exec", {}, window=-1)

    @pytest.mark.parametrize("details", [{"a": "x" * 2000}, {"a": object()}, {"a": {5: 1}}, {"a": 1 << 70}])
    def test_a_reset_goes_out_even_if_its_details_cannot(self, details: dict[str, Any]) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.reset(number, NotFound("no 'a\udcff'", **details))
        assert solo.says() == [Reset(number, "not_found", "no 'a?'", {})]

    def test_a_message_stays_below_its_bound_however_much_waits(self) -> None:
        limits = Limits(window=5000, chunk=300, max_frame=400, max_message=1000, max_peer_window=5000)
        pair = Pair(limits)
        pair.link()
        numbers = [opened(pair) for _ in range(10)]
        for number in numbers:
            pair.leader.connection.send(number, 1, bytes(1000))
        while data := pair.leader.connection.data_to_send(1 << 30):
            assert len(data) <= limits.max_message

    def test_no_more_frames_travel_together_than_a_peer_takes(self) -> None:
        pair = Pair(Limits(max_frames=3))
        pair.link()
        for _ in range(7):
            pair.leader.connection.open("exec", {})
        assert [len(frames_of(pair.leader.connection.data_to_send())) for _ in range(4)] == [3, 3, 1, 0]


def test_bytes_that_wait_leave_in_one_frame_with_what_follows_or_when_they_are_hurried() -> None:
    solo = Solo(leader=False)
    number = solo.bring(State.OPEN, opened_here=False)
    solo.says()
    solo.connection.send(number, 1, b"a", waits=True)
    assert solo.says() == []
    solo.connection.send(number, 1, b"b")
    assert solo.says() == [Data(number, 1, 0, b"ab")]
    solo.connection.send(number, 1, b"c", waits=True)
    solo.connection.hurry(number)
    assert solo.says() == [Data(number, 1, 2, b"c")]
    solo.connection.hurry(number + 2)
    assert solo.says() == []
