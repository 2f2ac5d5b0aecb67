"""Any order of moves on both sides, over links that are cut anywhere: nothing is lost, nothing comes twice.

Two honest peers are driven at random and a model keeps what each side's program asked for (tests/support/wire_model).
Nobody ever accuses the other, whatever the tables allow works, whatever they forbid changes nothing, what is kept is
bounded, and over a link that holds everything comes to its end. The second machine also replaces a peer by a fresh
one, as after a crash.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cloche_wire.channels import WE_MAY, State
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, LocalProtocolError, TooLarge, Undecodable
from cloche_wire.limits import MAX_STREAMS
from tests.support.wire_model import NAMES, Model, other_than
from tests.support.wire_pair import TINY, Pair, Side

# Windows of some channels are whole, of others a part, of the last ones the least there is.
TIGHT = replace(TINY, max_unacknowledged=160, least_window=2, least_peer_window=2)

# No real program makes more turns than this to become quiet; a bound instead of a hang.
ENOUGH = 500

names = st.sampled_from(NAMES)
MOVES = sorted(set().union(*WE_MAY.values()))
SELDOM = {"reset": 0.06, "close": 0.15, "end": 0.15}
STEPS = {
    "act": 16,
    "speak": 8,
    "hear": 6,
    "cut": 3,
    "link": 3,
    "open": 2,
    "settle": 1,
    "misuse": 1,
    "acknowledge": 1,
    "ping": 1,
}
"""What a side does next, and how often relative to the others."""


class TwoPeers(RuleBasedStateMachine):
    """Two honest peers, their programs, and a link that breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(TIGHT)
        self.model = Model()
        self.is_linked = False
        self.results = 0

    @initialize(openers=st.lists(names, max_size=4), handshake=st.sampled_from([True, True, False]))
    def begin(self, openers: list[str], handshake: bool) -> None:
        """Most of what can go wrong goes wrong on channels that are open both ways."""
        for name in openers:
            self.open(name)
        if handshake:
            self.link()
            self.settle()
            for name in NAMES:
                for number in self.side(name).connection.channels:
                    if self.is_allowed(name, number, "accept", 0, 0):
                        self.make(name, number, "accept", 0, 0)
            self.settle()

    # The link.

    def link(self) -> None:
        for side in self.pair.sides:
            side.connection.link_up()
        self.is_linked = True

    def cut(self, kept: tuple[int, int], torn: int, anew: bool) -> None:
        """The link breaks: of what is on its way some first messages still arrive, and perhaps a torn one."""
        for side, count in zip(self.pair.sides, kept, strict=True):
            for _ in range(min(count, len(side.inbox))):
                self.hear_one(side)
            if torn and side.inbox:
                side.inbox[0] = side.inbox[0][:-torn]
                # Nothing of it is taken in; the session goes on.
                with contextlib.suppress(Undecodable):
                    self.hear_one(side)
        self.pair.cut()
        self.is_linked = False
        if anew:
            self.link()

    def speak(self, side: Side, most: int | None) -> None:
        had = side.connection.has_data_to_send
        if self.pair.speak(side, most):
            assert had
        else:
            assert not side.connection.has_data_to_send

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

    @rule(seed=st.integers(0, 1 << 32), count=st.sampled_from([1, 10, 100, 200]))
    def go_on(self, seed: int, count: int) -> None:
        """Many steps at once, drawn evenly: single rules seldom lead to anything worth breaking."""
        # What stands before the seed keeps repeated seeds from repeating the steps.
        rng = random.Random(f"{self.results} {seed}")
        for what in rng.choices(list(STEPS), list(STEPS.values()), k=count):
            self.step(rng, what, self.side(rng.choice(NAMES)))

    def step(self, rng: random.Random, what: str, side: Side) -> None:
        match what:
            case "act":
                self.act(rng, side.name)
            case "misuse":
                self.misuse(rng, side.name)
            case "open":
                self.open(side.name)
            case "acknowledge":
                side.connection.acknowledge(rng.randrange(8))
            case "ping" if not side.connection._outbox.urgent:
                # As a driver does: one question, and no other before something was heard.
                side.connection.ping(7)
            case "speak" if self.is_linked:
                self.speak(side, rng.choice([1, 10, None]))
            case "hear" if side.inbox:
                self.hear_one(side)
            case "settle" if self.is_linked:
                self.settle()
            case "cut" if self.is_linked:
                kept = (rng.choice([0, 0, 1, 3]), rng.choice([0, 0, 1, 3]))
                self.cut(kept, rng.choice([0, rng.randint(1, 40)]), anew=rng.random() < 0.7)
            case "link" if not self.is_linked:
                self.link()

    def open(self, name: str) -> None:
        connection = self.side(name).connection
        ours = sum(channel.opened_here for channel in connection.channels.values())
        if ours < TINY.max_own_channels:
            self.model.opened(name, connection.open("exec", {"by": name}))
        else:
            with pytest.raises(TooLarge):
                connection.open("exec", {})

    def act(self, rng: random.Random, name: str) -> None:
        """A move that the tables allow on some channel of one side: it works."""
        connection = self.side(name).connection
        if not connection.channels:
            return
        number, stream, size = rng.choice(list(connection.channels)), rng.choice([0, 1]), rng.randint(1, 8)
        size = min(size, connection.credit(number, stream)) or size
        possible = [move for move in MOVES if self.is_allowed(name, number, move, stream, size)]
        # Otherwise most channels would be over before anything happens on them.
        possible = [move for move in possible if rng.random() < SELDOM.get(move, 1)]
        if possible:
            self.make(name, number, rng.choice(possible), stream, size)

    def misuse(self, rng: random.Random, name: str) -> None:
        """A move that they do not allow changes nothing."""
        connection = self.side(name).connection
        if not connection.channels:
            return
        number, move = rng.choice(list(connection.channels)), rng.choice(MOVES)
        size = connection.credit(number, 0) + 1 if move == "send" else 9
        if self.is_allowed(name, number, move, 0, size):
            return
        state = connection.channels[number].state
        # On a channel that is over for this side, what asks for nothing does no harm.
        harmless = state is State.RESETTING and move in ("consume", "confirm", "reset")
        with contextlib.nullcontext() if harmless else pytest.raises(LocalProtocolError):
            self.call(name, number, move, 0, bytes(size))
        assert connection.channels[number].state is state

    def is_allowed(self, name: str, number: int, move: str, stream: int, size: int) -> bool:
        channel = self.side(name).connection.channels[number]
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
        data = self.model.talks[name][number].next_bytes(name, stream, size)
        self.results += 1
        self.call(name, number, move, stream, data)
        self.model.did(name, number, move, stream, data, {"n": self.results})

    def call(self, name: str, number: int, move: str, stream: int, data: bytes) -> None:
        connection = self.side(name).connection
        match move:
            case "send":
                connection.send(number, stream, data)
            case "consume":
                connection.consume(number, stream, len(data))
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

    def hear_one(self, side: Side) -> None:
        for event in side.hear():
            self.model.take(side.name, event)

    def side(self, name: str) -> Side:
        return self.pair.sides[NAMES.index(name)]

    # What always holds.

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        for side in self.pair.sides:
            outbox = side.connection._outbox
            assert len(outbox.urgent) <= TINY.max_channels + TINY.max_own_channels + 5
            assert len(outbox._ready) <= 4 * TINY.max_channels
            most = TIGHT.max_unacknowledged
            for channel in side.connection.channels.values():
                # However many channels there are: see `Limits.max_unacknowledged`.
                most -= MAX_STREAMS * max(0, channel.peer_window - TIGHT.least_window)
                for sending in channel.sending.values():
                    held = sum(len(piece) for piece in (*sending.unsent, *sending.unacked))
                    assert held == sending.end - sending.acked <= channel.peer_window <= TINY.window
                for receiving in channel.receiving.values():
                    assert receiving.received - receiving.consumed <= TINY.window
            assert most >= 0
            assert side.connection._session._promised == MAX_STREAMS * sum(
                channel.peer_window for channel in side.connection.channels.values()
            )

    @invariant()
    def a_channel_that_is_over_is_forgotten(self) -> None:
        for name in NAMES:
            for number, channel in self.side(name).connection.channels.items():
                assert channel.is_settled or not self.model.talks[name][number].is_over_for(name)

    def teardown(self) -> None:
        """Over a link that holds, every program finishes what it began: then nothing is left anywhere."""
        if not self.is_linked:
            self.link()
        self.settle()
        for name in NAMES:
            self.read_everything(name)
        self.settle()
        self.check_that_all_credit_is_back()
        for _ in range(ENOUGH):
            if not sum(self.finish(name) for name in NAMES):
                break
            self.settle()
        for side in self.pair.sides:
            assert not side.connection.channels
            assert not side.connection.has_data_to_send
        self.model.check_that_nothing_is_missing()

    def finish(self, name: str) -> bool:
        """One step of every channel towards its end; False if there was none to make."""
        self.read_everything(name)
        moved = False
        for number, channel in list(self.side(name).connection.channels.items()):
            move = "confirm" if channel.opened_here else "close"
            if self.is_allowed(name, number, move, 0, 0):
                self.make(name, number, move, 0, 0)
                moved = True
        return moved

    def read_everything(self, name: str) -> None:
        connection = self.side(name).connection
        for number, channel in connection.channels.items():
            for stream, receiving in channel.receiving.items():
                unread = receiving.received - receiving.consumed
                if unread and self.is_allowed(name, number, "consume", stream, unread):
                    self.make(name, number, "consume", stream, unread)
            connection.acknowledge(number)

    def check_that_all_credit_is_back(self) -> None:
        for name in NAMES:
            ours, theirs = self.side(name).connection, self.side(other_than(name)).connection
            for number in ours.channels:
                if ours.is_open(number) and theirs.is_open(number):
                    window = ours.channels[number].peer_window
                    assert TIGHT.least_window <= window <= TINY.window
                    assert ours.credit(number, 0) == ours.credit(number, 1) == window


