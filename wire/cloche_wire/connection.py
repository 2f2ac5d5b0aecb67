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

from cloche_wire import PROTOCOL_VERSION
from cloche_wire.channels import Channel, Report, State, parse_reports
from cloche_wire.errors import (
    CodedError,
    LinkLost,
    LocalProtocolError,
    RemoteProtocolError,
    TooLarge,
    error_from_code,
)
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
    encode,
)
from cloche_wire.limits import Limits
from cloche_wire.outbox import Outbox


class Connection:
    """One side of the protocol.

    Args:
        leader: whether this side names the session and greets first.
        software: name and version, for the peer's log.
        session: 16 random bytes of a leader; a follower takes over the leader's.
        info: what hello says beyond the protocol (a token, an agent's hash). Replaceable before a link comes up.
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
        self.leader, self.software, self.session = leader, software, session
        self.info: Fields = info or {}
        self.limits = limits or Limits()
        self.channels: dict[int, Channel] = {}
        # Odd numbers are the leader's, even ones the follower's; a number is never used twice in a session.
        self._next_number = 1 if leader else 2
        self._highest_seen = 0
        self._established = self._goes_on = False
        self._decoder: Decoder | None = None
        self._hello_unsent = self._greeted = False
        self._outbox = Outbox(self.channels, self.limits)

    # Links.

    def link_up(self) -> None:
        """A new link is there, and nothing has been sent or received on it yet."""
        self._decoder = Decoder(self.limits)
        self._greeted = False
        self._outbox.new_link()
        self._hello_unsent = self.leader

    def link_down(self) -> None:
        """The link is gone; channels wait for the next one."""
        self._decoder = None
        self._greeted = self._hello_unsent = False

    @property
    def is_up(self) -> bool:
        """Whether both sides have greeted on the current link."""
        return self._greeted

    def fail_all(self, error: CodedError) -> list[Event]:
        """Gives up the session: every channel is gone with this error. A new link begins a new session's state."""
        gone: list[Event] = [Failed(number, error) for number in self.channels]
        for channel in self.channels.values():
            channel.finish()
        self.channels.clear()
        self._outbox.clear()
        self._highest_seen = 0
        self._established = False
        return gone

    # Moves.

    def open(self, kind: str, params: Fields, *, window: int | None = None) -> int:
        """Opens a channel and returns its number. Data may be sent once it is accepted.

        Raises:
            TooLarge: the parameters do not fit a frame.
        """
        number = self._next_number
        channel = Channel(
            number, kind, params, self.limits.window if window is None else window, opened_here=True
        )
        encode(Open(number, kind, params, channel.window), self.limits)
        self._next_number += 2
        self.channels[number] = channel
        self._outbox.mark(number)
        return number

    def accept(self, number: int, info: Fields | None = None, *, window: int | None = None) -> None:
        """Takes a channel the peer has opened."""
        info, window = info or {}, self.limits.window if window is None else window
        channel = self._channel(number)
        encode(Accept(number, info, window), self.limits)
        channel.accept(info, window)
        self._outbox.mark(number)

    def is_open(self, number: int) -> bool:
        """Whether a channel's streams may carry data now."""
        channel = self.channels.get(number)
        return channel is not None and channel.state is State.OPEN

    def credit(self, number: int, stream: int) -> int:
        """Bytes that `send` takes now; 0 on a channel that is not open."""
        channel = self.channels.get(number)
        return 0 if channel is None else channel.credit(stream)

    def send(self, number: int, stream: int, data: Buffer) -> None:
        """Queues bytes on a stream. The buffer must not change until it is acknowledged."""
        self._channel(number).send(stream, data)
        self._outbox.mark(number)

    def end(self, number: int, stream: int) -> None:
        """Ends a stream behind what is queued on it. Idempotent."""
        self._channel(number).end(stream)
        self._outbox.mark(number)

    def consume(self, number: int, stream: int, count: int) -> None:
        """Grants the peer credit for bytes that have been used.

        Small counts are gathered until an acknowledgement is worth a frame; `acknowledge` sends it at once.
        """
        channel = self._channel(number)
        if channel.consume(stream, count) >= max(1, channel.window // 4):
            self._outbox.mark_acks(number)

    def acknowledge(self, number: int) -> None:
        """Sends what is gathered of a channel's acknowledgements with the next data."""
        if number in self.channels:
            self._outbox.mark_acks(number)

    def close(self, number: int, result: Fields | None = None) -> None:
        """Ends a channel the peer has opened, behind everything queued on it.

        Raises:
            TooLarge: the result does not fit a frame; the channel is unchanged.
        """
        channel = self._channel(number)
        channel.require("close")
        encode(Close(number, result or {}), self.limits)
        channel.close(result or {})
        self._outbox.mark(number)

    def confirm(self, number: int) -> None:
        """Tells the peer that its close has arrived: it forgets the channel, and so do we."""
        channel = self._channel(number)
        channel.require("confirm")
        self._forget(channel)
        self._outbox.urgent.append(Closed(number))

    def reset(self, number: int, error: CodedError) -> None:
        """Drops a channel at once, whatever is queued on it; does nothing if it is gone already."""
        channel = self.channels.get(number)
        if channel is None or channel.state is State.RESETTING:
            return
        try:
            encode(Reset(number, error.code, error.message, error.details), self.limits)
        except (TooLarge, TypeError, ValueError):
            error = type(error)(error.message[:200])
        channel.reset(error)
        if channel.state is State.DONE:
            self._forget(channel)
        else:
            self._outbox.mark(number)

    def ping(self, token: int) -> None:
        """Asks the peer for a sign of life: a `Ponged` event with the token."""
        self._outbox.urgent.append(Ping(0, token))

    def part(self, error: CodedError) -> None:
        """Tells the peer why the link is about to be dropped; the driver drops it after the next write."""
        self._outbox.urgent.append(Bye(0, error.code, error.message[:1000]))

    # Out.

    def data_to_send(self, most: int | None = None) -> bytes:
        """The next link message, of about `most` bytes; empty when there is nothing to say.

        Each channel adds one frame a turn, so that a flood on one does not delay the others.
        """
        if self._decoder is None:
            return b""
        if not self._greeted:
            return self._opening_words()
        # A frame may go over `most`, so room for one is left below the message's limit.
        room = self.limits.max_message - self.limits.max_frame
        most = room if most is None else min(most, room)
        parts: list[bytes] = []
        size = 0
        while not parts or size < most:
            frame = self._next_frame()
            if frame is None:
                break
            parts.append(encode(frame, self.limits))
            size += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def has_data_to_send(self) -> bool:
        """Whether `data_to_send` would return something."""
        if self._decoder is None:
            return False
        if not self._greeted:
            return self._hello_unsent or bool(self._outbox.urgent)
        return bool(self._outbox)

    def _opening_words(self) -> bytes:
        """Hello, and a farewell where the peer is turned away before it is greeted."""
        words: list[Frame] = []
        if self._hello_unsent:
            self._hello_unsent = False
            words.append(self._hello())
        words += [frame for frame in self._outbox.urgent if isinstance(frame, Bye)]
        self._outbox.urgent.clear()
        return b"".join(encode(frame, self.limits) for frame in words)

    def _hello(self) -> Hello:
        resumes = self._established if self.leader else self._goes_on
        reports = [channel.report() for channel in self.channels.values()] if resumes else []
        highest = self._highest_seen if resumes else 0
        return Hello(0, PROTOCOL_VERSION, self.software, self.session, resumes, highest, reports, self.info)

    def _next_frame(self) -> Frame | None:
        if self._hello_unsent:
            self._hello_unsent = False
            return self._hello()
        return self._outbox.next_frame()

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
            if not self._greeted and not isinstance(frame, Hello | Bye):
                raise RemoteProtocolError(f"{TAG_OF[type(frame)].name} before hello")
            self._HANDLERS[type(frame)](self, frame, events)
        return events

    def _on_hello(self, frame: Hello, events: list[Event]) -> None:
        if self._greeted:
            raise RemoteProtocolError("a second hello on one link")
        if frame.protocol != PROTOCOL_VERSION:
            raise RemoteProtocolError(
                f"the peer ({frame.software[:80]}) speaks protocol {frame.protocol}, we {PROTOCOL_VERSION}"
            )
        if self.leader:
            if frame.session != self.session or (frame.resumes and not self._established):
                raise RemoteProtocolError("the follower answers for a session that is not ours")
        elif frame.session != self.session:
            events += self.fail_all(LinkLost("the peer began a new session"))
            self.session = frame.session
        if self._established and not frame.resumes:
            events += self.fail_all(LinkLost("the peer has lost this session's state"))
        self._goes_on = self._established and frame.resumes
        reports = parse_reports(frame.channels)
        if self._goes_on:
            self._resume(frame.highest, reports, events)
        # A follower greets after this, so that it says `resumes` only where both sides go on.
        self._hello_unsent = not self.leader
        self._greeted = True
        self._established = True
        events.append(Greeted(frame.info, frame.software, self._goes_on))

    def _resume(self, highest: int, reports: dict[int, Report], events: list[Event]) -> None:
        self._outbox.clear()
        for number in sorted(self.channels):
            channel = self.channels[number]
            report = reports.get(number)
            if report is not None:
                channel.rewind(report)
                self._outbox.mark_acks(number)
            elif channel.opened_here and number > highest:
                if channel.state is not State.OPENING:
                    self._expect_forgotten(channel, events)
                    continue
                channel.open_unsent = True
            else:
                self._expect_forgotten(channel, events)
                continue
            self._outbox.mark(number)

    def _expect_forgotten(self, channel: Channel, events: list[Event]) -> None:
        """The peer no longer has the channel: right only where our last word needed no more than to arrive."""
        if channel.state is State.CLOSING:
            events.append(Confirmed(channel.number))
        elif channel.state is not State.RESETTING:
            raise RemoteProtocolError(
                f"the peer has forgotten channel {channel.number}, which is {channel.state.value}"
            )
        self._forget(channel)

    def _on_open(self, frame: Open, events: list[Event]) -> None:
        number = frame.channel
        if number <= self._highest_seen or number % 2 != (0 if self.leader else 1):
            raise RemoteProtocolError(f"OPEN of channel {number}, which is used or not the peer's to open")
        self._highest_seen = number
        window = min(frame.window, self.limits.max_peer_window)
        self.channels[number] = Channel(number, frame.kind, frame.params, window, opened_here=False)
        of_peer = (
            sum(not channel.opened_here for channel in self.channels.values()) if self._is_crowded else 0
        )
        if of_peer > 2 * self.limits.max_channels:
            raise RemoteProtocolError("the peer opens channels without end")
        if of_peer > self.limits.max_channels:
            self.reset(number, TooLarge(f"more than {self.limits.max_channels} channels at once on one link"))
        else:
            events.append(Opened(number, frame.kind, frame.params, window))

    @property
    def _is_crowded(self) -> bool:
        return len(self.channels) > self.limits.max_channels

    def _on_accept(self, frame: Accept, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is None:
            return
        if channel.state is not State.RESETTING:
            channel.accepted(frame, self.limits.max_peer_window)
            events.append(Accepted(channel.number, channel.info, channel.peer_window))

    def _on_data(self, frame: Data, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is not None and channel.state is State.OPEN:
            channel.received(frame)
            events.append(Received(channel.number, frame.stream, bytes(frame.payload)))

    def _on_eof(self, frame: Eof, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is not None and channel.state is State.OPEN:
            channel.ended(frame)
            events.append(Ended(channel.number, frame.stream))

    def _on_ack(self, frame: Ack, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is not None and channel.state is not State.RESETTING and channel.acknowledged(frame):
            events.append(Acknowledged(channel.number, frame.stream, frame.offset))

    def _on_close(self, frame: Close, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is not None and channel.state is not State.RESETTING:
            channel.closed(frame)
            events.append(Finished(channel.number, frame.result))

    def _on_reset(self, frame: Reset, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is None:
            return
        if channel.state is not State.RESETTING:
            events.append(Failed(channel.number, error_from_code(frame.code, frame.message, frame.details)))
        self._forget(channel)
        if len(self._outbox.urgent) > 2 * self.limits.max_channels:
            raise RemoteProtocolError("the peer sends without end and does not read")
        self._outbox.urgent.append(Closed(channel.number))

    def _on_closed(self, frame: Closed, events: list[Event]) -> None:
        channel = self._addressed(frame)
        if channel is None:
            return
        if channel.state is State.CLOSING:
            if channel.close_unsent:
                raise RemoteProtocolError(f"CLOSED on channel {channel.number} before its close was sent")
            events.append(Confirmed(channel.number))
        self._forget(channel)

    def _on_ping(self, frame: Ping, _events: list[Event]) -> None:
        self._outbox.pong(frame.token)

    def _on_pong(self, frame: Pong, events: list[Event]) -> None:
        events.append(Ponged(frame.token))

    def _on_bye(self, frame: Bye, events: list[Event]) -> None:
        events.append(Parted(error_from_code(frame.code, frame.message)))

    # Channels.

    def _addressed(self, frame: Frame) -> Channel | None:
        """The channel a frame is for, checked against its state's table; None if the frame is late."""
        channel = self.channels.get(frame.channel)
        if channel is not None:
            channel.check(TAG_OF[type(frame)])
            return channel
        ours = frame.channel % 2 == (1 if self.leader else 0)
        if frame.channel == 0 or frame.channel > (self._next_number - 2 if ours else self._highest_seen):
            raise RemoteProtocolError(
                f"{TAG_OF[type(frame)].name} on channel {frame.channel}, which was never opened"
            )
        return None

    def _channel(self, number: int) -> Channel:
        channel = self.channels.get(number)
        if channel is None:
            raise LocalProtocolError(f"channel {number} is gone")
        return channel

    def _forget(self, channel: Channel) -> None:
        channel.finish()
        del self.channels[channel.number]

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
