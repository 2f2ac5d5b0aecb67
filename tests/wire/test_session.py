"""What a side keeps across links: numbers that are never used twice, and hellos that agree on what goes on."""

from __future__ import annotations

import pytest

from cloche_wire.channels import Standing, State
from cloche_wire.errors import Cancelled, LinkLost, LocalProtocolError, RemoteProtocolError, TooLarge
from cloche_wire.events import Confirmed, Event, Failed, Greeted, Opened, Unacknowledged
from cloche_wire.frames import Accept, Ack, Close, Closed, Data, Frame, Hello, Open, Reset
from tests.support.wire_pair import SESSION, TINY, Pair, Solo, frames_of, hello


def failed(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.channel, event.error.code) for event in events if isinstance(event, Failed)]


def said_hello(solo: Solo) -> Hello:
    """The hello a connection says on a new link; a follower must have heard one."""
    (frame,) = frames_of(solo.connection.data_to_send(1))
    assert isinstance(frame, Hello)
    return frame


class TestNumbers:
    def test_the_leaders_are_odd_and_the_followers_even(self) -> None:
        leader, follower = Solo(leader=True).connection, Solo(leader=False).connection
        assert [leader.open("exec", {}) for _ in range(3)] == [1, 3, 5]
        assert [follower.open("exec", {}) for _ in range(3)] == [2, 4, 6]

    @pytest.mark.parametrize("number", [0, 1, 3, 1 << 40 | 1])
    def test_the_peer_opens_only_numbers_that_are_its_own(self, number: int) -> None:
        with pytest.raises(RemoteProtocolError, match=r"not the peer's to open"):
            Solo(leader=True).hears(Open(number, "exec", {}, 8))

    def test_the_peer_uses_no_number_twice_nor_a_lower_one(self) -> None:
        solo = Solo(leader=True)
        solo.hears(Open(6, "exec", {}, 8), Reset(6, "cancelled", "enough", {}))
        for number in (6, 4):
            with pytest.raises(RemoteProtocolError, match=r"is used"):
                solo.hears(Open(number, "exec", {}, 8))
        assert solo.hears(Open(8, "exec", {}, 8)) == [Opened(8, "exec", {}, 8)]

    @pytest.mark.parametrize("late", [Data(2, 0, 9, b"x"), Closed(2), Reset(2, "cancelled", "", {})])
    def test_a_late_frame_for_a_number_that_is_over_is_ignored(self, late: Frame) -> None:
        solo = Solo(leader=True)
        solo.bring(State.DONE, opened_here=False)
        assert solo.hears(late) == []
        solo.bring(State.DONE, opened_here=True)
        assert solo.hears(late._replace(channel=1)) == []

    @pytest.mark.parametrize("number", [0, 1, 2, 7, 1 << 40])
    @pytest.mark.parametrize("frame", [Accept(0, {}, 8), Data(0, 0, 0, b"x"), Close(0, {}), Closed(0)])
    def test_a_frame_for_a_number_that_was_never_used_breaks_the_protocol(
        self, frame: Frame, number: int
    ) -> None:
        with pytest.raises(RemoteProtocolError, match=r"which was never opened"):
            Solo(leader=True).hears(frame._replace(channel=number))

    def test_a_channel_that_is_gone_takes_no_moves(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"channel 5 is gone"):
            Solo(leader=True).connection.send(5, 0, b"x")


