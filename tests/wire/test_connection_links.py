"""Links that come and go under a connection: greetings, heartbeat, farewells, and peers that break the protocol."""

from __future__ import annotations

import pytest

from cloche_wire.channels import State
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    Cancelled,
    Forbidden,
    LinkLost,
    LocalProtocolError,
    RemoteProtocolError,
    ShuttingDown,
    Undecodable,
    WrongVersion,
)
from cloche_wire.events import Event, Failed, Finished, Opened, Parted, Ponged, Received, Unacknowledged
from cloche_wire.frames import Accept, Bye, Close, Closed, Data, Frame, Hello, Open, Ping, Pong
from tests.support.wire_pair import SESSION, TINY, Pair, Solo, frames_of, hello, message


class TestLinks:
    def test_nothing_is_said_without_a_link_nor_before_both_have_greeted(self) -> None:
        connection = Connection(leader=False, software="f/1", limits=TINY)
        connection.open("callback", {})
        connection.ping(1)
        connection.part(Cancelled("enough"))
        assert connection.data_to_send() == b""
        assert not connection.has_data_to_send
        connection.link_up()
        assert connection.data_to_send() == b""
        assert not connection.is_up

    def test_nothing_is_heard_without_a_link(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"no link is up"):
            Connection(leader=True, software="l/1").feed(message(hello()))

    @pytest.mark.parametrize("frame", [Open(2, "x", {}, 8), Ping(0, 1), Closed(2)])
    def test_hello_comes_before_everything_else(self, frame: Frame) -> None:
        solo = Solo(leader=True, greeted=False)
        solo.connection.link_up()
        with pytest.raises(RemoteProtocolError, match=r"before hello"):
            solo.hears(frame)

    def test_there_is_one_hello_a_link(self) -> None:
        with pytest.raises(RemoteProtocolError, match=r"second hello"):
            Solo(leader=False).hears(hello())

    def test_another_version_is_refused_with_both_in_the_message(self) -> None:
        solo = Solo(leader=False, greeted=False)
        solo.connection.link_up()
        with pytest.raises(WrongVersion, match=r"\(test/1\) speaks protocol 2, we 1"):
            solo.hears(hello(protocol=2))

    def test_hello_carries_what_the_layer_above_says(self) -> None:
        connection = Connection(leader=True, software="l/1", session=SESSION, info={"token": "t"})
        connection.link_up()
        (frame,) = frames_of(connection.data_to_send())
        assert isinstance(frame, Hello)
        assert frame.info == {"token": "t"}
        connection.info = {"token": "renewed"}
        connection.link_up()
        (frame,) = frames_of(connection.data_to_send())
        assert isinstance(frame, Hello)
        assert frame.info == {"token": "renewed"}

    def test_a_follower_takes_the_sessions_name_from_its_leader(self) -> None:
        solo = Solo(leader=False, greeted=False)
        assert solo.connection.session == b""
        solo.greets(hello())
        assert solo.connection.session == SESSION

    def test_a_connection_is_up_between_the_greeting_and_the_end_of_the_link(self) -> None:
        solo = Solo(leader=True)
        assert solo.connection.is_up
        solo.connection.link_down()
        assert not solo.connection.is_up

    def test_what_both_hellos_cannot_know_is_said_after_them(self) -> None:
        """The leader confirms a close after its hello has reported the channel as closed."""
        solo = Solo(leader=True)
        number = solo.bring(State.CLOSED_BY_PEER, opened_here=True)
        solo.connection.link_up()
        assert isinstance(solo.says()[0], Hello)
        solo.connection.confirm(number)
        assert solo.says() == []
        solo.hears(hello(generation=1, resumes=True, channels=[[number, 1, [[0, 3, False]]]]))
        assert solo.says() == [Closed(number)]

    def test_nothing_is_confirmed_to_a_peer_that_has_lost_the_state(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.CLOSED_BY_PEER, opened_here=True)
        solo.connection.link_up()
        solo.says()
        solo.connection.confirm(number)
        solo.hears(hello(generation=2))
        assert solo.says() == []


