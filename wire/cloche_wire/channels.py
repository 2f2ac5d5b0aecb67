"""One channel: its states, its streams, and what it has to say next. Knows nothing of the link or of other channels.

The life of a channel (the tables below are the law; PROTOCOL.md prints them):

    opener:    OPENING ──ACCEPT──► OPEN ──CLOSE──► CLOSED_BY_PEER ──confirm──► DONE
    acceptor:  OFFERED ──accept──► OPEN ──close──► CLOSING ──CLOSED──► DONE
    either:    … ──reset──► RESETTING ──CLOSED──► DONE          … ──RESET──► DONE

Rules:
- Only the side that accepted closes, with the result; the opener ends its streams, or resets.
- CLOSE is a place in the queue: it leaves after all data and ends. RESET is an axe: it drops what is queued.
- What is to be sent is derived from this state, never from a queue of frames: after a lost link the peer's
  received offsets say which bytes are unsent again, and everything else follows.
- The peer's words (parameters, info, results) are handed on and not kept; ours until they cannot be needed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from cloche_wire.errors import CodedError, LocalProtocolError, RemoteProtocolError
from cloche_wire.events import Unacknowledged
from cloche_wire.frames import Accept, Ack, Buffer, Close, Data, Eof, Fields, Frame, Open, Reset, Tag
from cloche_wire.limits import MAX_STREAMS, Limits
from cloche_wire.streams import ReceiveStream, SendStream


class State(Enum):
    """Where a channel is in its life."""

    OPENING = "opening"
    OFFERED = "offered"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED_BY_PEER = "closed by peer"
    RESETTING = "resetting"
    DONE = "done"

    # Members are one of a kind; Enum would hash their names, in Python, for every frame.
    __hash__ = object.__hash__


PEER_MAY_SEND: dict[State, frozenset[Tag]] = {
    State.OPENING: frozenset({Tag.ACCEPT, Tag.CLOSE, Tag.RESET}),
    State.OFFERED: frozenset({Tag.RESET}),
    State.OPEN: frozenset({Tag.DATA, Tag.EOF, Tag.ACK, Tag.CLOSE, Tag.RESET}),
    State.CLOSING: frozenset({Tag.DATA, Tag.EOF, Tag.ACK, Tag.RESET, Tag.CLOSED}),
    State.CLOSED_BY_PEER: frozenset({Tag.RESET}),
    State.RESETTING: frozenset({Tag.ACCEPT, Tag.DATA, Tag.EOF, Tag.ACK, Tag.CLOSE, Tag.RESET, Tag.CLOSED}),
    State.DONE: frozenset(),
}
"""What the peer may send in each state of ours; CLOSE only where we opened the channel."""

WE_MAY: dict[State, frozenset[str]] = {
    State.OPENING: frozenset({"reset"}),
    State.OFFERED: frozenset({"accept", "close", "reset"}),
    State.OPEN: frozenset({"send", "end", "consume", "close", "reset"}),
    State.CLOSING: frozenset({"consume", "reset"}),
    State.CLOSED_BY_PEER: frozenset({"consume", "confirm", "reset"}),
    State.RESETTING: frozenset(),
    State.DONE: frozenset(),
}
"""What our own side may do in each state; `close` only where the peer opened the channel."""


class Standing(IntEnum):
    """How a channel's side says in its hello where it stands."""

    OPENING = 0
    LIVE = 1
    CLOSED = 2
    """The peer's CLOSE has arrived."""
    RESETTING = 3


_STANDING = {
    State.OPENING: Standing.OPENING,
    State.OFFERED: Standing.LIVE,
    State.OPEN: Standing.LIVE,
    State.CLOSING: Standing.LIVE,
    State.CLOSED_BY_PEER: Standing.CLOSED,
    State.RESETTING: Standing.RESETTING,
}


@dataclass(frozen=True, slots=True)
class Report:
    """What the peer's hello says of one channel."""

    standing: Standing
    streams: dict[int, tuple[int, bool]]
    """stream → bytes received, whether its end has been seen."""


def parse_reports(channels: list[object]) -> dict[int, Report]:
    """The channel reports of a hello, by channel number.

    Raises:
        RemoteProtocolError: they do not have the shape that `Channel.report` gives them.
    """
    reports: dict[int, Report] = {}
    try:
        for entry in channels:
            number, standing, streams = entry[:3]  # type: ignore[index]
            parsed = {stream[0]: (stream[1], stream[2]) for stream in streams}
            if type(number) is not int or not all(
                type(key) is int and type(received) is int and type(ended) is bool
                for key, (received, ended) in parsed.items()
            ):
                raise ValueError("a number or a flag has the wrong type")
            reports[number] = Report(Standing(standing), parsed)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise RemoteProtocolError(f"hello reports a channel in the wrong form: {error}") from None
    return reports


