"""What a channel says of itself when a new link is up, and what it makes of what the peer says."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_wire.channels import Standing, State, parse_reports
from cloche_wire.errors import NotFound, RemoteProtocolError
from cloche_wire.events import Event, Failed
from cloche_wire.frames import Accept, Ack, Close, Data, Eof, Open, Reset
from tests.support.wire_pair import ROADS, Solo, hello


class TestReports:
    def test_what_a_channel_reports_is_what_the_peer_reads(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.hears(Eof(number, 0, 3), Data(number, 2, 0, b"x"))
        report = solo.connection.channels[number].report()
        assert report == [1, Standing.LIVE, [[0, 3, True], [2, 1, False]]]
        assert parse_reports([report])[1].streams == {0: (3, True), 2: (1, False)}

    @pytest.mark.parametrize(
        ("state", "standing"),
        [
            (State.OPENING, Standing.OPENING),
            (State.OFFERED, Standing.LIVE),
            (State.OPEN, Standing.LIVE),
            (State.CLOSING, Standing.LIVE),
            (State.CLOSED_BY_PEER, Standing.CLOSED),
            (State.RESETTING, Standing.RESETTING),
        ],
    )
    def test_each_state_has_its_standing(self, state: State, standing: Standing) -> None:
        solo = Solo(leader=True)
        number = solo.bring(state, opened_here=ROADS[state][0])
        report: Any = solo.connection.channels[number].report()
        assert report[:2] == [number, standing]

    def test_fields_that_later_versions_append_are_ignored(self) -> None:
        assert parse_reports([[1, 1, [[0, 5, False, "new"]], "new"]]) == parse_reports(
            [[1, 1, [[0, 5, False]]]]
        )

    @pytest.mark.parametrize(
        "entry",
        [
            None,
            5,
            "abc",
            b"abc",
            {},
            [],
            [1, 1],
            ["1", 1, []],
            [True, 1, []],
            [1, 9, []],
            [1, None, []],
            [1, [], []],
            [1, 1, 5],
            [1, 1, None],
            [1, 1, [5]],
            [1, 1, [[]]],
            [1, 1, [[0, 5]]],
            [1, 1, [[0, "5", False]]],
            [1, 1, [[0, 5, 0]]],
            [1, 1, [["0", 5, False]]],
            [1, 1, [[[], 5, False]]],
            [1, 1, {"abc": 1}],
            [1, 1, [{"a": 1}]],
        ],
    )
    def test_a_report_of_another_form_breaks_the_protocol(self, entry: Any) -> None:
        with pytest.raises(RemoteProtocolError, match=r"wrong form"):
            parse_reports([entry])


class TestTakingUp:
    def again(self, solo: Solo, number: int, standing: Standing, streams: list[Any]) -> list[Event]:
        return solo.greets(hello(generation=1, resumes=True, channels=[[number, standing, streams]]))

    def test_bytes_the_peer_has_not_received_are_sent_again(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        self.again(solo, number, Standing.LIVE, [[0, 1, False]])
        assert solo.says() == [Data(number, 0, 1, b"bc")]

    def test_acknowledgements_are_said_again_since_the_last_ones_may_be_lost(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.connection.consume(number, 0, 3)
        solo.says()
        self.again(solo, number, Standing.LIVE, [[0, 3, False]])
        assert solo.says() == [Ack(number, 0, 3)]

    def test_an_accept_is_said_again_to_a_peer_that_has_not_heard_it(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=False)
        self.again(solo, number, Standing.OPENING, [])
        assert solo.says() == [Accept(number, {}, 8), Data(number, 0, 0, b"abc")]

    def test_a_close_is_said_again_unless_it_has_arrived(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.CLOSING, opened_here=False)
        self.again(solo, number, Standing.LIVE, [[0, 3, False]])
        assert solo.says() == [Close(number, {"code": 0})]
        self.again(solo, number, Standing.CLOSED, [[0, 3, False]])
        assert solo.says() == []

    def test_a_reset_is_said_again(self) -> None:
        solo = Solo(leader=True)
        number = solo.connection.open("exec", {})
        solo.says()
        solo.connection.reset(number, NotFound("gone", name="x"))
        self.again(solo, number, Standing.LIVE, [])
        assert solo.says() == [Reset(number, "not_found", "gone", {"name": "x"})]

    def test_a_peer_that_is_resetting_need_not_say_what_it_received(self) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        self.again(solo, number, Standing.RESETTING, [])
        assert [type(event) for event in solo.hears(Reset(number, "cancelled", "enough", {}))] == [Failed]

    @pytest.mark.parametrize("streams", [[[0, 4, False]], [], [[0, 3, True]]])
    def test_a_peer_cannot_have_received_what_was_not_sent_nor_lost_what_it_acknowledged(
        self, streams: list[Any]
    ) -> None:
        solo = Solo(leader=True)
        number = solo.bring(State.OPEN, opened_here=True)
        solo.hears(Ack(number, 0, 1))
        with pytest.raises(RemoteProtocolError, match=r"stream 0 cannot stand at"):
            self.again(solo, number, Standing.LIVE, streams)

    def test_an_open_is_said_again_to_a_peer_that_never_heard_it(self) -> None:
        solo = Solo(leader=True)
        number = solo.connection.open("exec", {"a": 1})
        solo.says()
        solo.greets(hello(generation=1, resumes=True))
        assert solo.says() == [Open(number, "exec", {"a": 1}, 8)]
