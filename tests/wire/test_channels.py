"""A channel's life: both tables, entry by entry, and what the rules under them say."""

from __future__ import annotations

from itertools import product

import pytest

from cloche_wire.channels import PEER_MAY_SEND, WE_MAY, State
from cloche_wire.errors import Cancelled, LocalProtocolError, RemoteProtocolError
from cloche_wire.events import Acknowledged, Ended, Finished, Received
from cloche_wire.frames import Accept, Ack, Close, Closed, Data, Eof, Frame, Reset, Tag
from tests.support.wire_pair import ROADS, Solo

ABOUT_A_CHANNEL = (Tag.ACCEPT, Tag.DATA, Tag.EOF, Tag.ACK, Tag.CLOSE, Tag.RESET, Tag.CLOSED)
MOVES = ("accept", "send", "end", "consume", "close", "confirm", "reset")
# What asks for nothing more is no mistake on a channel that is over for our side.
HARMLESS = {"consume", "confirm", "reset"}
OVER = {State.RESETTING, State.DONE}
PLACES = [(state, here) for state, roads in ROADS.items() for here in roads]


def frame_of(tag: Tag, number: int) -> Frame:
    """A frame that fits a channel on which three bytes have passed each way."""
    frames: dict[Tag, Frame] = {
        Tag.ACCEPT: Accept(number, {}, 8),
        Tag.DATA: Data(number, 0, 3, b"!"),
        Tag.EOF: Eof(number, 0, 3),
        Tag.ACK: Ack(number, 0, 2),
        Tag.CLOSE: Close(number, {"code": 0}),
        Tag.RESET: Reset(number, "not_found", "gone", {}),
        Tag.CLOSED: Closed(number),
    }
    return frames[tag]


def make(solo: Solo, move: str, number: int) -> None:
    """A move on such a channel."""
    connection = solo.connection
    match move:
        case "send":
            connection.send(number, 0, b"!")
        case "end":
            connection.end(number, 0)
        case "consume":
            connection.consume(number, 0, 2)
        case "reset":
            connection.reset(number, Cancelled("enough"))
        case "accept":
            connection.accept(number)
        case "close":
            connection.close(number)
        case _:
            connection.confirm(number)


def test_the_tables_have_a_row_for_every_state() -> None:
    assert set(PEER_MAY_SEND) == set(WE_MAY) == set(ROADS) == set(State)


