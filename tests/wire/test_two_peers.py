"""Any order of moves on both sides, over links that are cut anywhere: nothing is lost, nothing comes twice.

Two honest peers are driven at random and a model keeps what each side's program asked for. Whatever happens between
them, what arrives is a prefix of what was sent; once a result has arrived, everything before it has, once; and no
peer ever accuses the other. The second machine also replaces a peer by a fresh one, as after a crash.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cloche_wire.channels import WE_MAY, State
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, LocalProtocolError, TooLarge, Undecodable
from cloche_wire.events import (
    Accepted,
    Acknowledged,
    Confirmed,
    Ended,
    Event,
    Failed,
    Finished,
    Opened,
    Received,
)
from tests.support.wire_pair import TINY, Pair, Side

STREAMS = (0, 1)
NAMES = ("leader", "follower")
# No real program makes more turns than this to become quiet; a bound instead of a hang.
ENOUGH = 500


@dataclass
class Flow:
    """One stream in one direction, as the two programs see it."""

    sent: bytearray = field(default_factory=bytearray)
    ended: bool = False
    arrived: bytearray = field(default_factory=bytearray)
    end_arrived: bool = False
    acknowledged: int = 0


@dataclass
class Talk:
    """One channel, as the two programs see it."""

    opener: str
    flows: dict[tuple[str, int], Flow] = field(default_factory=dict)
    """(who sends, stream) → what passed."""
    closed_with: dict[str, int] | None = None
    heard: dict[str, list[Event]] = field(default_factory=lambda: {name: [] for name in NAMES})
    """side → the events about the channel's life that its program has seen."""
    dropped_by: set[str] = field(default_factory=set)
    """Sides whose program has reset it."""
    doomed_for: set[str] = field(default_factory=set)
    """Sides on which it must still fail, because the other side has forgotten everything."""

    def flow(self, sender: str, stream: int) -> Flow:
        return self.flows.setdefault((sender, stream), Flow())

    def has_ended_on(self, side: str) -> bool:
        """Whether a side's program has had its last word about the channel."""
        return any(isinstance(event, Failed | Confirmed | Finished) for event in self.heard[side])


