"""What one side keeps of a session across its links: the channels, their numbers, and how both sides meet again.

Knows hellos, not links: when a hello is sent or due is the connection's matter.

Rules:
- Odd channel numbers are the leader's, even ones the follower's; none is used twice. A frame for a used one that is
  gone is late and ignored; for one that was never opened it is a violation.
- Both sides go on only with a state they both hold. The *generation* says which: a follower that begins anew answers
  with one more than it was asked about, so that it can tell later whether that answer was ever heard.
- A window is a promise to keep that many bytes of each stream, and what is promised is bounded: each channel has a part
  of what is left at most. So channels stall early rather than fail, and where a window is passed on (a splice), the
  sender at the far end stalls.
- Results that the peer does not confirm are bounded, too: beyond it, long ones are refused one by one.
- What has never been sent is not lost with a state: it waits for the next one.
"""

from __future__ import annotations

from cloche_wire import PROTOCOL_VERSION
from cloche_wire.channels import Channel, Report, State, parse_reports
from cloche_wire.errors import (
    CodedError,
    LinkLost,
    LocalProtocolError,
    RemoteProtocolError,
    TooLarge,
    WrongVersion,
)
from cloche_wire.events import Confirmed, Event, Failed
from cloche_wire.frames import LARGEST_NUMBER, TAG_OF, Accept, Fields, Frame, Hello, Open, Reset, check
from cloche_wire.limits import MAX_STREAMS, Limits

# Characters of the kind of a peer's channel that are kept, for messages.
_KIND_KEPT = 60
# A channel's part of what may still be promised: a quarter, over all its streams.
_SHARE = 4 * MAX_STREAMS


