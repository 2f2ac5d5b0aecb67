"""The protocol core in memory: one side that hears and says frames, or two sides joined by wires that can be cut.

`Solo` is one connection in conversation with the test:

    solo = Solo(leader=False)
    assert solo.hears(OPEN_1) == [Opened(1, "exec", {}, 8)]
    solo.connection.accept(1)
    assert solo.says() == [Accept(1, {}, 8)]

`Pair` is two connections and what is on its way between them:

    pair = Pair()
    pair.link()
    number = pair.leader.connection.open("exec", {})
    pair.settle()
    assert pair.follower.heard == [Opened(number, "exec", {}, 8)]

No test helper knows the rules of the protocol: they only move messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from cloche_wire import PROTOCOL_VERSION
from cloche_wire.channels import State
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled
from cloche_wire.events import Event
from cloche_wire.frames import Accept, Close, Data, Decoder, Fields, Frame, Hello, Open, Reset, encode
from cloche_wire.limits import Limits

SESSION = b"session-of-tests"
TINY = Limits(
    max_frame=400,
    max_message=1000,
    max_channels=4,
    max_own_channels=4,
    max_items=64,
    window=8,
    max_peer_window=8,
    least_window=8,
    least_peer_window=8,
    chunk=3,
)
"""Every bound within reach of a few bytes."""


def message(*frames: Frame, limits: Limits | None = None) -> bytes:
    """One link message of these frames."""
    return b"".join(encode(frame, limits or Limits()) for frame in frames)


def frames_of(data: bytes, limits: Limits | None = None) -> list[Frame]:
    """The frames of one link message."""
    return list(Decoder(limits or Limits()).frames(data))


def hello(
    *,
    session: bytes = SESSION,
    generation: int = 0,
    resumes: bool = False,
    highest: int = 0,
    channels: Sequence[Any] = (),
    info: Fields | None = None,
    protocol: int = PROTOCOL_VERSION,
) -> Hello:
    """The test's own hello."""
    return Hello(0, protocol, "test/1", session, generation, resumes, highest, list(channels), info or {})


class Solo:
    """One connection; the test plays its peer.

    Args:
        leader: the role of the connection under test.
        greeted: whether the first link is up and both hellos are exchanged already.
    """

    def __init__(self, *, leader: bool, limits: Limits = TINY, greeted: bool = True) -> None:
        self.limits = limits
        self.connection = Connection(
            leader=leader, software="cloche/1", session=SESSION if leader else b"", limits=limits
        )
        # The numbers of the first channel that each side opens.
        self.ours, self.theirs = (1, 2) if leader else (2, 1)
        self._next_of_theirs = self.theirs
        if greeted:
            self.greets(hello(generation=1 if leader else 0))

    def greets(self, answer: Hello) -> list[Event]:
        """A new link on which the peer says this hello; what the connection says of its own is dropped."""
        self.connection.link_down()
        self.connection.link_up()
        if self.connection.leader:
            assert isinstance(self.says()[0], Hello)
            return self.hears(answer)
        events = self.hears(answer)
        # Only the hello: what follows it is the test's to see.
        assert isinstance(frames_of(self.connection.data_to_send(1))[0], Hello)
        return events

    def hears(self, *frames: Frame) -> list[Event]:
        """The connection receives these frames in one message."""
        return self.connection.feed(message(*frames))

    def says(self, most: int | None = None) -> list[Frame]:
        """What the connection sends now: one message, or everything if `most` is not given."""
        if most is not None:
            return frames_of(self.connection.data_to_send(most))
        said: list[Frame] = []
        while data := self.connection.data_to_send():
            said += frames_of(data)
        return said

    def state(self, number: int) -> State:
        """Where a channel is in its life; DONE once it is forgotten."""
        channel = self.connection.channels.get(number)
        return State.DONE if channel is None else channel.state

    def bring(self, state: State, *, opened_here: bool) -> int:
        """Leads a new channel into a state by legal moves only, and returns its number. Nothing is left to say.

        Where it was open on the way, three bytes have passed each way on stream 0, neither consumed nor acknowledged.
        """
        number = self._begin(opened_here=opened_here)
        if state in (State.OPEN, State.CLOSING, State.CLOSED_BY_PEER):
            if opened_here:
                self.hears(Accept(number, {}, 8))
            else:
                self.connection.accept(number)
            self.connection.send(number, 0, b"abc")
            self.hears(Data(number, 0, 0, b"xyz"))
        if state is State.CLOSING:
            self.connection.close(number, {"code": 0})
        elif state is State.CLOSED_BY_PEER:
            self.hears(Close(number, {"code": 0}))
        elif state is State.RESETTING:
            self.connection.reset(number, Cancelled("enough"))
        elif state is State.DONE:
            self.hears(Reset(number, "cancelled", "enough", {}))
        self.says()
        return number

    def _begin(self, *, opened_here: bool) -> int:
        if opened_here:
            number = self.connection.open("exec", {})
            self.says()
        else:
            number = self._next_of_theirs
            self._next_of_theirs += 2
            self.hears(Open(number, "exec", {}, 8))
        return number


ROADS: dict[State, tuple[bool, ...]] = {
    State.OPENING: (True,),
    State.OFFERED: (False,),
    State.OPEN: (True, False),
    State.CLOSING: (False,),
    State.CLOSED_BY_PEER: (True,),
    State.RESETTING: (True, False),
    State.DONE: (True, False),
}
"""Which side may have opened a channel that is in this state: ours (True), the peer's (False)."""


class Side:
    """One end of a `Pair`."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name, self.connection = name, connection
        self.inbox: deque[bytes] = deque()
        """Link messages on their way to this side."""
        self.heard: list[Event] = []

    def hear(self) -> list[Event]:
        """Takes in the next message on its way, if there is one; returns what happened."""
        events = self.connection.feed(self.inbox.popleft()) if self.inbox else []
        self.heard += events
        return events

    def heard_of(self, number: int) -> list[Event]:
        """What happened on one channel."""
        return [event for event in self.heard if getattr(event, "channel", None) == number]


class Pair:
    """Two connections joined in memory."""

    def __init__(self, limits: Limits = TINY) -> None:
        self.leader = Side(
            "leader", Connection(leader=True, software="leader/1", session=SESSION, limits=limits)
        )
        self.follower = Side("follower", Connection(leader=False, software="follower/1", limits=limits))
        self.sides = (self.leader, self.follower)

    def other(self, side: Side) -> Side:
        """The far end of a side."""
        return self.follower if side is self.leader else self.leader

    def link(self) -> None:
        """A fresh link, with both sides greeted and nothing left to say."""
        self.cut()
        for side in self.sides:
            side.connection.link_up()
        self.settle()

    def cut(self) -> None:
        """The link is gone, and with it everything on its way."""
        for side in self.sides:
            side.connection.link_down()
            side.inbox.clear()

    def speak(self, side: Side, most: int | None = None) -> bool:
        """Puts a side's next message on the wire; False if it has nothing to say."""
        data = side.connection.data_to_send(most)
        if data:
            self.other(side).inbox.append(data)
        return bool(data)

    def settle(self) -> None:
        """Carries messages both ways until nobody has anything to say."""
        while sum(self.speak(side) for side in self.sides) or any(side.inbox for side in self.sides):
            for side in self.sides:
                while side.inbox:
                    side.hear()