class TestHowMany:
    def test_we_open_no_more_at_once_than_our_own_bound(self) -> None:
        solo = Solo(leader=True)
        numbers = [solo.connection.open("exec", {}) for _ in range(TINY.max_own_channels)]
        with pytest.raises(TooLarge, match=r"more than 4 channels"):
            solo.connection.open("exec", {})
        solo.connection.reset(numbers[0], Cancelled("enough"))
        assert solo.connection.open("exec", {}) == 9

    def test_channels_beyond_the_peers_bound_are_refused_one_by_one(self) -> None:
        solo = Solo(leader=False)
        numbers = range(1, 2 * TINY.max_channels, 2)
        solo.hears(*(Open(number, "exec", {}, 8) for number in numbers))
        assert solo.hears(Open(9, "exec", {}, 8)) == []
        (refusal,) = solo.says()
        assert isinstance(refusal, Reset)
        assert (refusal.channel, refusal.code) == (9, "too_large")
        # There is room again once the peer has ended one and taken note of the refusal.
        solo.hears(Closed(9), Reset(1, "cancelled", "enough", {}))
        assert solo.hears(Open(11, "exec", {}, 8)) == [Opened(11, "exec", {}, 8)]

    def test_a_peer_that_does_not_care_for_refusals_is_dropped(self) -> None:
        solo = Solo(leader=False)
        for number in range(1, 4 * TINY.max_channels, 2):
            solo.hears(Open(number, "exec", {}, 8))
        with pytest.raises(RemoteProtocolError, match=r"without end"):
            solo.hears(Open(17, "exec", {}, 8))
        assert len(solo.connection.channels) == 2 * TINY.max_channels

    def test_channels_of_a_lost_session_do_not_count(self) -> None:
        solo = Solo(leader=True)
        for _ in range(TINY.max_own_channels):
            solo.bring(State.OPEN, opened_here=True)
            solo.bring(State.OPEN, opened_here=False)
        solo.greets(hello(generation=2))
        assert [solo.connection.open("exec", {}) for _ in range(TINY.max_own_channels)] == [9, 11, 13, 15]
        assert solo.hears(Open(2, "exec", {}, 8)) == [Opened(2, "exec", {}, 8)]


class TestHelloOfALeader:
    def test_the_first_offers_nothing_to_go_on_with(self) -> None:
        solo = Solo(leader=True, greeted=False)
        solo.connection.link_up()
        assert said_hello(solo) == Hello(0, 1, "cloche/1", SESSION, 0, False, 0, [], {})

    def test_a_later_one_offers_the_state_it_holds(self) -> None:
        solo = Solo(leader=True)
        solo.bring(State.OPEN, opened_here=True)
        solo.bring(State.OFFERED, opened_here=False)
        solo.connection.link_up()
        reports = [[1, Standing.LIVE, [[0, 3, False]]], [2, Standing.LIVE, []]]
        assert said_hello(solo) == Hello(0, 1, "cloche/1", SESSION, 1, True, 2, reports, {})

    def test_a_session_that_was_given_up_is_not_offered_again(self) -> None:
        solo = Solo(leader=True)
        solo.bring(State.OPEN, opened_here=True)
        assert failed(solo.connection.fail_all(LinkLost("enough"))) == [(1, "link_lost")]
        solo.connection.link_up()
        assert said_hello(solo) == Hello(0, 1, "cloche/1", SESSION, 1, False, 0, [], {})

    @pytest.mark.parametrize(
        "answer",
        [
            hello(generation=2, session=b"another"),
            hello(generation=0),
            hello(generation=1),
            hello(generation=3),
            hello(generation=2, resumes=True),
            hello(generation=0, resumes=True),
        ],
    )
    def test_an_answer_for_another_state_breaks_the_protocol(self, answer: Hello) -> None:
        with pytest.raises(RemoteProtocolError, match=r"not ours"):
            Solo(leader=True).greets(answer)

    def test_an_answer_cannot_go_on_with_what_was_not_offered(self) -> None:
        solo = Solo(leader=True)
        solo.connection.fail_all(LinkLost("enough"))
        with pytest.raises(RemoteProtocolError, match=r"not ours"):
            solo.greets(hello(generation=1, resumes=True))

    def test_a_peer_that_has_lost_the_state_costs_what_it_may_have_heard_of(self) -> None:
        solo = Solo(leader=True)
        mine, theirs = (solo.bring(State.OPEN, opened_here=here) for here in (True, False))
        solo.connection.link_down()
        unsent = solo.connection.open("exec", {"waits": True})
        events = solo.greets(hello(generation=2))
        assert failed(events) == [(mine, "link_lost"), (theirs, "link_lost")]
        assert events[-1] == Greeted({}, "test/1", resumed=False)
        # Nobody has ever heard of this one, so it is no news to anybody: it is opened now.
        assert solo.says() == [Open(unsent, "exec", {"waits": True}, 8)]


