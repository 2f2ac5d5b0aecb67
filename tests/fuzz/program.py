"""The program above a connection: it makes moves the tables allow, and holds the connection to what it promises.

What it checks of every event, whoever the peer is: it is about a channel the program knows, it is a value of the
right form, nothing comes after the last word about a channel, and every channel gets a last word.
"""

from __future__ import annotations

import random
from typing import get_args

from cloche_wire.channels import WE_MAY, State
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, CodedError, LinkLost, LocalProtocolError
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
from cloche_wire.frames import Decoder
from cloche_wire.limits import MAX_STREAMS

# More messages than any state can be worth.
ENOUGH = 500


class Program:
    """One side's program."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.live: set[int] = set()
        """Channels about which the last word has not been heard and not been said."""
        self._accepted: set[int] = set()
        self._ended: set[tuple[int, int]] = set()
        self._offsets: dict[tuple[int, int], int] = {}

    # What it hears.

    def take(self, events: list[Event]) -> None:
        """Checks events and keeps account of them."""
        for event in events:
            assert isinstance(event, get_args(Event)), event
            if isinstance(event, Opened):
                assert event.channel not in self.live, "opened twice"
                self._forget(event.channel)
                self.live.add(event.channel)
                assert 0 <= event.window <= self.connection.limits.max_peer_window
                assert all(type(key) is str for key in event.params)
            elif hasattr(event, "channel"):
                assert event.channel in self.live, f"{event} about a channel that is over"
                self._take_one(event)

    def _take_one(self, event: Event) -> None:
        match event:
            case Accepted(number, info, window):
                assert number not in self._accepted, "accepted twice"
                assert 0 <= window <= self.connection.limits.max_peer_window
                assert all(type(key) is str for key in info)
                self._accepted.add(number)
            case Received(number, stream, data):
                assert 0 <= stream < MAX_STREAMS
                assert type(data) is bytes
                assert data
                assert (number, stream) not in self._ended
            case Ended(number, stream):
                assert (number, stream) not in self._ended
                self._ended.add((number, stream))
            case Acknowledged(number, stream, offset):
                assert offset > self._offsets.get((number, stream), 0)
                self._offsets[number, stream] = offset
            case Finished(number, result):
                assert all(type(key) is str for key in result)
                self.live.discard(number)
            case Confirmed(number):
                self.live.discard(number)
            case Failed(number, error):
                assert isinstance(error, CodedError)
                self.live.discard(number)

    def _forget(self, number: int) -> None:
        # A new session may use the number again.
        self._accepted.discard(number)
        for stream in range(MAX_STREAMS):
            self._ended.discard((number, stream))
            self._offsets.pop((number, stream), None)

    def give_up(self) -> None:
        """Ends the session, as after a violation: every channel has its last word now."""
        self.take(self.connection.fail_all(LinkLost("enough")))
        assert not self.live, "somebody waits for ever"
        assert not self.connection.channels

    # What it does.

    def act(self, rng: random.Random) -> None:
        """One move that the tables allow."""
        connection = self.connection
        if rng.random() < 0.2 and sum(c.opened_here for c in connection.channels.values()) < 4:
            self.live.add(connection.open("exec", {"n": 1}))
            return
        if not connection.channels:
            return
        channel = rng.choice(list(connection.channels.values()))
        moves = [move for move in sorted(WE_MAY[channel.state]) if move != "close" or not channel.opened_here]
        # Otherwise most channels would be over before anything happens on them.
        moves += [move for move in moves if move not in ("close", "reset", "confirm")] * 4
        if moves:
            self._make(rng, rng.choice(moves), channel.number)

    def _make(self, rng: random.Random, move: str, number: int) -> None:
        connection, stream = self.connection, rng.randrange(3)
        channel = connection.channels[number]
        match move:
            case "accept":
                connection.accept(number, window=rng.choice([0, 8]))
            case "send":
                data = rng.randbytes(rng.randint(0, connection.credit(number, stream)))
                try:
                    connection.send(number, stream, data)
                except LocalProtocolError:
                    assert channel.sending[stream].ended
            case "end":
                connection.end(number, stream)
            case "consume":
                for place, receiving in channel.receiving.items():
                    connection.consume(number, place, rng.randint(0, receiving.received - receiving.consumed))
            case "close":
                connection.close(number, {"code": 0})
            case "confirm":
                connection.confirm(number)
            case _:
                self.live.discard(number)
                connection.reset(number, Cancelled("enough"))

    def speak(self) -> list[bytes]:
        """Everything the connection has to say, each message checked for what a peer with the same limits takes."""
        said: list[bytes] = []
        while data := self.connection.data_to_send():
            assert len(said) < ENOUGH, "it never stops talking"
            assert len(data) <= self.connection.limits.max_message
            list(Decoder(self.connection.limits).frames(data))
            said.append(data)
        assert not self.connection.has_data_to_send
        return said

    # What always holds.

    def check(self) -> None:
        """The bounds on what is kept, and that the program and the connection know the same channels."""
        connection, limits = self.connection, self.connection.limits
        session = connection._session
        of_us = sum(channel.opened_here for channel in connection.channels.values())
        assert (session._of_us, session._of_peer) == (of_us, len(connection.channels) - of_us)
        assert session._of_peer <= 2 * limits.max_channels
        assert len(connection._outbox.urgent) <= limits.max_channels + limits.max_own_channels + 40
        assert self.live == {
            number for number, channel in connection.channels.items() if not channel.is_settled
        }
        for channel in connection.channels.values():
            assert channel.state is not State.DONE
            assert len(channel.receiving) <= MAX_STREAMS
            assert len(channel.sending) <= MAX_STREAMS
            for sending in channel.sending.values():
                assert (
                    0
                    <= sending.acked
                    <= sending.sent
                    <= sending.end
                    <= sending.acked + limits.max_peer_window
                )
                held = sum(len(piece) for piece in (*sending.unsent, *sending.unacked))
                assert held == sending.end - sending.acked
            for receiving in channel.receiving.values():
                assert receiving.acked <= receiving.consumed <= receiving.received
                assert receiving.received - receiving.consumed <= channel.window