class Session:
    """One side's state.

    Args:
        leader: whether this side names the session.
        name: the session's name at a leader; a follower takes it from the first hello.
        limits: the bounds.
    """

    def __init__(self, *, leader: bool, name: bytes, limits: Limits) -> None:
        self.leader, self.name, self._limits = leader, name, limits
        self.channels: dict[int, Channel] = {}
        self._next_number = 1 if leader else 2
        self._highest_seen = 0
        self._of_us = self._of_peer = 0
        # Bytes that the channels' windows let us keep.
        self._promised = 0
        # Bytes of results and refusals that the peer has not confirmed.
        self._kept = 0
        self._holds_state = False
        self._generation = 0
        self.resumed = False
        """Whether both sides went on with the state they held when they last met."""

    # Channels.

    def open(self, kind: str, params: Fields, window: int) -> Channel:
        """A channel of ours, not in the table yet: see `add`.

        Raises:
            TooLarge: as many as may be are open.
        """
        if self._of_us >= self._limits.max_own_channels:
            raise too_many(self._limits.max_own_channels)
        return Channel(self._next_number, kind, params, window, opened_here=True)

    def add(self, channel: Channel) -> None:
        """Takes a channel of ours into the table."""
        self._next_number += 2
        self._of_us += 1
        self.channels[channel.number] = channel

    def opened(self, frame: Open) -> Channel:
        """A channel of the peer's, in the table; it may be one too many (`is_crowded`).

        Raises:
            RemoteProtocolError: its number is not the peer's to use, or the peer does not care for refusals.
        """
        number = frame.channel
        if number <= self._highest_seen or number % 2 != (0 if self.leader else 1):
            raise RemoteProtocolError(f"OPEN of channel {number}, which is used or not the peer's to open")
        # Refused channels stay until the peer confirms it: twice the bound are only reached by one that does not read.
        if self._of_peer >= 2 * self._limits.max_channels:
            raise RemoteProtocolError("the peer opens channels without end")
        self._highest_seen = number
        self._of_peer += 1
        window = self._promise(frame.window)
        # Neither its parameters nor all of its kind: a peer that opens and never confirms must not fill our memory.
        kind = frame.kind[:_KIND_KEPT]
        channel = self.channels[number] = Channel(number, kind, {}, window, opened_here=False)
        return channel

    def accepted(self, channel: Channel, frame: Accept) -> None:
        """The peer has taken a channel of ours."""
        channel.accepted(self._promise(frame.window))

    @property
    def is_crowded(self) -> bool:
        """Whether the peer has more channels than it may."""
        return self._of_peer > self._limits.max_channels

    def addressed(self, frame: Frame) -> Channel | None:
        """The channel a frame is for, checked against its state's table; None if the frame is late.

        Raises:
            RemoteProtocolError: the frame is not allowed now, or its channel was never opened.
        """
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

    def channel(self, number: int) -> Channel:
        """The channel of this number.

        Raises:
            LocalProtocolError: it is gone, or was never there.
        """
        channel = self.channels.get(number)
        if channel is None:
            raise LocalProtocolError(f"channel {number} is gone")
        return channel

    def unless_gone(self, number: int) -> Channel | None:
        """The channel of this number, unless it is over for our side."""
        channel = self.channels.get(number)
        return None if channel is None or channel.state is State.RESETTING else channel

    def keep(self, channel: Channel, size: int) -> None:
        """Makes room for our last word about a channel, in place of an earlier one; `forget` gives it back.

        Raises:
            TooLarge: the peer leaves too much unconfirmed for one that is not short.
        """
        self._kept -= channel.kept
        channel.kept = 0
        if self._kept >= self._limits.max_results and size > self._limits.short_result:
            raise TooLarge(
                f"the result has {size} bytes, and {self._kept} bytes of others are not confirmed yet; confirm them, "
                "then ask again"
            )
        self._kept += size
        channel.kept = size

    def refusal(self, channel: Channel, error: CodedError) -> CodedError:
        """An error as our last word about a channel: brief where it fits no frame, or too much is unconfirmed."""
        try:
            self.keep(
                channel,
                check(Reset(channel.number, error.code, error.message, error.details), self._limits),
            )
        except (TooLarge, LocalProtocolError):
            return error.brief()
        return error

    def forget(self, channel: Channel) -> None:
        """The channel is over for both sides."""
        channel.finish()
        self._kept -= channel.kept
        self._promised -= MAX_STREAMS * channel.peer_window
        del self.channels[channel.number]
        if channel.opened_here:
            self._of_us -= 1
        else:
            self._of_peer -= 1

    def end(self, error: CodedError, *, keeps_unsent: bool) -> list[Event]:
        """Gives up the state: its channels fail with this error.

        Args:
            error: what the channels fail with; those that our side has settled already do so in silence.
            keeps_unsent: whether channels of which nothing was ever sent stay for the next state.
        """
        events: list[Event] = []
        for channel in list(self.channels.values()):
            if keeps_unsent and channel.opened_here and not channel.open_ever_sent:
                continue
            if not channel.is_settled:
                events.append(Failed(channel.number, error, unacknowledged=channel.unacknowledged()))
            self.forget(channel)
        self._highest_seen = 0
        self._holds_state = False
        return events

    # Hellos.

    def hello(self, software: str, info: Fields) -> Hello:
        """What this side says of its state: the leader what it offers, a follower what it has settled on."""
        resumes = self._holds_state if self.leader else self.resumed
        return Hello(
            0,
            PROTOCOL_VERSION,
            software,
            self.name,
            self._generation,
            resumes,
            self._highest_seen if resumes else 0,
            [channel.report() for channel in self.channels.values()] if resumes else [],
            info,
        )

    def meet(self, hello: Hello, events: list[Event]) -> None:
        """Takes the peer's hello: goes on with the state both hold, or begins one. A follower says its own after this.

        Args:
            hello: the peer's.
            events: gets what has happened, also if it raises.

        Raises:
            WrongVersion: it is of another version of the protocol.
            RemoteProtocolError: what it says cannot be.
        """
        if hello.protocol != PROTOCOL_VERSION:
            raise WrongVersion(
                f"the peer ({hello.software[:80]}) speaks protocol {hello.protocol}, we {PROTOCOL_VERSION}"
            )
        reports = parse_reports(hello.channels)
        self.resumed = self._answered(hello, events) if self.leader else self._asked(hello, events)
        if self.resumed:
            self._resume(hello.highest, reports, events)
        self._holds_state = True

    def _asked(self, hello: Hello, events: list[Event]) -> bool:
        """A follower's side: whether both go on with the state they hold."""
        holds = self._holds_state and hello.session == self.name
        if holds and hello.resumes and hello.generation == self._generation:
            return True
        if holds and hello.generation == self._generation - 1:
            # Our last answer never arrived, nor anything after it: nothing is lost, nothing need be resumed.
            self._resume(0, {}, events)
            return False
        if hello.generation == LARGEST_NUMBER:
            raise RemoteProtocolError("the leader's state cannot have begun anew that often")
        if self._holds_state:
            events += self.end(LinkLost("the peer began a new session"), keeps_unsent=True)
        self.name, self._generation = hello.session, hello.generation + 1
        return False

    def _answered(self, hello: Hello, events: list[Event]) -> bool:
        """A leader's side: whether both go on with the state they hold."""
        expected = self._generation + (0 if hello.resumes else 1)
        if (
            hello.session != self.name
            or hello.generation != expected
            or (hello.resumes and not self._holds_state)
        ):
            raise RemoteProtocolError("the follower answers for a state that is not ours")
        if self._holds_state and not hello.resumes:
            events += self.end(LinkLost("the peer has lost this session's state"), keeps_unsent=True)
        self._generation = hello.generation
        return hello.resumes

    def _promise(self, offered: int) -> int:
        """The window that a new channel is held to, of what the peer offers."""
        limits = self._limits
        share = max(limits.least_window, (limits.max_unacknowledged - self._promised) // _SHARE)
        window = min(offered, limits.max_peer_window, share)
        self._promised += MAX_STREAMS * window
        return window

    def _resume(self, highest: int, reports: dict[int, Report], events: list[Event]) -> None:
        for number, channel in list(self.channels.items()):
            report = reports.get(number)
            if report is not None:
                channel.rewind(report)
            elif channel.state is State.OPENING and number > highest:
                channel.open_again()
            else:
                self._expect_forgotten(channel, events)

    def _expect_forgotten(self, channel: Channel, events: list[Event]) -> None:
        """The peer no longer has the channel: right only where our last word needed no more than to arrive."""
        if channel.state is State.CLOSING and not channel.close_unsent:
            events.append(Confirmed(channel.number))
        elif channel.state is not State.RESETTING:
            raise RemoteProtocolError(
                f"the peer has forgotten channel {channel.number}, which is {channel.state.value}"
            )
        self.forget(channel)


def too_many(most: int) -> TooLarge:
    """Why a channel is refused where there are as many as may be."""
    return TooLarge(f"more than {most} channels at once on one link")