class TestHeartbeatAndFarewell:
    def test_a_ping_is_answered_with_its_token(self) -> None:
        pair = Pair()
        pair.link()
        pair.leader.connection.ping(7)
        pair.settle()
        assert pair.leader.heard[-1] == Ponged(7)
        assert len(pair.follower.heard) == 1

    def test_a_peer_is_told_why_the_link_ends(self) -> None:
        pair = Pair()
        pair.link()
        pair.follower.connection.part(ShuttingDown("back in a minute"))
        pair.settle()
        (event,) = [event for event in pair.leader.heard if isinstance(event, Parted)]
        assert isinstance(event.error, ShuttingDown)
        assert event.error.message == "back in a minute"

    def test_a_farewell_leaves_before_everything_that_waits(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.send(number, 1, b"x")
        solo.connection.part(Forbidden("no"))
        assert solo.says() == [Bye(0, "forbidden", "no"), Data(number, 1, 0, b"x")]

    def test_a_stranger_is_turned_away_before_it_is_greeted(self) -> None:
        solo = Solo(leader=False, greeted=False)
        solo.connection.link_up()
        solo.connection.part(Forbidden("no"))
        assert solo.connection.has_data_to_send
        assert solo.says() == [Bye(0, "forbidden", "no")]
        leader = Solo(leader=True, greeted=False)
        leader.connection.link_up()
        assert isinstance(leader.hears(Bye(0, "forbidden", "no"))[0], Parted)

    def test_a_farewell_fits_a_frame_however_long_the_reason(self) -> None:
        solo = Solo(leader=True)
        solo.connection.part(Forbidden("no" * 5000))
        (farewell,) = solo.says()
        assert isinstance(farewell, Bye)


class TestViolations:
    def test_a_message_that_does_not_decode_changes_nothing_and_the_session_goes_on(self) -> None:
        solo = Solo(leader=False)
        number = solo.bring(State.OPEN, opened_here=False)
        data = message(Data(number, 0, 3, b"!"), Close(2, {"a": 1}))
        with pytest.raises(Undecodable):
            solo.connection.feed(data[:-1])
        report = [number, 1, [[0, 3, False]]]
        assert solo.greets(hello(generation=1, resumes=True, channels=[report]))[-1].resumed  # type: ignore[union-attr]
        assert solo.hears(Data(number, 0, 3, b"!")) == [Received(number, 0, b"!")]

    def test_giving_up_the_session_fails_every_channel(self) -> None:
        solo = Solo(leader=True)
        mine, theirs = (solo.bring(State.OPEN, opened_here=here) for here in (True, False))
        unsent = solo.connection.open("exec", {})
        error = LinkLost("enough")
        said = (Unacknowledged(0, 0, (b"abc",)),)
        assert solo.connection.fail_all(error) == [
            Failed(mine, error, unacknowledged=said),
            Failed(theirs, error, unacknowledged=said),
            Failed(unsent, error),
        ]
        assert solo.connection.fail_all(error) == []
        assert solo.connection.channels == {}

    @pytest.mark.parametrize(
        ("last_words", "heard"),
        [
            (Close(1, {"exit_code": 0}), Finished(1, {"exit_code": 0})),
            (Data(1, 0, 3, b"!"), Received(1, 0, b"!")),
        ],
    )
    def test_what_happened_before_a_violation_is_still_reported(
        self, last_words: Frame, heard: Event
    ) -> None:
        solo = Solo(leader=True)
        solo.bring(State.OPEN, opened_here=True)
        with pytest.raises(RemoteProtocolError):
            solo.hears(last_words, Closed(99))
        events = solo.connection.fail_all(LinkLost("enough"))
        assert events[0] == heard
        assert [type(event) for event in events[1:]] == ([] if isinstance(heard, Finished) else [Failed])

    def test_a_greeting_before_a_violation_is_not(self) -> None:
        solo = Solo(leader=False, greeted=False)
        solo.connection.link_up()
        with pytest.raises(RemoteProtocolError):
            solo.hears(hello(), Bye(0, "cancelled", ""), Pong(0, 1), Open(1, "x", {}, 8), Accept(1, {}, 8))
        error = LinkLost("enough")
        assert solo.connection.fail_all(error) == [Ponged(1), Opened(1, "x", {}, 8), Failed(1, error)]
