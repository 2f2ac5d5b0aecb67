"""The frames, and their translation to and from msgpack. No state: what may be sent when is `channels`' matter.

A frame is a msgpack array `[tag, channel, …]`. Rules: fields are only ever appended; a decoder ignores extra ones;
a frame about the link itself has channel 0. Several frames may travel in one link message, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import msgpack

from cloche_wire.errors import TooLarge, Undecodable
from cloche_wire.limits import Limits

Buffer: TypeAlias = bytes | memoryview
Fields: TypeAlias = dict[str, Any]


class Tag(IntEnum):
    """The first element of a frame."""

    HELLO = 0
    OPEN = 1
    ACCEPT = 2
    DATA = 3
    EOF = 4
    ACK = 5
    CLOSE = 6
    RESET = 7
    CLOSED = 8
    PING = 9
    PONG = 10
    BYE = 11


class Hello(NamedTuple):
    """First on every link, both ways."""

    channel: int
    protocol: int
    software: str
    session: bytes
    """Names the state that both sides keep across links; the leader chooses it."""
    resumes: bool
    """Whether the sender still has the state of this session."""
    highest: int
    """The highest channel number of the receiver's that the sender has seen opened."""
    channels: list[Any]
    """The sender's live channels: `[number, standing, [[stream, received, ended], …]]`."""
    info: Fields
    """What the layer above says of itself: a token, the agent's hash."""


class Open(NamedTuple):
    """A channel begins."""

    channel: int
    kind: str
    params: Fields
    window: int
    """Bytes a stream that the receiver of this frame may send ahead of acknowledgements."""


class Accept(NamedTuple):
    """The other side takes the channel; streams may carry data from here on."""

    channel: int
    info: Fields
    window: int


class Data(NamedTuple):
    """Bytes of a stream."""

    channel: int
    stream: int
    offset: int
    payload: Buffer


class Eof(NamedTuple):
    """A stream ends at this offset."""

    channel: int
    stream: int
    offset: int


class Ack(NamedTuple):
    """Everything below the offset has been consumed."""

    channel: int
    stream: int
    offset: int


class Close(NamedTuple):
    """The side that accepted is finished; everything it sent came before."""

    channel: int
    result: Fields


class Reset(NamedTuple):
    """Either side drops the channel at once."""

    channel: int
    code: str
    message: str
    details: Fields


class Closed(NamedTuple):
    """A CLOSE or RESET has arrived; its sender may forget the channel."""

    channel: int


class Ping(NamedTuple):
    """Is anybody there?"""

    channel: int
    token: int


class Pong(NamedTuple):
    """The answer to a ping, with its token."""

    channel: int
    token: int


class Bye(NamedTuple):
    """Why the sender is about to drop the link."""

    channel: int
    code: str
    message: str


Frame: TypeAlias = Hello | Open | Accept | Data | Eof | Ack | Close | Reset | Closed | Ping | Pong | Bye

# tag → the frame's class and the type of each field behind the channel. `bool` is an `int` to isinstance, so
# integers are compared by exact type.
_SHAPES: dict[int, tuple[type[Any], tuple[type, ...]]] = {
    Tag.HELLO: (Hello, (int, str, bytes, bool, int, list, dict)),
    Tag.OPEN: (Open, (str, dict, int)),
    Tag.ACCEPT: (Accept, (dict, int)),
    Tag.DATA: (Data, (int, int, bytes)),
    Tag.EOF: (Eof, (int, int)),
    Tag.ACK: (Ack, (int, int)),
    Tag.CLOSE: (Close, (dict,)),
    Tag.RESET: (Reset, (str, str, dict)),
    Tag.CLOSED: (Closed, ()),
    Tag.PING: (Ping, (int,)),
    Tag.PONG: (Pong, (int,)),
    Tag.BYE: (Bye, (str, str)),
}
TAG_OF: dict[type[Any], Tag] = {shape[0]: Tag(tag) for tag, shape in _SHAPES.items()}

_LARGEST_NUMBER = (1 << 63) - 1


def encode(frame: Frame, limits: Limits) -> bytes:
    """The frame as msgpack.

    Raises:
        TooLarge: the frame is over `limits.max_frame`; nothing may be sent of it.
    """
    packed: bytes = msgpack.packb((TAG_OF[type(frame)], *frame), use_bin_type=True)
    if len(packed) > limits.max_frame:
        name = type(frame).__name__.upper()
        raise TooLarge(
            f"{name} of {len(packed)} bytes is over the limit of {limits.max_frame} bytes a frame; send bulk data in a stream"
        )
    return packed


def _frame(fields: Any) -> Frame:
    """The typed frame, or Undecodable."""
    if type(fields) is not list or len(fields) < 2:
        raise Undecodable("a frame is an array of at least a tag and a channel")
    tag, channel = fields[0], fields[1]
    shape = _SHAPES.get(tag) if type(tag) is int else None
    if shape is None:
        raise Undecodable(f"no frame has the tag {str(tag)[:40]}")
    cls, types = shape
    values = fields[2 : 2 + len(types)]
    if len(values) < len(types) or type(channel) is not int or not 0 <= channel <= _LARGEST_NUMBER:
        raise Undecodable(f"{cls.__name__.upper()} is cut short or has no channel number")
    for value, expected in zip(values, types, strict=True):
        if type(value) is not expected or (isinstance(value, int) and not 0 <= value <= _LARGEST_NUMBER):
            raise Undecodable(f"{cls.__name__.upper()} has a field of the wrong type or range")
    frame: Frame = cls(channel, *values)
    return frame


class Decoder:
    """Turns link messages into frames; one for each link, thrown away after its first error."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # Every bound is given: each default follows the buffer's size, and a nested array header allocates by its count.
        self._unpacker = msgpack.Unpacker(
            raw=False,
            use_list=True,
            strict_map_key=True,
            max_buffer_size=limits.max_message,
            max_array_len=limits.max_items,
            max_map_len=limits.max_items,
            max_str_len=limits.max_frame,
            max_bin_len=limits.max_frame,
            max_ext_len=0,
        )
        self._fed = 0

    def frames(self, message: Buffer) -> Iterator[Frame]:
        """The frames of one whole link message, each checked for its shape.

        Raises:
            Undecodable: not msgpack, not a frame, over a limit, or a frame cut by the message's end.
        """
        self._fed += len(message)
        try:
            self._unpacker.feed(message)
            start = self._unpacker.tell()
            for fields in self._unpacker:
                end = self._unpacker.tell()
                if end - start > self._limits.max_frame:
                    raise Undecodable(
                        f"a frame of {end - start} bytes is over the limit of {self._limits.max_frame}"
                    )
                start = end
                yield _frame(fields)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise Undecodable(f"not a frame: {str(error)[:120] or type(error).__name__}") from None
        if start != self._fed:
            raise Undecodable("a link message ends in the middle of a frame")