class TestWhatThePeerMaySend:
    @pytest.mark.parametrize("leader", [True, False])
    @pytest.mark.parametrize(("place", "tag"), list(product(PLACES, ABOUT_A_CHANNEL)))
    def test_every_entry_of_the_table(self, leader: bool, place: tuple[State, bool], tag: Tag) -> None:
        state, opened_here = place
        solo = Solo(leader=leader)
        number = solo.bring(state, opened_here=opened_here)
        if state is State.DONE:
            # The channel is gone and the frame is late.
            assert solo.hears(frame_of(tag, number)) == []
        elif tag in PEER_MAY_SEND[state] and (tag is not Tag.CLOSE or opened_here):
            solo.hears(frame_of(tag, number))
        else:
            with pytest.raises(RemoteProtocolError, match=rf"^{tag.name} on channel {number}"):
                solo.hears(frame_of(tag, number))

    @pytest.mark.parametrize(
        ("before", "tag", "after"),
        [
            (State.OPENING, Tag.ACCEPT, State.OPEN),
            (State.OPENING, Tag.CLOSE, State.CLOSED_BY_PEER),
            (State.OPENING, Tag.RESET, State.DONE),
            (State.OFFERED, Tag.RESET, State.DONE),
            (State.OPEN, Tag.CLOSE, State.CLOSED_BY_PEER),
            (State.OPEN, Tag.RESET, State.DONE),
            (State.CLOSING, Tag.DATA, State.CLOSING),
            (State.CLOSING, Tag.CLOSED, State.DONE),
            (State.CLOSING, Tag.RESET, State.DONE),
            (State.CLOSED_BY_PEER, Tag.RESET, State.DONE),
            (State.RESETTING, Tag.ACCEPT, State.RESETTING),
            (State.RESETTING, Tag.DATA, State.RESETTING),
            (State.RESETTING, Tag.CLOSE, State.RESETTING),
            (State.RESETTING, Tag.RESET, State.DONE),
            (State.RESETTING, Tag.CLOSED, State.DONE),
        ],
    )
    def test_a_frame_leads_to_the_next_state(self, before: State, tag: Tag, after: State) -> None:
        solo = Solo(leader=True)
        number = solo.bring(before, opened_here=ROADS[before][0])
        solo.hears(frame_of(tag, number))
        assert solo.state(number) is after

    def test_a_channel_that_was_reset_here_is_heard_of_no_more(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.reset(number, Cancelled("enough"))
        late = (Tag.DATA, Tag.EOF, Tag.ACK, Tag.CLOSE, Tag.RESET)
        assert solo.hears(*(frame_of(tag, number) for tag in late)) == []

    def test_a_result_is_the_last_that_is_heard_of_a_channel(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        assert solo.hears(frame_of(Tag.CLOSE, number)) == [Finished(number, {"code": 0})]
        assert solo.hears(frame_of(Tag.RESET, number)) == []

    def test_nobody_answers_an_open_that_was_never_sent(self) -> None:
        solo = Solo(leader=True)
        number = solo.connection.open("exec", {})
        with pytest.raises(RemoteProtocolError, match=r"ACCEPT on channel 1"):
            solo.hears(Accept(number, {}, 8))

    def test_a_close_is_not_confirmed_before_it_was_sent(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.close(number)
        with pytest.raises(RemoteProtocolError, match=r"before its close was sent"):
            solo.hears(Closed(number))


class TestWhatWeMay:
    @pytest.mark.parametrize("leader", [True, False])
    @pytest.mark.parametrize(("place", "move"), list(product(PLACES, MOVES)))
    def test_every_entry_of_the_table(self, leader: bool, place: tuple[State, bool], move: str) -> None:
        state, opened_here = place
        solo = Solo(leader=leader)
        number = solo.bring(state, opened_here=opened_here)
        if state in OVER and move in HARMLESS:
            make(solo, move, number)
            assert solo.says() == []
        elif move in WE_MAY[state] and (move != "close" or not opened_here):
            make(solo, move, number)
        else:
            with pytest.raises(LocalProtocolError, match=rf"channel {number}\b"):
                make(solo, move, number)
            assert solo.state(number) is state
            assert solo.says() == []

    @pytest.mark.parametrize(
        ("before", "move", "after", "said"),
        [
            (State.OFFERED, "accept", State.OPEN, [Accept(2, {}, 8)]),
            (State.OFFERED, "close", State.CLOSING, [Close(2, {})]),
            (State.OFFERED, "reset", State.RESETTING, [Reset(2, "cancelled", "enough", {})]),
            (State.OPENING, "reset", State.RESETTING, [Reset(1, "cancelled", "enough", {})]),
            (State.OPEN, "send", State.OPEN, [Data(1, 0, 3, b"!")]),
            (State.OPEN, "end", State.OPEN, [Eof(1, 0, 3)]),
            (State.OPEN, "consume", State.OPEN, [Ack(1, 0, 2)]),
            (State.OPEN, "reset", State.RESETTING, [Reset(1, "cancelled", "enough", {})]),
            (State.CLOSING, "consume", State.CLOSING, []),
            (State.CLOSING, "reset", State.RESETTING, [Reset(2, "cancelled", "enough", {})]),
            (State.CLOSED_BY_PEER, "consume", State.CLOSED_BY_PEER, [Ack(1, 0, 2)]),
            (State.CLOSED_BY_PEER, "confirm", State.DONE, [Closed(1)]),
            (State.CLOSED_BY_PEER, "reset", State.RESETTING, [Reset(1, "cancelled", "enough", {})]),
        ],
    )
    def test_a_move_leads_to_the_next_state_and_says_so(
        self, before: State, move: str, after: State, said: list[Frame]
    ) -> None:
        solo = Solo(leader=True)
        number = solo.bring(before, opened_here=ROADS[before][0])
        make(solo, move, number)
        assert solo.state(number) is after
        assert solo.says() == said

    def test_a_reset_before_the_open_was_sent_says_nothing(self) -> None:
        solo = Solo(leader=True)
        number = solo.connection.open("exec", {})
        solo.connection.reset(number, Cancelled("enough"))
        assert solo.state(number) is State.DONE
        assert solo.says() == []


class TestStreams:
    def setup_method(self) -> None:
        self.solo = Solo(leader=True)
        self.number = self.solo.bring(State.OPEN, opened_here=True)
        self.connection = self.solo.connection

    def test_credit_is_what_the_peer_offers_less_what_it_has_not_consumed(self) -> None:
        assert self.connection.credit(self.number, 0) == 5
        assert self.connection.credit(self.number, 1) == 8
        self.solo.hears(Ack(self.number, 0, 2))
        assert self.connection.credit(self.number, 0) == 7

    def test_nothing_is_sent_beyond_the_credit(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"6 bytes on stream 0 are beyond its credit"):
            self.connection.send(self.number, 0, b"6bytes")
        self.connection.send(self.number, 0, b"5byte")
        assert self.connection.credit(self.number, 0) == 0

    def test_there_is_no_credit_on_a_channel_that_is_not_open(self) -> None:
        offered = self.solo.bring(State.OFFERED, opened_here=False)
        assert self.connection.credit(offered, 0) == 0

    def test_a_stream_that_has_ended_takes_no_more(self) -> None:
        self.connection.end(self.number, 1)
        self.connection.end(self.number, 1)
        with pytest.raises(LocalProtocolError, match=r"stream 1 has ended"):
            self.connection.send(self.number, 1, b"x")
        assert self.solo.says() == [Eof(self.number, 1, 0)]

    def test_an_end_leaves_after_what_was_sent_before_it_and_a_close_after_everything(self) -> None:
        mine = self.solo.bring(State.OPEN, opened_here=False)
        self.connection.send(mine, 1, b"abcd")
        self.connection.end(mine, 1)
        self.connection.send(mine, 2, b"xy")
        self.connection.close(mine, {"code": 5})
        assert self.solo.says() == [
            Data(mine, 1, 0, b"abc"),
            Data(mine, 2, 0, b"xy"),
            Data(mine, 1, 3, b"d"),
            Eof(mine, 1, 4),
            Close(mine, {"code": 5}),
        ]

    def test_an_empty_piece_is_no_frame(self) -> None:
        self.connection.send(self.number, 0, b"")
        assert self.solo.says() == []

    @pytest.mark.parametrize("stream", [-1, 4, 1 << 40])
    def test_there_are_four_streams(self, stream: int) -> None:
        with pytest.raises(LocalProtocolError, match=r"no stream"):
            self.connection.send(self.number, stream, b"x")
        with pytest.raises(LocalProtocolError, match=r"no stream"):
            self.connection.end(self.number, stream)

    @pytest.mark.parametrize("frame", [Data(1, 4, 0, b"x"), Eof(1, 4, 0), Data(1, 1 << 40, 0, b"x")])
    def test_and_the_peer_has_no_more(self, frame: Frame) -> None:
        with pytest.raises(RemoteProtocolError, match=r"no stream"):
            self.solo.hears(frame)

    @pytest.mark.parametrize("count", [4, -1])
    def test_only_what_was_received_is_consumed(self, count: int) -> None:
        with pytest.raises(LocalProtocolError, match=r"were not received"):
            self.connection.consume(self.number, 0, count)
        with pytest.raises(LocalProtocolError, match=r"were not received"):
            self.connection.consume(self.number, 2, 1)

    @pytest.mark.parametrize(
        ("frame", "why"),
        [
            (Data(1, 0, 4, b"x"), "expected 3"),
            (Data(1, 0, 2, b"x"), "expected 3"),
            (Data(1, 0, 3, b""), "without a byte"),
            (Data(1, 0, 3, b"6bytes"), "beyond the credit"),
            (Data(1, 1, 0, b"9 bytes.."), "beyond the credit"),
            (Eof(1, 0, 4), "expected 3"),
            (Ack(1, 0, 4), "were not sent"),
            (Ack(1, 1, 0), "were not sent"),
        ],
    )
    def test_a_peer_that_miscounts_breaks_the_protocol(self, frame: Frame, why: str) -> None:
        with pytest.raises(RemoteProtocolError, match=why):
            self.solo.hears(frame)

    @pytest.mark.parametrize("frame", [Data(1, 0, 3, b"x"), Eof(1, 0, 3)])
    def test_nothing_comes_after_an_end(self, frame: Frame) -> None:
        assert self.solo.hears(Eof(1, 0, 3)) == [Ended(1, 0)]
        with pytest.raises(RemoteProtocolError):
            self.solo.hears(frame)

    def test_consumed_bytes_give_the_peer_new_credit(self) -> None:
        self.connection.consume(self.number, 0, 3)
        assert self.solo.says() == [Ack(self.number, 0, 3)]
        assert self.solo.hears(Data(self.number, 0, 3, b"8 bytes.")) == [
            Received(self.number, 0, b"8 bytes.")
        ]

    def test_an_acknowledgement_counts_once(self) -> None:
        assert self.solo.hears(Ack(1, 0, 2)) == [Acknowledged(1, 0, 2)]
        assert self.solo.hears(Ack(1, 0, 2), Ack(1, 0, 1)) == []

    def test_the_peers_window_is_taken_up_to_our_own_bound(self) -> None:
        number = self.connection.open("exec", {})
        self.solo.says()
        self.solo.hears(Accept(number, {}, 1 << 40))
        assert self.connection.credit(number, 0) == self.solo.limits.max_peer_window