class TwoPeers(RuleBasedStateMachine):
    """Two honest peers, their programs, and a link that breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(TINY)
        self.is_linked = False
        self.talks: dict[str, dict[int, Talk]] = {name: {} for name in NAMES}
        self.results = 0

    # The link.

    @initialize(handshake=st.booleans())
    def begin(self, handshake: bool) -> None:
        if handshake:
            self.link()
            self.settle()

    @precondition(lambda self: not self.is_linked)
    @rule()
    def link(self) -> None:
        for side in self.pair.sides:
            side.connection.link_up()
        self.is_linked = True

    @precondition(lambda self: self.is_linked)
    @rule(kept=st.tuples(st.integers(0, 3), st.integers(0, 3)), torn=st.integers(0, 40))
    def cut(self, kept: tuple[int, int], torn: int) -> None:
        """The link breaks: of what is on its way some first messages still arrive, and perhaps a torn one."""
        for side, count in zip(self.pair.sides, kept, strict=True):
            for _ in range(min(count, len(side.inbox))):
                self.hear_one(side)
            if torn and side.inbox:
                side.inbox[0] = side.inbox[0][:-torn]
                self.hear_torn(side)
        self.pair.cut()
        self.is_linked = False

    def hear_torn(self, side: Side) -> None:
        # Nothing of it is taken in; the session goes on.
        with contextlib.suppress(Undecodable):
            self.hear_one(side)

    @precondition(lambda self: self.is_linked)
    @rule(name=st.sampled_from(NAMES), most=st.sampled_from([1, 10, None]))
    def speak(self, name: str, most: int | None) -> None:
        side = self.side(name)
        had = side.connection.has_data_to_send
        if self.pair.speak(side, most):
            assert had
        else:
            assert not side.connection.has_data_to_send

    @precondition(lambda self: self.is_linked)
    @rule(name=st.sampled_from(NAMES))
    def hear(self, name: str) -> None:
        if self.side(name).inbox:
            self.hear_one(self.side(name))

    @precondition(lambda self: self.is_linked)
    @rule()
    def settle(self) -> None:
        """Everything that is to be said is said and heard."""
        for _ in range(ENOUGH):
            moved = sum(self.pair.speak(side) for side in self.pair.sides) > 0
            for side in self.pair.sides:
                while side.inbox:
                    self.hear_one(side)
                    moved = True
            if not moved:
                return
        pytest.fail("two peers never come to rest")

    # What the programs do.

    @rule(name=st.sampled_from(NAMES))
    def open(self, name: str) -> None:
        connection = self.side(name).connection
        ours = sum(channel.opened_here for channel in connection.channels.values())
        if ours >= TINY.max_own_channels:
            with pytest.raises(TooLarge):
                connection.open("exec", {})
            return
        number = connection.open("exec", {"by": name})
        assert number not in self.talks[name]
        self.talks[name][number] = Talk(opener=name)

    @rule(
        name=st.sampled_from(NAMES),
        pick=st.integers(0, 7),
        move=st.sampled_from(["accept", "send", "send", "end", "consume", "close", "confirm", "reset"]),
        stream=st.sampled_from(STREAMS),
        size=st.integers(0, 9),
    )
    def move(self, name: str, pick: int, move: str, stream: int, size: int) -> None:
        """A move on some channel of one side: it succeeds if the tables allow it, and changes nothing if not."""
        connection = self.side(name).connection
        if not connection.channels:
            return
        number = sorted(connection.channels)[pick % len(connection.channels)]
        if self.is_allowed(connection, number, move, stream, size):
            self.make(name, number, move, stream, size)
        else:
            state = connection.channels[number].state
            if state is State.RESETTING and move in ("consume", "confirm", "reset"):
                # Over for this side, and these ask for nothing: no harm done.
                self.call(connection, number, move, stream, size)
            else:
                with pytest.raises(LocalProtocolError):
                    self.call(connection, number, move, stream, size)
            assert connection.channels[number].state is state

    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 7))
    def acknowledge(self, name: str, pick: int) -> None:
        self.side(name).connection.acknowledge(pick)

    @rule(name=st.sampled_from(NAMES))
    def ping(self, name: str) -> None:
        # As a driver does: one question on a greeted link, and no other before something was heard.
        side = self.side(name)
        if side.connection.is_up and not side.connection._outbox.urgent:
            side.connection.ping(7)

    def is_allowed(self, connection: Connection, number: int, move: str, stream: int, size: int) -> bool:
        channel = connection.channels[number]
        if move not in WE_MAY[channel.state] or (move == "close" and channel.opened_here):
            return False
        if move == "send":
            sending = channel.sending.get(stream)
            return size <= channel.credit(stream) and not (sending and sending.ended)
        if move == "consume":
            receiving = channel.receiving.get(stream)
            return receiving is not None and size <= receiving.received - receiving.consumed
        return True

    def make(self, name: str, number: int, move: str, stream: int, size: int) -> None:
        talk = self.talks[name][number]
        self.call(self.side(name).connection, number, move, stream, size)
        if move == "send":
            talk.flow(name, stream).sent += self.payload(talk, name, stream, size)
        elif move == "end":
            talk.flow(name, stream).ended = True
        elif move == "close":
            talk.closed_with = {"n": self.results}
            self.results += 1
        elif move == "reset":
            talk.dropped_by.add(name)
            talk.doomed_for.discard(name)

    def call(self, connection: Connection, number: int, move: str, stream: int, size: int) -> None:
        name = "leader" if connection.leader else "follower"
        match move:
            case "send":
                talk = self.talks[name][number]
                connection.send(number, stream, self.payload(talk, name, stream, size))
            case "consume":
                connection.consume(number, stream, size)
            case "end":
                connection.end(number, stream)
            case "close":
                connection.close(number, {"n": self.results})
            case "reset":
                connection.reset(number, Cancelled("enough"))
            case "confirm":
                connection.confirm(number)
            case _:
                connection.accept(number)

    def payload(self, talk: Talk, name: str, stream: int, size: int) -> bytes:
        """The next bytes of a stream: each is told by its place."""
        start = len(talk.flow(name, stream).sent)
        return bytes((31 * stream + place) % 251 for place in range(start, start + size))

    # What they hear.

    def hear_one(self, side: Side) -> None:
        for event in side.hear():
            self.take(side.name, event)

    def take(self, name: str, event: Event) -> None:
        other = "follower" if name == "leader" else "leader"
        match event:
            case Opened(number):
                assert number not in self.talks[name], "opened twice"
                self.talks[name][number] = self.talks[other][number]
                assert event.params == {"by": other}
            case Accepted(number):
                talk = self.talks[name][number]
                assert not any(isinstance(heard, Accepted) for heard in talk.heard[name])
                talk.heard[name].append(event)
            case Received(number, stream, data):
                flow = self.talks[name][number].flow(other, stream)
                assert not flow.end_arrived
                flow.arrived += data
                assert flow.sent.startswith(flow.arrived)
            case Ended(number, stream):
                flow = self.talks[name][number].flow(other, stream)
                assert flow.ended
                assert not flow.end_arrived
                assert flow.arrived == flow.sent
                flow.end_arrived = True
            case Acknowledged(number, stream, offset):
                flow = self.talks[name][number].flow(name, stream)
                assert flow.acknowledged < offset <= len(flow.arrived)
                flow.acknowledged = offset
            case Finished(number):
                self.take_result(name, other, event)
            case Confirmed(number):
                talk = self.talks[name][number]
                assert not talk.has_ended_on(name)
                assert any(isinstance(heard, Finished) for heard in talk.heard[other])
                talk.heard[name].append(event)
            case Failed(number):
                self.take_failure(name, other, event)

    def take_result(self, name: str, other: str, event: Finished) -> None:
        talk = self.talks[name][event.channel]
        assert not talk.has_ended_on(name)
        assert event.result == talk.closed_with
        talk.doomed_for.discard(name)
        for (sender, _), flow in talk.flows.items():
            if sender == other:
                assert flow.arrived == flow.sent
                assert flow.end_arrived == flow.ended
        talk.heard[name].append(event)

    def take_failure(self, name: str, other: str, event: Failed) -> None:
        talk = self.talks[name][event.channel]
        assert not talk.has_ended_on(name)
        assert name not in talk.dropped_by, "a channel that was reset here is not news"
        talk.heard[name].append(event)
        if event.error.code == "link_lost":
            assert name in talk.doomed_for
            talk.doomed_for.discard(name)
        else:
            assert event.error.code == "cancelled"
            assert other in talk.dropped_by

    # What always holds.

    def side(self, name: str) -> Side:
        return self.pair.leader if name == "leader" else self.pair.follower

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        for side in self.pair.sides:
            outbox = side.connection._outbox
            assert len(outbox.urgent) <= 2 * TINY.max_channels + 5
            assert len(outbox._ready) <= 4 * TINY.max_channels
            for channel in side.connection.channels.values():
                for sending in channel.sending.values():
                    held = sum(len(piece) for piece in (*sending.unsent, *sending.unacked))
                    assert held == sending.end - sending.acked <= TINY.window
                for receiving in channel.receiving.values():
                    assert receiving.received - receiving.consumed <= TINY.window

    @invariant()
    def a_finished_channel_is_forgotten(self) -> None:
        for name in NAMES:
            for number, talk in self.talks[name].items():
                if talk.has_ended_on(name) and number in self.side(name).connection.channels:
                    # Until it is confirmed, or reset after all.
                    assert self.side(name).connection.channels[number].is_settled

    def teardown(self) -> None:
        """Over a link that holds, every program finishes what it began: then nothing is left anywhere."""
        if not self.is_linked:
            self.link()
        for _ in range(ENOUGH):
            self.settle()
            if not sum(self.finish(name) for name in NAMES):
                break
        for name in NAMES:
            connection = self.side(name).connection
            assert not connection.channels
            assert not connection.has_data_to_send
            for talk in self.talks[name].values():
                assert name not in talk.doomed_for, "a lost channel never failed"
                if talk.closed_with is not None and not talk.dropped_by and not self.was_lost(talk):
                    finished = [heard for heard in talk.heard[talk.opener] if isinstance(heard, Finished)]
                    assert len(finished) == 1

    def was_lost(self, talk: Talk) -> bool:
        return any(isinstance(event, Failed) for name in NAMES for event in talk.heard[name])

    def finish(self, name: str) -> bool:
        """One step of every channel towards its end; False if there was none to make."""
        connection = self.side(name).connection
        moved = False
        for number, channel in list(connection.channels.items()):
            for stream, receiving in channel.receiving.items():
                unread = receiving.received - receiving.consumed
                if unread and "consume" in WE_MAY[channel.state]:
                    connection.consume(number, stream, unread)
            connection.acknowledge(number)
            for move in ("confirm", "close", "accept"):
                if self.is_allowed(connection, number, move, 0, 0):
                    self.make(name, number, move, 0, 0)
                    moved = True
                    break
            else:
                # Nobody sends more: the opener of an open channel waits for the acceptor's result.
                moved = moved or channel.state is State.OPEN
        return moved


class PeersThatForget(TwoPeers):
    """As above, and a peer is replaced by a fresh one in the middle."""

    sessions = 0

    @rule(name=st.sampled_from(NAMES))
    def restart(self, name: str) -> None:
        other = "follower" if name == "leader" else "leader"
        if self.is_linked:
            self.cut((0, 0), 0)
        self.sessions += 1
        fresh = Connection(
            leader=name == "leader",
            software="fresh/1",
            session=b"session %d" % self.sessions if name == "leader" else b"",
            limits=TINY,
        )
        self.side(name).connection = fresh
        self.talks[name] = {}
        for number, channel in self.side(other).connection.channels.items():
            if not channel.is_settled and (channel.open_ever_sent or not channel.opened_here):
                self.talks[other][number].doomed_for.add(other)

    def take(self, name: str, event: Event) -> None:
        if isinstance(event, Opened):
            known = self.talks[name].get(event.channel)
            if known is not None:
                assert known.has_ended_on(name) or name in known.dropped_by
                del self.talks[name][event.channel]
        super().take(name, event)


HonestPeers = TwoPeers.TestCase
HonestPeers.settings = settings(max_examples=120, stateful_step_count=60)
ForgetfulPeers = PeersThatForget.TestCase
ForgetfulPeers.settings = settings(max_examples=80, stateful_step_count=60)
