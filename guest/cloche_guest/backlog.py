"""What a console has shown and nobody has taken: what was not acknowledged when its session was lost, and what follows.

To the terminal it is one more outlet, as the connection is; it knows neither terminals nor channels.

Rules:
- Offsets count a console's output from its beginning.
- What is kept stays until it is taken. Where much is kept, no more is read: then the program waits, as with a slow viewer.
- What is put back is kept however much it is: all in all one window and `MOST_KEPT` at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from cloche_wire.errors import BadRequest
from cloche_wire.frames import Buffer

MOST_KEPT = 256 << 10
"""Bytes of a console up to which its terminal is read while nobody takes them."""

# Small pieces are joined up to this: a program that shows a byte now and then must not cost many times what it shows.
_PIECE = 4 << 10


class Outlet(Protocol):
    """Where a terminal's output goes: the connection, or a backlog. The arguments are those of `Connection`."""

    def credit(self, number: int, stream: int) -> int: ...
    def send(self, number: int, stream: int, data: Buffer, *, waits: bool = False) -> None: ...
    def hurry(self, number: int) -> None: ...
    def end(self, number: int, stream: int) -> None: ...


class Backlog:
    """See the module.

    Args:
        most: bytes up to which more is added.

    Attributes:
        begins, ends: offsets of what is kept.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._pieces: deque[Buffer] = deque()
        self._last = bytearray()
        self.begins = self.ends = 0

    def __len__(self) -> int:
        return self.ends - self.begins

    # As a terminal's outlet.

    def credit(self, _number: int, _stream: int) -> int:
        """Bytes that may be added now."""
        return max(0, self._most - len(self))

    def send(self, _number: int, _stream: int, data: Buffer, *, waits: bool = False) -> None:
        """Adds bytes; nothing waits here."""
        del waits
        self._last += data
        self.ends += len(data)
        if len(self._last) >= _PIECE:
            self._close_piece()

    def hurry(self, _number: int) -> None:
        """Nothing waits here."""

    def end(self, _number: int, _stream: int) -> None:
        """That the terminal has ended is its owner's to remember."""

    # As its owner sees it.

    def put_back(self, offset: int, pieces: Iterable[Buffer]) -> None:
        """Puts what was taken and got lost in front of what is left.

        Args:
            offset: where the first piece begins.
            pieces: of output, up to where the rest begins.
        """
        back = tuple(pieces)
        if not self:
            self.ends = offset + sum(len(piece) for piece in back)
        self.begins = offset
        self._pieces.extendleft(reversed(back))

    def begin_at(self, received: int) -> int:
        """Forgets what somebody has received already; returns where the rest begins: there, or later where bytes are gone.

        Raises:
            BadRequest: nobody can have received so much.
        """
        if received > self.ends:
            raise BadRequest(f"the console has shown {self.ends} bytes; nobody can have received {received}")
        while self.begins < received:
            self.take(received - self.begins)
        return self.begins

    def take(self, most: int) -> Buffer:
        """The next bytes; they are no longer kept. Not if there are none."""
        if not self._pieces:
            self._close_piece()
        piece = self._pieces.popleft()
        if len(piece) > most:
            whole = memoryview(piece)
            piece = whole[:most]
            self._pieces.appendleft(whole[most:])
        self.begins += len(piece)
        return piece

    def _close_piece(self) -> None:
        self._pieces.append(bytes(self._last))
        self._last.clear()
