"""The frames, and their translation to and from msgpack. No state: what may be sent when is `channels`' matter.

A frame is a msgpack array `[tag, channel, …]`. Rules: fields are only ever appended; a decoder ignores extra ones;
a frame about the link itself has channel 0. Several frames may travel in one link message, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn, TypeAlias

import msgpack

from cloche_wire.errors import LocalProtocolError, TooLarge, Undecodable
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
    generation: int
    """Which state of the session this is about: the follower answers with one more when it begins anew."""
    resumes: bool
    """Whether the sender holds that state: a leader offers to go on with it, a follower does."""
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


class _Shape(NamedTuple):
    """What a decoder checks of a frame."""

    cls: type[Any]
    types: tuple[type, ...]
    """Of the fields, the channel first. `bool` is an `int` to isinstance, so types are compared exactly."""
    numbers: tuple[int, ...]
    """Where the fields are numbers, each of which has a range."""
    maps: tuple[int, ...]
    """Where the fields are maps, the keys of which are text."""


def _shape(cls: type[Any], *types: type) -> _Shape:
    types = (int, *types)
    return _Shape(
        cls,
        types,
        tuple(place for place, expected in enumerate(types) if expected is int),
        tuple(place for place, expected in enumerate(types) if expected is dict),
    )


_SHAPES: dict[int, _Shape] = {
    Tag.HELLO: _shape(Hello, int, str, bytes, int, bool, int, list, dict),
    Tag.OPEN: _shape(Open, str, dict, int),
    Tag.ACCEPT: _shape(Accept, dict, int),
    Tag.DATA: _shape(Data, int, int, bytes),
    Tag.EOF: _shape(Eof, int, int),
    Tag.ACK: _shape(Ack, int, int),
    Tag.CLOSE: _shape(Close, dict),
    Tag.RESET: _shape(Reset, str, str, dict),
    Tag.CLOSED: _shape(Closed),
    Tag.PING: _shape(Ping, int),
    Tag.PONG: _shape(Pong, int),
    Tag.BYE: _shape(Bye, str, str),
}
TAG_OF: dict[type[Any], Tag] = {shape.cls: Tag(tag) for tag, shape in _SHAPES.items()}

LARGEST_NUMBER = (1 << 63) - 1
"""Numbers of a frame reach from 0 to here, so that every language has a type for them."""

# One for all: a new one for each frame costs twice as much as the packing. It never runs Python code in the middle.
_packer = msgpack.Packer(use_bin_type=True)


def encode(frame: Frame, limits: Limits) -> bytes:
    """The frame as msgpack.

    Raises:
        TooLarge: the frame is over `limits.max_frame`; nothing may be sent of it.
    """
    packed: bytes = _packer.pack((TAG_OF[type(frame)], *frame))
    if len(packed) > limits.max_frame:
        raise TooLarge(
            f"{_name(frame)} of {len(packed)} bytes is over the limit of {limits.max_frame} bytes a frame; send bulk data in a stream"
        )
    return packed


def check(frame: Frame, limits: Limits) -> int:
    """Makes sure that a peer with the same limits takes the frame: one it refuses would end every link it is sent on.

    Returns:
        its bytes.

    Raises:
        TooLarge: the frame, or a list or map in it, is over a limit.
        LocalProtocolError: it holds what no frame can carry, such as a key that is not text.
    """
    try:
        packed = encode(frame, limits)
        _frame(msgpack.unpackb(packed, **_bounds(limits)))
    except (
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
        msgpack.UnpackException,
        Undecodable,
    ) as error:
        reason = f"{_name(frame)} cannot carry this: {str(error)[:200] or type(error).__name__}"
        # The words of msgpack for a list or map over its bound.
        over = " exceeds max_array_len" in reason or " exceeds max_map_len" in reason
        raise (TooLarge if over else LocalProtocolError)(reason) from None
    return len(packed)


def _name(frame: Frame) -> str:
    return type(frame).__name__.upper()


def _bounds(limits: Limits) -> dict[str, Any]:
    # Every bound is given: each default follows the buffer's size, and a nested array header allocates by its count.
    return {
        "raw": False,
        "use_list": True,
        "strict_map_key": True,
        "max_array_len": limits.max_items,
        "max_map_len": limits.max_items,
        "max_str_len": limits.max_frame,
        "max_bin_len": limits.max_frame,
        "max_ext_len": 0,
        "ext_hook": _refuse_extension,
    }


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise ValueError(f"a value of the extension type {code} ({len(data)} bytes)")


def _frame(fields: Any) -> Frame:
    """The typed frame, or Undecodable."""
    if type(fields) is not list or not fields:
        raise Undecodable("a frame is an array that begins with a tag")
    tag = fields[0]
    shape = _SHAPES.get(tag) if type(tag) is int else None
    if shape is None:
        raise Undecodable(f"no frame has the tag {str(tag)[:40]}")
    values = fields[1 : 1 + len(shape.types)]
    if tuple(map(type, values)) != shape.types:
        raise Undecodable(f"{shape.cls.__name__.upper()} is cut short or has a field of the wrong type")
    for place in shape.numbers:
        if not 0 <= values[place] <= LARGEST_NUMBER:
            raise Undecodable(f"{shape.cls.__name__.upper()} has a number out of range")
    for place in shape.maps:
        if not all(type(key) is str for key in values[place]):
            raise Undecodable(f"{shape.cls.__name__.upper()} has a key that is not text")
    frame: Frame = shape.cls(*values)
    return frame


class Decoder:
    """Turns link messages into frames; one for each link, thrown away after its first error."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._unpacker = msgpack.Unpacker(max_buffer_size=limits.max_message, **_bounds(limits))
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
            for count, fields in enumerate(self._unpacker, 1):
                if count > self._limits.max_frames:
                    raise Undecodable(f"more than {self._limits.max_frames} frames in one message")
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
