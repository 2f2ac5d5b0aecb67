"""What two honest programs may expect of the protocol, as a model that follows them.

It keeps what each side's program asked for and checks every event against it: what arrives is a prefix of what was
sent; before a result comes everything that was sent before it; every channel has one last word on each side, and
the right one. It knows nothing of frames or links.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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

NAMES = ("leader", "follower")


def other_than(name: str) -> str:
    """The other side."""
    return NAMES[1 - NAMES.index(name)]


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
        """One of its streams."""
        return self.flows.setdefault((sender, stream), Flow())

    def is_over_for(self, side: str) -> bool:
        """Whether a side's program has had its last word about the channel."""
        return any(isinstance(event, Failed | Confirmed | Finished) for event in self.heard[side])

    def next_bytes(self, sender: str, stream: int, size: int) -> bytes:
        """What a program sends next on a stream: each byte tells its place."""
        start = len(self.flow(sender, stream).sent)
        return bytes((31 * stream + place) % 251 for place in range(start, start + size))


class Model:
    """All channels of two programs."""

    def __init__(self) -> None:
        self.talks: dict[str, dict[int, Talk]] = {name: {} for name in NAMES}
        """side → its channels by number; both sides share the `Talk` of a channel."""
        self.arrived = 0

    # What a program did.

    def opened(self, name: str, number: int) -> None:
        """It opened a channel."""
        assert number not in self.talks[name]
        self.talks[name][number] = Talk(opener=name)

    def did(
        self, name: str, number: int, move: str, stream: int, data: bytes, result: dict[str, int]
    ) -> None:
        """It made a move on a channel."""
        talk = self.talks[name][number]
        if move == "send":
            talk.flow(name, stream).sent += data
        elif move == "end":
            talk.flow(name, stream).ended = True
        elif move == "close":
            talk.closed_with = result
        elif move == "reset":
            talk.dropped_by.add(name)
            talk.doomed_for.discard(name)

    def forgot(self, name: str, doomed: list[int]) -> None:
        """It was replaced by a fresh one; of the other side's channels these must fail."""
        self.talks[name] = {}
        for number in doomed:
            self.talks[other_than(name)][number].doomed_for.add(other_than(name))

    # What it hears.

    def take(self, name: str, event: Event) -> None:
        """Checks one event at a side's program."""
        other = other_than(name)
        if isinstance(event, Opened):
            self._take_opening(name, event)
            return
        number = getattr(event, "channel", None)
        if number is None:
            return
        talk = self.talks[name][number]
        assert not talk.is_over_for(name), f"{event} after the last word"
        assert name not in talk.dropped_by, f"{event} of a channel this side has reset"
        match event:
            case Accepted():
                assert not any(isinstance(heard, Accepted) for heard in talk.heard[name])
                talk.heard[name].append(event)
            case Received(_, stream, data):
                flow = talk.flow(other, stream)
                assert not flow.end_arrived
                flow.arrived += data
                assert flow.sent.startswith(flow.arrived)
                self.arrived += len(data)
            case Ended(_, stream):
                flow = talk.flow(other, stream)
                assert flow.ended
                assert not flow.end_arrived
                assert flow.arrived == flow.sent
                flow.end_arrived = True
            case Acknowledged(_, stream, offset):
                flow = talk.flow(name, stream)
                assert flow.acknowledged < offset <= len(flow.arrived)
                flow.acknowledged = offset
            case Finished() | Confirmed() | Failed():
                self._take_last_word(name, talk, event)

    def _take_opening(self, name: str, event: Opened) -> None:
        other = other_than(name)
        known = self.talks[name].get(event.channel)
        # A fresh peer counts from the beginning again; what had the number before must be over.
        assert known is None or known.is_over_for(name) or name in known.dropped_by, "opened twice"
        self.talks[name][event.channel] = self.talks[other][event.channel]
        assert event.params == {"by": other}

    def _take_last_word(self, name: str, talk: Talk, event: Finished | Confirmed | Failed) -> None:
        other = other_than(name)
        if isinstance(event, Finished):
            assert event.result == talk.closed_with
            for (sender, _), flow in talk.flows.items():
                if sender == other:
                    assert flow.arrived == flow.sent
                    assert flow.end_arrived == flow.ended
        elif isinstance(event, Confirmed):
            assert any(isinstance(heard, Finished) for heard in talk.heard[other])
        elif event.error.code == "link_lost":
            assert name in talk.doomed_for, "nothing was lost"
        else:
            assert event.error.code == "cancelled"
            assert other in talk.dropped_by
        talk.doomed_for.discard(name)
        talk.heard[name].append(event)

    # What holds in the end, when everybody has finished what he began.

    def check_that_nothing_is_missing(self) -> None:
        """Every result has arrived, and every channel that was lost has failed."""
        for name in NAMES:
            for talk in self.talks[name].values():
                assert name not in talk.doomed_for, "a lost channel never failed"
                assert talk.is_over_for(name) or name in talk.dropped_by, "a channel without a last word"
