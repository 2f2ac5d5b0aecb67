"""The protocol without I/O: one side of a link, across any number of links. Bytes in, events out; moves in, bytes out.

    driver                                   connection
    ──────                                   ──────────
    link is there           link_up()        takes up an earlier session, or begins one
    message arrived         feed(bytes)  ──► events, in order
    link is writable    ◄── data_to_send()   frames by turns among channels, so that none holds the link
    link is gone            link_down()      keeps all unacknowledged bytes for the next link

Rules:
- The *leader* (a client; the hub towards a guest) names the session and says hello first; the *follower* answers.
- Hello comes before everything else; afterwards both sides have taken up where the other one stands.
- A LocalProtocolError changes nothing. After a RemoteProtocolError the driver must drop the link.
- No clock, no randomness: heartbeats and session names are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from cloche_wire.channels import State
from cloche_wire.errors import CodedError, LocalProtocolError, RemoteProtocolError, error_from_code
from cloche_wire.events import (
    Accepted,
    Acknowledged,
    Confirmed,
    Ended,
    Event,
    Failed,
    Finished,
    Greeted,
    Opened,
    Parted,
    Ponged,
    Received,
)
from cloche_wire.frames import (
    TAG_OF,
    Accept,
    Ack,
    Buffer,
    Bye,
    Close,
    Closed,
    Data,
    Decoder,
    Eof,
    Fields,
    Frame,
    Hello,
    Open,
    Ping,
    Pong,
    Reset,
    check,
    encode,
)
from cloche_wire.limits import Limits
from cloche_wire.outbox import Outbox
from cloche_wire.session import Session, too_many


class Connection:
    """One side of the protocol.

    Args:
        leader: whether this side names the session and greets first.
        software: name and version, for the peer's log.
        session: 16 random bytes of a leader; a follower takes over the leader's.
        info: what hello says beyond the protocol (a token, an agent's hash). Replaceable until this side's hello
            leaves: a follower's leaves after its `Greeted` event.
        limits: the bounds.
    """

    def __init__(
        self,
        *,
        leader: bool,
        software: str,
        session: bytes = b"",
        info: Fields | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.leader, self.software = leader, software
        self.info: Fields = info or {}
        self.limits = limits or Limits()
        self._session = Session(leader=leader, name=session, limits=self.limits)
        self.channels = self._session.channels
        self._decoder: Decoder | None = None
        self._hello_unsent = self._greeted = False
        self._farewell: Bye | None = None
        self._unreported: list[Event] = []
        self._outbox = Outbox(self.channels, self.limits)

    # Links.

    def link_up(self) -> None:
        """A new link is there, and nothing has been sent or received on it yet."""
        self.link_down()
        self._decoder = Decoder(self.limits)
        self._hello_unsent = self.leader

    def link_down(self) -> None:
        """The link is gone; channels wait for the next one."""
        self._decoder = None
        self._farewell = None
        self._greeted = self._hello_unsent = False
        # What was to be said follows from the channels' state when both sides have greeted again.
        self._outbox.clear()

    @property
    def session(self) -> bytes:
        """The session's name; empty at a follower that has not been greeted yet."""
        return self._session.name

    @property
    def is_up(self) -> bool:
        """Whether both sides have greeted on the current link."""
        return self._greeted

    def fail_all(self, error: CodedError) -> list[Event]:
        """Gives up the session: every channel is gone with this error. A new link begins a new session's state.

        The events begin with what `feed` took in before it raised a RemoteProtocolError.
        """
        self._outbox.clear()
        events, self._unreported = self._unreported, []
        return events + self._session.end(error, keeps_unsent=False)

    # Moves.

    def open(self, kind: str, params: Fields, *, window: int | None = None) -> int:
        """Opens a channel and returns its number. Data may be sent once it is accepted.

        Raises:
            TooLarge: the parameters do not fit a frame, or `max_own_channels` are open already.
        """
        channel = self._session.open(kind, params, self.limits.window if window is None else window)
        check(Open(channel.number, kind, params, channel.window), self.limits)
        self._session.add(channel)
        self._give_turn(channel.number)
        return channel.number

    def accept(self, number: int, info: Fields | None = None, *, window: int | None = None) -> None:
        """Takes a channel the peer has opened."""
        info, window = info or {}, self.limits.window if window is None else window
        channel = self._session.channel(number)
        check(Accept(number, info, window), self.limits)
        channel.accept(info, window)
        self._give_turn(number)

    def is_open(self, number: int) -> bool:
        """Whether a channel's streams may carry data now."""
        channel = self.channels.get(number)
        return channel is not None and channel.state is State.OPEN

    def credit(self, number: int, stream: int) -> int:
        """Bytes that `send` takes now; 0 on a channel that is not open."""
        channel = self.channels.get(number)
        return 0 if channel is None else channel.credit(stream)

    def send(self, number: int, stream: int, data: Buffer, *, waits: bool = False) -> None:
        """Queues bytes on a stream; if they wait, for what follows or `hurry`. The buffer must not change until acknowledged."""
        self._session.channel(number).send(stream, data)
        if not waits:
            self._give_turn(number)

    def hurry(self, number: int) -> None:
        """Has what waits on a channel sent; does nothing if the channel is gone."""
        if number in self.channels:
            self._give_turn(number)

    def end(self, number: int, stream: int) -> None:
        """Ends a stream behind what is queued on it. Idempotent."""
        self._session.channel(number).end(stream)
        self._give_turn(number)

    def consume(self, number: int, stream: int, count: int) -> None:
        """Grants the peer credit for bytes that have been used; does nothing if the channel is gone.

        Small counts are gathered until an acknowledgement is worth a frame; `acknowledge` sends it at once.
        """
        channel = self._session.unless_gone(number)
        if channel is None:
            return
        # A quarter of what the peer uses at least: it may hold itself to less than our window, and must not wait for ever.
        if channel.consume(stream, count) >= max(1, min(channel.window, self.limits.least_peer_window) // 4):
            self.acknowledge(number)

    def acknowledge(self, number: int) -> None:
        """Sends what is gathered of a channel's acknowledgements with the next data."""
        if self._greeted and number in self.channels:
            self._outbox.mark_acks(number)

    def close(self, number: int, result: Fields | None = None) -> None:
        """Ends a channel the peer has opened, behind everything queued on it.

        Raises:
            TooLarge: the result does not fit a frame, or too many are unconfirmed; the channel is unchanged.
        """
        channel = self._session.channel(number)
        channel.require("close")
        self._session.keep(channel, check(Close(number, result or {}), self.limits))
        channel.close(result or {})
        self._give_turn(number)

    def confirm(self, number: int) -> None:
        """Tells the peer that its close has arrived: it forgets the channel, and so do we. Not if it is gone already."""
        channel = self._session.unless_gone(number)
        if channel is None:
            return
        channel.require("confirm")
        self._session.forget(channel)
        self._outbox.urgent.append(Closed(number))

    def reset(self, number: int, error: CodedError) -> None:
        """Drops a channel at once, whatever is queued on it; does nothing if it is gone already."""
        channel = self._session.unless_gone(number)
        if channel is None:
            return
        channel.reset(self._session.refusal(channel, error))
        if channel.state is State.DONE:
            self._session.forget(channel)
        else:
            self._give_turn(number)

    def ping(self, token: int) -> None:
        """Asks the peer for a sign of life: a `Ponged` event with the token. Does nothing before both have greeted."""
        if self._greeted:
            self._outbox.urgent.append(Ping(0, token))

    def part(self, error: CodedError) -> None:
        """Tells the peer why the link is about to be dropped; the driver drops it after the next write."""
        if self._decoder is not None:
            self._farewell = Bye(0, error.code, error.brief().message)

    # Out.

    def data_to_send(self, most: int | None = None) -> bytes:
        """The next link message, of about `most` bytes; empty when there is nothing to say.

        Each channel adds one frame a turn, so that a flood on one does not delay the others.
        """
        # A frame may go over `most`, so room for one is left below the message's limit.
        room = self.limits.max_message - self.limits.max_frame
        most = room if most is None else min(most, room)
        parts: list[bytes] = []
        size = 0
        while (not parts or size < most) and len(parts) < self.limits.max_frames:
            frame = self._next_frame()
            if frame is None:
                break
            parts.append(encode(frame, self.limits))
            size += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def has_data_to_send(self) -> bool:
        """Whether `data_to_send` may have something to say: False is certain, and so it is after an empty answer."""
        return self._hello_unsent or self._farewell is not None or (self._greeted and bool(self._outbox))

    def _next_frame(self) -> Frame | None:
        if self._hello_unsent:
            self._hello_unsent = False
            return self._session.hello(self.software, self.info)
        if self._farewell is not None:
            farewell, self._farewell = self._farewell, None
            return farewell
        return self._outbox.next_frame() if self._greeted else None

    # In.

    def feed(self, message: Buffer) -> list[Event]:
        """Takes one link message and returns what happened, in order.

        Raises:
            Undecodable: it is not a sequence of frames; nothing of it was taken in, and the session may go on
                on a new link.
            RemoteProtocolError: the peer broke the protocol; drop the link and give up the session (`fail_all`).
        """
        if self._decoder is None:
            raise LocalProtocolError("no link is up")
        events: list[Event] = []
        # All frames are decoded before the first takes effect: a message that was cut on the way changes nothing.
        for frame in list(self._decoder.frames(message)):
            try:
                if not self._greeted and not isinstance(frame, Hello | Bye):
                    raise RemoteProtocolError(f"{TAG_OF[type(frame)].name} before hello")
                self._HANDLERS[type(frame)](self, frame, events)
            except RemoteProtocolError:
                # Channels may be gone by what came before, and somebody waits to hear of it.
                self._unreported += (event for event in events if not isinstance(event, Greeted | Parted))
                raise
        return events

    def _on_hello(self, frame: Hello, events: list[Event]) -> None:
        if self._greeted:
            raise RemoteProtocolError("a second hello on one link")
        self._session.meet(frame, events)
        if not self._session.resumed:
            # What waits since this link came up is about channels the peer knows no more.
            self._outbox.clear()
        self._greeted = True
        # A follower answers only now that it knows whether both go on.
        self._hello_unsent = not self.leader
        for number in self.channels:
            self._outbox.mark(number)
            self._outbox.mark_acks(number)
        events.append(Greeted(frame.info, frame.software, self._session.resumed))

    def _on_open(self, frame: Open, events: list[Event]) -> None:
        channel = self._session.opened(frame)
        if self._session.is_crowded:
            self.reset(channel.number, too_many(self.limits.max_channels))
        else:
            events.append(Opened(channel.number, frame.kind, frame.params, channel.peer_window))

    def _on_accept(self, frame: Accept, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is not None and channel.state is not State.RESETTING:
            self._session.accepted(channel, frame)
            events.append(Accepted(channel.number, frame.info, channel.peer_window))

    def _on_data(self, frame: Data, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is not None and channel.state is State.OPEN:
            channel.received(frame)
            events.append(Received(channel.number, frame.stream, bytes(frame.payload)))

    def _on_eof(self, frame: Eof, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is not None and channel.state is State.OPEN:
            channel.ended(frame)
            events.append(Ended(channel.number, frame.stream))

    def _on_ack(self, frame: Ack, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is not None and channel.state is not State.RESETTING and channel.acknowledged(frame):
            events.append(Acknowledged(channel.number, frame.stream, frame.offset))

    def _on_close(self, frame: Close, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is not None and channel.state is not State.RESETTING:
            channel.closed()
            events.append(Finished(channel.number, frame.result))

    def _on_reset(self, frame: Reset, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is None:
            return
        if not channel.is_settled:
            said = error_from_code(frame.code, frame.message, frame.details)
            events.append(Failed(channel.number, said, by_peer=True))
        self._session.forget(channel)
        if self._outbox.is_choked:
            raise RemoteProtocolError("the peer sends without end and does not read")
        self._outbox.urgent.append(Closed(channel.number))

    def _on_closed(self, frame: Closed, events: list[Event]) -> None:
        channel = self._session.addressed(frame)
        if channel is None:
            return
        if channel.state is State.CLOSING:
            if channel.close_unsent:
                raise RemoteProtocolError(f"CLOSED on channel {channel.number} before its close was sent")
            events.append(Confirmed(channel.number))
        self._session.forget(channel)

    def _on_ping(self, frame: Ping, _events: list[Event]) -> None:
        self._outbox.pong(frame.token)

    def _on_pong(self, frame: Pong, events: list[Event]) -> None:
        events.append(Ponged(frame.token))

    def _on_bye(self, frame: Bye, events: list[Event]) -> None:
        events.append(Parted(error_from_code(frame.code, frame.message)))

    def _give_turn(self, number: int) -> None:
        # Before both sides have greeted nothing is marked: all channels get a turn then.
        if self._greeted:
            self._outbox.mark(number)

    _HANDLERS: ClassVar[dict[type[Frame], Callable[[Connection, Any, list[Event]], None]]] = {
        Hello: _on_hello,
        Open: _on_open,
        Accept: _on_accept,
        Data: _on_data,
        Eof: _on_eof,
        Ack: _on_ack,
        Close: _on_close,
        Reset: _on_reset,
        Closed: _on_closed,
        Ping: _on_ping,
        Pong: _on_pong,
        Bye: _on_bye,
    }
