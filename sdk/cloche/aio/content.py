"""What a program gives to be written to a file, in any of the forms it may have, as pieces of bytes."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Protocol, TypeAlias

from cloche.aio.file_streams import PIECE
from cloche.threads import in_thread


class Readable(Protocol):
    """A file object that gives bytes, such as `open(path, "rb")`."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; empty at the end."""


Content: TypeAlias = bytes | bytearray | memoryview | str | Readable | Iterable[bytes] | AsyncIterable[bytes]
"""What can be written: text as UTF-8, bytes, or what gives bytes piece by piece."""


async def pieces_of(data: Content) -> AsyncIterator[bytes]:
    """What is to be written, piece by piece; what may wait for a disk does so in a thread.

    Raises:
        TypeError: a piece is not bytes.
    """
    match data:
        case str():
            data = data.encode()
        case bytearray() | memoryview():
            # It may change while it is on its way.
            data = bytes(data)
    if isinstance(data, bytes):
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]
    elif isinstance(data, AsyncIterable):
        async for piece in data:
            yield _as_bytes(piece)
    elif hasattr(data, "read"):
        while piece := await in_thread(lambda: data.read(PIECE)):
            yield _as_bytes(piece)
    else:
        pieces = iter(data)
        while (found := await in_thread(lambda: next(pieces, None))) is not None:
            yield _as_bytes(found)


def _as_bytes(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise TypeError(f"what is written piece by piece must be bytes, not {type(piece).__name__}")
    return bytes(piece)
