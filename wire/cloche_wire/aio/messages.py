"""The messages of a byte stream: msgpack values one after another. Knows no channel, only where bytes come from.

Rule: what the other side sends costs it about as much as us: sizes and counts are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

import msgpack

from cloche_wire.errors import BadRequest


class Messages:
    """An iterator over a stream's messages. Cancelling it, or leaving a loop over it early, loses nothing.

    Args:
        read: gives the next bytes of the stream; empty at its end.
        max_bytes: of one message.
        max_items: of one array or map: a length header alone makes a decoder allocate.
    """

    def __init__(self, read: Callable[[], Awaitable[bytes]], *, max_bytes: int, max_items: int) -> None:
        self._read, self._max_bytes = read, max_bytes
        self._unpacker = msgpack.Unpacker(
            raw=False,
            strict_map_key=True,
            # What is left of one message and the next slice.
            max_buffer_size=2 * max_bytes,
            max_str_len=max_bytes,
            max_bin_len=max_bytes,
            max_array_len=max_items,
            max_map_len=max_items,
            max_ext_len=0,
        )
        self._unfed = memoryview(b"")
        self._fed = self._begun = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        """The next message.

        Raises:
            BadRequest: it is malformed, over `max_bytes`, or cut short by the stream's end.
        """
        while True:
            try:
                message = self._unpacker.unpack()
            except msgpack.OutOfData:
                self._check_size(self._fed)
                await self._feed()
            except (ValueError, TypeError, msgpack.UnpackException) as error:
                raise BadRequest(f"a malformed message: {str(error)[:200]}") from None
            else:
                self._check_size(self._unpacker.tell())
                self._begun = self._unpacker.tell()
                return message

    async def _feed(self) -> None:
        if not self._unfed:
            data = await self._read()
            if not data and self._fed > self._begun:
                raise BadRequest("the stream ended in the middle of a message")
            if not data:
                raise StopAsyncIteration
            self._unfed = memoryview(data)
        # In slices, since many small messages may arrive in one piece that is over a message's bound.
        piece, self._unfed = self._unfed[: self._max_bytes], self._unfed[self._max_bytes :]
        self._unpacker.feed(piece)
        self._fed += len(piece)

    def _check_size(self, end: int) -> None:
        if end - self._begun > self._max_bytes:
            raise BadRequest(f"a message is over the limit of {self._max_bytes} bytes")