class TestHelloOfAFollower:
    def test_the_first_begins_a_state(self) -> None:
        solo = Solo(leader=False, greeted=False)
        solo.connection.link_up()
        assert solo.hears(hello()) == [Greeted({}, "test/1", resumed=False)]
        assert said_hello(solo) == Hello(0, 1, "cloche/1", SESSION, 1, False, 0, [], {})
        assert solo.connection.session == SESSION

    def test_it_goes_on_with_the_state_both_hold(self) -> None:
        solo = Solo(leader=False)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.link_up()
        report = [number, Standing.LIVE, [[0, 3, False]]]
        events = solo.hears(hello(generation=1, resumes=True, channels=[report]))
        assert events == [Greeted({}, "test/1", resumed=True)]
        assert said_hello(solo) == Hello(0, 1, "cloche/1", SESSION, 1, True, 1, [report], {})

    @pytest.mark.parametrize(
        "asked",
        [
            hello(generation=1),
            hello(generation=7, resumes=True),
            hello(generation=7),
            hello(session=b"another"),
            hello(session=b"another", generation=1, resumes=True),
        ],
    )
    def test_it_begins_anew_with_a_leader_that_holds_another_state(self, asked: Hello) -> None:
        solo = Solo(leader=False)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.link_up()
        events = solo.hears(asked)
        assert failed(events) == [(number, "link_lost")]
        answer = said_hello(solo)
        assert (answer.session, answer.generation) == (asked.session, asked.generation + 1)
        assert (answer.resumes, answer.channels, answer.highest) == (False, [], 0)

    def test_it_has_no_answer_to_the_largest_number(self) -> None:
        with pytest.raises(RemoteProtocolError, match=r"cannot have begun anew"):
            Solo(leader=False).greets(hello(generation=(1 << 63) - 1))

    def test_what_it_opened_before_it_was_ever_greeted_waits_for_the_leader(self) -> None:
        solo = Solo(leader=False, greeted=False)
        number = solo.connection.open("callback", {})
        assert solo.greets(hello()) == [Greeted({}, "test/1", resumed=False)]
        assert solo.says() == [Open(number, "callback", {}, 8)]


class TestWhenAnAnswerIsLost:
    """The leader never hears the follower's hello: neither knows whether the other one holds the state."""

    def lose_the_answer(self, pair: Pair) -> None:
        pair.cut()
        for side in pair.sides:
            side.connection.link_up()
        pair.speak(pair.leader)
        pair.follower.hear()
        assert pair.speak(pair.follower)
        pair.cut()

    def test_a_first_answer_lost_costs_nothing(self) -> None:
        pair = Pair()
        number = pair.follower.connection.open("callback", {})
        self.lose_the_answer(pair)
        later = pair.follower.connection.open("callback", {})
        self.lose_the_answer(pair)
        pair.link()
        assert failed(pair.follower.heard) == []
        assert [event.channel for event in pair.leader.heard if isinstance(event, Opened)] == [number, later]

    def test_nor_does_a_later_one(self) -> None:
        pair = Pair()
        pair.link()
        number = pair.leader.connection.open("exec", {})
        pair.settle()
        self.lose_the_answer(pair)
        pair.link()
        assert failed(pair.leader.heard) == failed(pair.follower.heard) == []
        assert number in pair.follower.connection.channels

    def test_a_reset_of_what_the_leader_never_heard_of_ends_it_in_silence(self) -> None:
        pair = Pair()
        number = pair.follower.connection.open("callback", {})
        self.lose_the_answer(pair)
        pair.follower.connection.reset(number, Cancelled("enough"))
        pair.link()
        assert pair.follower.connection.channels == {}
        assert pair.leader.heard_of(number) == []

    def test_a_fresh_follower_is_not_taken_for_the_old_one_because_its_answer_was_lost(self) -> None:
        pair = Pair()
        pair.link()
        number = pair.leader.connection.open("exec", {})
        pair.settle()
        pair.follower.connection = Solo(leader=False, greeted=False).connection
        self.lose_the_answer(pair)
        pair.link()
        assert failed(pair.leader.heard) == [(number, "link_lost")]
        assert pair.leader.connection.channels == pair.follower.connection.channels == {}