class Channel:
    """The state of one channel on one side."""

    __slots__ = (
        "accept_unsent", "accepted_here", "close_unsent", "info", "kept", "kind", "number", "open_ever_sent",
        "open_unsent", "opened_here", "params", "peer_window", "receiving", "refusal", "result", "sending", "state", "window",
    )  # fmt: skip

    def __init__(self, number: int, kind: str, params: Fields, window: int, *, opened_here: bool) -> None:
        self.number, self.kind, self.params = number, kind, params
        self.opened_here = opened_here
        self.state = State.OPENING if opened_here else State.OFFERED
        # `window` is what the peer may send us ahead, `peer_window` what we may send it; the other one comes with ACCEPT.
        self.window = window if opened_here else 0
        self.peer_window = 0 if opened_here else window
        self.sending: dict[int, SendStream] = {}
        self.receiving: dict[int, ReceiveStream] = {}
        self.info: Fields = {}
        self.result: Fields = {}
        # Not the error itself: its traceback would keep all that whoever raised it had at hand.
        self.refusal: Reset | None = None
        # Bytes of our last word, by the session's account.
        self.kept = 0
        self.open_unsent, self.open_ever_sent = opened_here, False
        self.accepted_here = self.accept_unsent = self.close_unsent = False

    def require(self, move: str) -> None:
        """Raises LocalProtocolError unless our side may make this move now."""
        if move not in WE_MAY[self.state] or (move == "close" and self.opened_here):
            whose = "opened here" if self.opened_here else "opened by the peer"
            raise LocalProtocolError(
                f"cannot {move} channel {self.number} ({self.kind}, {whose}): it is {self.state.value}"
            )

    def check(self, tag: Tag) -> None:
        """Raises RemoteProtocolError unless the peer may send this frame now."""
        if (
            tag not in PEER_MAY_SEND[self.state]
            or (tag is Tag.CLOSE and not self.opened_here)
            or self.open_unsent  # it cannot know of the channel yet
        ):
            raise RemoteProtocolError(f"{tag.name} on channel {self.number}, which is {self.state.value}")

    @property
    def is_settled(self) -> bool:
        """Whether our side has had the last word about it: its result has come, or we have reset it."""
        return self.state in (State.CLOSED_BY_PEER, State.RESETTING)

    # What our side does.

    def accept(self, info: Fields, window: int) -> None:
        self.require("accept")
        self.info, self.window = info, window
        self.accepted_here = self.accept_unsent = True
        self.state = State.OPEN

    def credit(self, stream: int) -> int:
        """Bytes that may be sent on a stream now."""
        if self.state is not State.OPEN:
            return 0
        sending = self.sending.get(stream)
        return self.peer_window if sending is None else sending.acked + self.peer_window - sending.end

    def send(self, stream: int, data: Buffer) -> None:
        self.require("send")
        sending = self._sending(stream)
        if sending.ended:
            raise LocalProtocolError(f"channel {self.number}: stream {stream} has ended")
        if len(data) > sending.acked + self.peer_window - sending.end:
            raise LocalProtocolError(
                f"channel {self.number}: {len(data)} bytes on stream {stream} are beyond its credit"
            )
        if data:
            sending.push(data)

    def end(self, stream: int) -> None:
        self.require("end")
        self._sending(stream).ended = True

    def consume(self, stream: int, count: int) -> int:
        """Marks received bytes as consumed; returns how many are consumed but not acknowledged."""
        self.require("consume")
        receiving = self.receiving.get(stream)
        if receiving is None or not 0 <= count <= receiving.received - receiving.consumed:
            raise LocalProtocolError(
                f"channel {self.number}: {count} bytes of stream {stream} were not received"
            )
        receiving.consumed += count
        return receiving.consumed - receiving.acked

    def close(self, result: Fields) -> None:
        self.require("close")
        self.result = result
        self.close_unsent = True
        self.state = State.CLOSING

    def reset(self, error: CodedError) -> None:
        """Drops everything; DONE at once where the peer cannot have heard of the channel."""
        self.require("reset")
        self._drop()
        self.refusal = Reset(self.number, error.code, error.message, error.details)
        self.state = State.RESETTING if self.open_ever_sent or not self.opened_here else State.DONE
        self.close_unsent = self.state is State.RESETTING

    def finish(self) -> None:
        """The channel is over for both sides."""
        self._drop()
        self.state = State.DONE

    # What the peer did.

    def accepted(self, window: int) -> None:
        # It has our OPEN: that is never sent again.
        self.params = {}
        self.peer_window = window
        self.state = State.OPEN

    def closed(self) -> None:
        self.params = {}
        # The peer is finished and will not read on; what it has sent us stays to be consumed.
        self.sending.clear()
        self.state = State.CLOSED_BY_PEER

    def received(self, frame: Data) -> None:
        receiving = self._receiving(frame.stream)
        if not frame.payload:
            raise RemoteProtocolError(f"DATA on channel {self.number} without a byte")
        if frame.offset != receiving.received or receiving.ended:
            raise RemoteProtocolError(
                f"DATA on channel {self.number} at {frame.offset}, expected {receiving.received}"
            )
        receiving.received += len(frame.payload)
        if receiving.received - receiving.consumed > self.window:
            raise RemoteProtocolError(f"DATA on channel {self.number} is beyond the credit given")

    def ended(self, frame: Eof) -> None:
        receiving = self._receiving(frame.stream)
        if frame.offset != receiving.received or receiving.ended:
            raise RemoteProtocolError(
                f"EOF on channel {self.number} at {frame.offset}, expected {receiving.received}"
            )
        receiving.ended = True

    def acknowledged(self, frame: Ack) -> bool:
        """Whether the acknowledgement says something new."""
        sending = self.sending.get(frame.stream)
        if sending is None or frame.offset > sending.sent:
            raise RemoteProtocolError(f"ACK on channel {self.number} of bytes that were not sent")
        if frame.offset <= sending.acked:
            return False
        sending.acknowledge(frame.offset)
        return True

    # What to send next.

    def next_frame(self, limits: Limits) -> Frame | None:
        """The next frame to send in this channel's order, or None; acknowledgements come apart (`next_acks`)."""
        if self.open_unsent:
            self.open_unsent, self.open_ever_sent = False, True
            return Open(self.number, self.kind, self.params, self.window)
        if self.state is State.RESETTING:
            if not self.close_unsent:
                return None
            self.close_unsent = False
            return self.refusal
        if self.accept_unsent:
            self.accept_unsent = False
            return Accept(self.number, self.info, self.window)
        if self.state is State.OPENING:
            return None
        for stream, sending in self.sending.items():
            if sending.unsent:
                # The stream goes to the back, so that a full one does not starve its neighbours.
                self.sending[stream] = self.sending.pop(stream)
                offset = sending.sent
                return Data(self.number, stream, offset, sending.take(limits.chunk))
            if sending.ended and not sending.end_sent:
                sending.end_sent = True
                return Eof(self.number, stream, sending.sent)
        if self.close_unsent:
            self.close_unsent = False
            return Close(self.number, self.result)
        return None

    def next_acks(self) -> list[Ack]:
        """An acknowledgement for each stream that has been consumed further than the peer knows.

        None once we are closing: the peer may have our CLOSE already and sends nothing more.
        """
        acks: list[Ack] = []
        if self.state is State.CLOSING:
            return acks
        for stream, receiving in self.receiving.items():
            if receiving.consumed > receiving.acked:
                receiving.acked = receiving.consumed
                acks.append(Ack(self.number, stream, receiving.consumed))
        return acks

    # Across links.

    def unacknowledged(self) -> tuple[Unacknowledged, ...]:
        """What the peer may not have, of each stream that we have sent on."""
        return tuple(
            Unacknowledged(number, sending.acked, (*sending.unacked, *sending.unsent))
            for number, sending in self.sending.items()
        )

    def report(self) -> list[object]:
        """What our hello says of this channel: `[number, standing, [[stream, received, ended], …]]`."""
        streams = [[number, stream.received, stream.ended] for number, stream in self.receiving.items()]
        return [self.number, _STANDING[self.state], streams]

    def open_again(self) -> None:
        """The peer has never heard of the channel: as if OPEN had not been sent."""
        self.open_unsent, self.open_ever_sent = True, False

    def rewind(self, report: Report) -> None:
        """Takes up where the peer's report says it stands.

        Raises:
            RemoteProtocolError: it claims bytes that were never sent, or has lost some it had acknowledged.
        """
        for receiving in self.receiving.values():
            receiving.acked = 0
        if self.state is State.RESETTING:
            self.close_unsent = True
        if self.state is State.RESETTING or report.standing is Standing.RESETTING:
            return
        for number, sending in self.sending.items():
            received, end_seen = report.streams.get(number, (0, False))
            if not sending.acked <= received <= sending.sent or (end_seen and not sending.end_sent):
                raise RemoteProtocolError(
                    f"resume of channel {self.number}: stream {number} cannot stand at {received}"
                )
            sending.rewind(received, end_seen=end_seen)
        self.accept_unsent = self.accepted_here and report.standing is Standing.OPENING
        if self.state is State.CLOSING:
            self.close_unsent = report.standing is not Standing.CLOSED

    def _sending(self, stream: int) -> SendStream:
        sending = self.sending.get(stream)
        if sending is None:
            if not 0 <= stream < MAX_STREAMS:
                raise LocalProtocolError(f"channel {self.number}: no stream {stream}")
            sending = self.sending[stream] = SendStream()
        return sending

    def _receiving(self, stream: int) -> ReceiveStream:
        receiving = self.receiving.get(stream)
        if receiving is None:
            if not 0 <= stream < MAX_STREAMS:
                raise RemoteProtocolError(f"channel {self.number}: no stream {stream}")
            receiving = self.receiving[stream] = ReceiveStream()
        return receiving

    def _drop(self) -> None:
        self.sending.clear()
        self.receiving.clear()
        self.params, self.info, self.result = {}, {}, {}
        self.open_unsent = self.accept_unsent = self.close_unsent = False
