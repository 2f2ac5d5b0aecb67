"""Messages in a byte stream: whole ones, whatever the pieces; and back into step after a cut at any byte."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_wire.errors import LocalProtocolError, Undecodable
from cloche_wire.framing import NONCE_SIZE, Framing

MOST = 60
NONCE, OTHER = b"n" * NONCE_SIZE, b"o" * NONCE_SIZE
MARKER = b"\xc1\0\0\0cloche-sync?" + NONCE.hex().encode()
ECHO = b"\xc1\0\0\0cloche-sync!" + NONCE.hex().encode()
SEARCHED = len(MARKER) - 1
"""What a search may keep: less than a marker."""

# Payloads that look like what the framing looks for.
tricky = st.sampled_from(
    [
        MARKER,
        ECHO,
        MARKER[:20],
        b"\xc1\0\0\x05",
        b"\xc1",
        bytes(MOST),
        b"\xc1\0\0\x02ab\xc1",
        b"\xc1\0\0\0cloche",
    ]
)
messages = st.lists((st.binary(min_size=1, max_size=MOST) | tricky).map(lambda m: m[:MOST]), max_size=4)


def leader(*, in_step: bool = False) -> Framing:
    return Framing(leader=True, max_message=MOST, in_step=in_step)


def follower(*, in_step: bool = False) -> Framing:
    return Framing(leader=False, max_message=MOST, in_step=in_step)


def pieces(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """The data in pieces of these sizes, the rest in one."""
    cut = []
    for size in sizes:
        cut.append(data[:size])
        data = data[size:]
    return [*cut, data]


class TestMessages:
    def test_a_message_has_its_length_in_front_and_a_mark_behind(self) -> None:
        assert leader().wrap(b"abc") == b"\xc1\x00\x00\x03abc\xc1"
        assert Framing(leader=True, max_message=70_000).wrap(bytes(66_051))[:4] == b"\xc1\x01\x02\x03"

    @pytest.mark.parametrize("size", [0, MOST + 1])
    def test_a_message_is_neither_empty_nor_over_the_bound(self, size: int) -> None:
        with pytest.raises(LocalProtocolError, match=rf"a message of {size} bytes"):
            leader().wrap(bytes(size))

    @pytest.mark.parametrize("size", [0, -1, 1 << 24])
    def test_the_bound_fits_the_header(self, size: int) -> None:
        with pytest.raises(LocalProtocolError, match=r"three bytes"):
            Framing(leader=True, max_message=size)

    @given(messages, st.lists(st.integers(0, 9)), st.booleans())
    def test_messages_arrive_whole_whatever_the_pieces(
        self, sent: list[bytes], sizes: list[int], of_leader: bool
    ) -> None:
        sender, receiver = (
            (leader(), follower(in_step=True)) if of_leader else (follower(), leader(in_step=True))
        )
        arrived = []
        for piece in pieces(b"".join(map(sender.wrap, sent)), sizes):
            whole, reply = receiver.feed(piece)
            arrived += whole
            assert reply is None
            assert len(receiver._buffer) < MOST + 5
        assert arrived == sent

    @pytest.mark.parametrize(
        "data",
        [
            b"x\0\0\x03abc\xc1",  # not the first byte of a header
            b"\xc1\0\0\x3dabc",  # one byte over the bound
            b"\xc1\xff\xff\xff",
            b"\xc1\0\0\x03abcx",  # no mark at the end
            b"\xc1\0\0\0" + bytes(60),  # length 0, and no marker
            b"\0\0\0\0",
        ],
    )
    @pytest.mark.parametrize(
        "receiver", [leader(in_step=True), follower(in_step=True)], ids=["leader", "follower"]
    )
    def test_a_stream_out_of_step_is_seen_at_the_next_message(self, receiver: Framing, data: bytes) -> None:
        receiver.in_step, receiver._buffer[:] = True, b""
        with pytest.raises(Undecodable, match=r"out of step"):
            receiver.feed(data)
        assert receiver.feed(receiver.wrap(b"abc")) == ([], None)

    def test_nothing_is_said_of_a_message_before_its_end_mark(self) -> None:
        receiver = follower(in_step=True)
        assert receiver.feed(b"\xc1\0\0\x03abc") == ([], None)
        assert receiver.feed(b"\xc1") == ([b"abc"], None)


class TestSync:
    def test_both_sides_come_into_step(self) -> None:
        hub, agent = leader(), follower()
        assert hub.sync(NONCE) == MARKER
        assert agent.feed(MARKER) == ([], ECHO)
        assert hub.feed(ECHO) == ([], b"")
        assert hub.in_step
        assert agent.in_step
        assert agent.feed(hub.wrap(b"down")) == ([b"down"], None)
        assert hub.feed(agent.wrap(b"up")) == ([b"up"], None)

    def test_only_the_leader_syncs_and_with_a_nonce_of_its_size(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"the leader syncs"):
            follower().sync(NONCE)
        with pytest.raises(LocalProtocolError, match=r"16 bytes"):
            leader().sync(b"short")

    def test_what_came_before_the_marker_is_void_and_what_comes_behind_counts(self) -> None:
        agent = follower(in_step=True)
        old, new = leader().wrap(b"old"), leader().wrap(b"new")
        assert agent.feed(old + MARKER + new) == ([b"new"], ECHO)

    def test_a_follower_in_step_takes_a_marker_between_messages(self) -> None:
        agent = follower(in_step=True)
        assert agent.feed(leader().wrap(b"old") + MARKER[:9]) == ([b"old"], None)
        assert agent.feed(MARKER[9:]) == ([], ECHO)

    def test_echoes_of_other_syncs_are_passed_over(self) -> None:
        hub = leader()
        hub.sync(OTHER)
        hub.sync(NONCE)
        old = b"\xc1\0\0\0cloche-sync!" + OTHER.hex().encode()
        assert hub.feed(old + b"junk" + old) == ([], None)
        assert hub.feed(ECHO) == ([], b"")

    def test_a_leader_that_never_asked_takes_no_echo(self) -> None:
        assert leader().feed(ECHO + b"\xc1\0\0\0cloche-sync!" + b"0" * 32) == ([], None)

    def test_further_echoes_of_the_same_sync_mean_nothing(self) -> None:
        hub = leader()
        hub.sync(NONCE)
        assert hub.feed(ECHO + ECHO[:11]) == ([], b"")
        assert hub.feed(ECHO[11:] + follower().wrap(b"up")) == ([b"up"], None)

    def test_and_they_do_not_bring_a_leader_back_that_has_lost_step_since(self) -> None:
        hub = leader()
        hub.sync(NONCE)
        hub.feed(ECHO)
        with pytest.raises(Undecodable):
            hub.feed(b"junk, and then some")
        assert hub.feed(ECHO) == ([], None)

    def test_a_marker_cut_short_does_not_hide_the_next(self) -> None:
        for length in range(len(MARKER)):
            for agent in (follower(), follower(in_step=True)):
                assert agent.feed(MARKER[:length]) == ([], None)
                assert agent.feed(MARKER) == ([], ECHO)
        for length in range(len(ECHO)):
            hub = leader()
            hub.sync(NONCE)
            assert hub.feed(ECHO[:length] + ECHO) == ([], b"")

    def test_a_marker_hidden_in_a_message_that_made_no_sense_is_found(self) -> None:
        agent = follower(in_step=True)
        agent.lose_step(b"no frames at all" + MARKER)
        assert agent.feed(leader().wrap(b"new")) == ([b"new"], ECHO)

    def test_a_marker_behind_junk_in_the_same_piece_is_found_at_once(self) -> None:
        agent = follower(in_step=True)
        assert agent.feed(b"junk of some length" + MARKER) == ([], ECHO)

    def test_filler_frees_a_follower_from_a_message_that_never_ends(self) -> None:
        agent = follower(in_step=True)
        hub = leader()
        agent.feed(leader().wrap(b"m" * MOST)[:-20])
        assert agent.feed(hub.sync(NONCE)) == ([], ECHO)

    def test_however_long_the_message_was_to_be(self) -> None:
        hub = Framing(leader=True, max_message=1000)
        agent = Framing(leader=False, max_message=1000, in_step=True)
        agent.feed(hub.wrap(b"m" * 1000)[:4])
        assert agent.feed(hub.sync(NONCE)) == ([], None)
        assert agent.feed(hub.filler() + hub.sync(NONCE)) == ([], ECHO)

    def test_a_message_that_was_cut_is_never_completed_by_what_comes_next(self) -> None:
        """Zeros in the payload would make it a perfect frame otherwise."""
        message = leader().wrap(bytes(MOST))
        for length in range(1, len(message)):
            agent, hub = follower(in_step=True), leader()
            arrived = []
            for piece in (message[:length], hub.sync(NONCE), hub.filler()):
                with contextlib.suppress(Undecodable):
                    arrived += agent.feed(piece)[0]
            assert arrived == []

    @given(st.lists(st.binary(max_size=200) | tricky, max_size=6))
    def test_a_search_keeps_less_than_a_marker(self, junk: list[bytes]) -> None:
        for receiver in (leader(), follower()):
            if receiver._leader:
                receiver.sync(OTHER)
            for piece in junk:
                with contextlib.suppress(Undecodable):
                    receiver.feed(piece)
                if not receiver.in_step:
                    assert len(receiver._buffer) <= SEARCHED


class Rig:
    """A follower that lives on, a new leader, and the bytes between them in arbitrary pieces."""

    def __init__(self, agent: Framing, draw: st.DataObject) -> None:
        self.hub, self.agent = leader(), agent
        self._draw = draw
        self.to_agent = self.to_hub = b""
        self.at_agent: list[bytes | None] = []
        """Messages as they arrived; None where a link began."""
        self.at_hub: list[bytes | None] = []

    def carry(self) -> None:
        while self.to_agent or self.to_hub:
            size = self._draw.draw(st.integers(1, 70))
            piece, self.to_agent = self.to_agent[:size], self.to_agent[size:]
            self.to_hub += self._feed(self.agent, piece, self.at_agent)
            size = self._draw.draw(st.integers(1, 70))
            piece, self.to_hub = self.to_hub[:size], self.to_hub[size:]
            self._feed(self.hub, piece, self.at_hub)

    @staticmethod
    def _feed(framing: Framing, piece: bytes, arrived: list[bytes | None]) -> bytes:
        try:
            whole, reply = framing.feed(piece)
        except Undecodable:
            return b""
        if reply is not None:
            arrived.append(None)
        arrived += whole
        return reply or b""


@given(messages, messages, messages, messages, st.data())
def test_after_a_cut_at_any_byte_both_sides_are_in_step_with_nothing_from_before(
    old_down: list[bytes],
    old_up: list[bytes],
    new_down: list[bytes],
    new_up: list[bytes],
    draw: st.DataObject,
) -> None:
    rig = Rig(follower(in_step=True), draw)
    down, up = b"".join(map(leader().wrap, old_down)), b"".join(map(follower().wrap, old_up))
    rig.to_agent = down[: draw.draw(st.integers(0, len(down)))]
    # What the agent was saying reaches the new leader, from anywhere in the middle to anywhere.
    start = draw.draw(st.integers(0, len(up)))
    rig.to_hub = up[start : draw.draw(st.integers(start, len(up)))]
    # A nonce that no old payload can know.
    marker = rig.hub.sync(OTHER)
    rig.to_agent += marker
    # A leader that is impatient says it again before it has heard anything.
    rig.to_agent += (rig.hub.filler() + marker) * draw.draw(st.integers(0, 2))
    rig.carry()
    if not rig.hub.in_step:
        rig.to_agent += rig.hub.filler() + marker
        rig.carry()
    assert rig.hub.in_step
    assert rig.agent.in_step
    # Exactly the first ones of the old messages, none of them damaged.
    before = rig.at_agent[: rig.at_agent.index(None)]
    assert before == old_down[: len(before)]
    assert set(rig.at_agent[len(before) :]) == {None}
    assert rig.at_hub == [None]
    rig.at_agent.clear()
    rig.to_agent, rig.to_hub = b"".join(map(rig.hub.wrap, new_down)), b"".join(map(rig.agent.wrap, new_up))
    rig.carry()
    assert rig.at_agent == new_down
    assert rig.at_hub == [None, *new_up]