class TestTakingUp:
    def test_a_close_whose_confirmation_was_lost_is_confirmed_by_the_channels_absence(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.CLOSING, opened_here=False)
        assert Confirmed(number) in solo.greets(hello(generation=1, resumes=True))
        assert solo.connection.channels == {}

    def test_and_so_is_a_reset(self) -> None:
        solo = Solo(leader=True)
        solo.bring(State.RESETTING, opened_here=False)
        assert solo.greets(hello(generation=1, resumes=True)) == [Greeted({}, "test/1", resumed=True)]
        assert solo.connection.channels == {}

    def test_a_close_that_was_never_sent_cannot_have_been_confirmed(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.close(number)
        with pytest.raises(RemoteProtocolError, match=r"forgotten channel 2, which is closing"):
            solo.greets(hello(generation=1, resumes=True))

    @pytest.mark.parametrize(
        ("state", "opened_here"),
        [(State.OPEN, True), (State.OPEN, False), (State.OFFERED, False), (State.CLOSED_BY_PEER, True)],
    )
    def test_a_peer_does_not_forget_a_channel_that_is_not_over(self, state: State, opened_here: bool) -> None:
        solo = Solo(leader=True)
        solo.bring(state, opened_here=opened_here)
        with pytest.raises(RemoteProtocolError, match=r"the peer has forgotten channel"):
            solo.greets(hello(generation=1, resumes=True))

    def test_nor_one_whose_open_it_says_it_has_seen(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPENING, opened_here=True)
        with pytest.raises(RemoteProtocolError, match=r"the peer has forgotten channel"):
            solo.greets(hello(generation=1, resumes=True, highest=number))

    def test_a_channel_reset_before_its_open_is_sent_again_is_never_heard_of(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPENING, opened_here=True)
        solo.greets(hello(generation=1, resumes=True))
        solo.connection.reset(number, Cancelled("enough"))
        assert solo.says() == []
        assert solo.connection.channels == {}

    def test_reports_of_channels_we_have_forgotten_are_ignored(self) -> None:
        solo = Solo(leader=True)
        solo.bring(State.DONE, opened_here=False)
        stale = [2, Standing.LIVE, [[0, 3, False]]]
        assert solo.greets(hello(generation=1, resumes=True, channels=[stale])) == [
            Greeted({}, "test/1", resumed=True)
        ]

    def test_what_was_taken_up_before_a_violation_is_still_reported(self) -> None:
        solo = Solo(leader=True)
        over, open_ = (solo.bring(state, opened_here=False) for state in (State.CLOSING, State.OPEN))
        with pytest.raises(RemoteProtocolError, match=r"forgotten channel 4"):
            solo.greets(hello(generation=1, resumes=True))
        error = LinkLost("enough")
        assert solo.connection.fail_all(error) == [
            Confirmed(over),
            Failed(open_, error, unacknowledged=(Unacknowledged(0, 0, (b"abc",)),)),
        ]

    def test_a_lost_state_tells_what_the_peer_had_not_acknowledged_of_each_stream(self) -> None:
        solo = Solo(leader=False)
        number = solo.bring(State.OPEN, opened_here=False)
        solo.connection.send(number, 1, b"12345678")
        solo.says()
        solo.hears(Ack(number, 0, 3), Ack(number, 1, 4))
        solo.connection.send(number, 1, b"90")
        solo.connection.close(number)
        failed, _ = solo.greets(hello(session=b"another session."))
        assert isinstance(failed, Failed)
        assert {
            (left.stream, left.offset, b"".join(bytes(piece) for piece in left.pieces))
            for left in failed.unacknowledged
        } == {(0, 3, b""), (1, 4, b"567890")}

    def test_what_a_side_has_settled_fails_in_silence(self) -> None:
        solo = Solo(leader=True)
        solo.bring(State.CLOSED_BY_PEER, opened_here=True)
        solo.bring(State.RESETTING, opened_here=True)
        assert failed(solo.greets(hello(generation=2))) == []
        assert solo.connection.channels == {}
