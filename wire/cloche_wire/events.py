"""What a connection tells its driver, in the order it happened. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cloche_wire.errors import CodedError
from cloche_wire.frames import Buffer, Fields


class Greeted(NamedTuple):
    """The peer has said hello; the link is in use."""

    info: Fields
    software: str
    resumed: bool
    """Whether earlier channels go on."""


class Opened(NamedTuple):
    """The peer has opened a channel: accept, close or reset it."""

    channel: int
    kind: str
    params: Fields
    window: int


class Accepted(NamedTuple):
    """The peer has accepted a channel of ours."""

    channel: int
    info: Fields
    window: int


class Received(NamedTuple):
    """Bytes have arrived; call `consume` when they have been used."""

    channel: int
    stream: int
    data: bytes


class Ended(NamedTuple):
    """The peer has ended a stream."""

    channel: int
    stream: int


class Acknowledged(NamedTuple):
    """The peer has consumed a stream up to this offset."""

    channel: int
    stream: int
    offset: int


class Finished(NamedTuple):
    """The peer has closed a channel of ours with its result; everything it sent came before. Call `confirm`."""

    channel: int
    result: Fields


class Confirmed(NamedTuple):
    """Our close has arrived; the channel is gone."""

    channel: int


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """What the peer had not acknowledged of a stream we sent on, when the channel's state was lost."""

    stream: int
    offset: int
    """Where it begins: all before was acknowledged."""
    pieces: tuple[Buffer, ...]


class Failed(NamedTuple):
    """The channel is gone: the peer has reset it, or its state was lost with the peer (`link_lost`)."""

    channel: int
    error: CodedError
    by_peer: bool = False
    """Whether the error is the peer's own words: it has reset the channel. Otherwise the state was lost."""
    unacknowledged: tuple[Unacknowledged, ...] = ()
    """Of a lost state: each stream we have sent on."""


class Ponged(NamedTuple):
    """The answer to a ping."""

    token: int


class Parted(NamedTuple):
    """The peer is about to drop the link, and says why."""

    error: CodedError


Event: TypeAlias = (
    Greeted
    | Opened
    | Accepted
    | Received
    | Ended
    | Acknowledged
    | Finished
    | Confirmed
    | Failed
    | Ponged
    | Parted
)