class PeersThatForget(TwoPeers):
    """As above, and a peer is replaced by a fresh one in the middle."""

    restarts = 0

    def step(self, rng: random.Random, what: str, side: Side) -> None:
        if rng.random() < 0.02:
            self.restart(side.name, anew=rng.random() < 0.7)
        super().step(rng, what, side)

    def restart(self, name: str, *, anew: bool) -> None:
        if self.is_linked:
            self.cut((0, 0), 0, anew=False)
        self.restarts += 1
        self.side(name).connection = Connection(
            leader=name == "leader",
            software="fresh/1",
            session=b"session %d" % self.restarts if name == "leader" else b"",
            limits=TIGHT,
        )
        survivor = self.side(other_than(name)).connection
        doomed = [
            number
            for number, channel in survivor.channels.items()
            if not channel.is_settled and (channel.open_ever_sent or not channel.opened_here)
        ]
        self.model.forgot(name, doomed)
        if anew:
            self.link()


# Few enough for every run, enough to find each of two dozen defects that were put into the core to try this.
_OFTEN = settings(max_examples=max(200, settings.default.max_examples), stateful_step_count=12)  # type: ignore[union-attr]
HonestPeers = TwoPeers.TestCase
HonestPeers.settings = _OFTEN
ForgetfulPeers = PeersThatForget.TestCase
ForgetfulPeers.settings = _OFTEN
