"""The bytes of one stream in one direction. Knows offsets, not frames.

Offsets count a stream's bytes from its beginning: acked ≤ sent ≤ end on the sending side, acked ≤ consumed ≤
received on the receiving one.
"""

from __future__ import annotations

from collections import deque

from cloche_wire.frames import Buffer


class SendStream:
    """One stream we send on: what is unsent, and what is sent but not acknowledged."""

    __slots__ = ("acked", "end", "end_sent", "ended", "sent", "unacked", "unsent")

    def __init__(self) -> None:
        self.acked = self.sent = self.end = 0
        self.unsent: deque[Buffer] = deque()
        self.unacked: deque[Buffer] = deque()
        self.ended = self.end_sent = False

    def push(self, data: Buffer) -> None:
        self.unsent.append(data)
        self.end += len(data)

    def take(self, most: int) -> Buffer:
        """The next bytes to send, moved to the unacknowledged ones; small pieces are joined into one frame."""
        piece = self.unsent.popleft()
        if len(piece) > most:
            whole = memoryview(piece)
            piece = whole[:most]
            self.unsent.appendleft(whole[most:])
        elif self.unsent and len(piece) < most:
            pieces = [piece]
            room = most - len(piece)
            while self.unsent and len(self.unsent[0]) <= room:
                room -= len(self.unsent[0])
                pieces.append(self.unsent.popleft())
            piece = b"".join(pieces)
        self.unacked.append(piece)
        self.sent += len(piece)
        return piece

    def acknowledge(self, offset: int) -> None:
        """Forgets what lies below the offset."""
        while self.acked < offset:
            piece = self.unacked[0]
            if self.acked + len(piece) <= offset:
                self.acked += len(self.unacked.popleft())
            else:
                self.unacked[0] = memoryview(piece)[offset - self.acked :]
                self.acked = offset

    def rewind(self, received: int, *, end_seen: bool) -> None:
        """Marks everything beyond what the peer has received as unsent again."""
        kept: deque[Buffer] = deque()
        position = self.acked
        while position < received:
            piece = self.unacked.popleft()
            if position + len(piece) > received:
                whole = memoryview(piece)
                self.unacked.appendleft(whole[received - position :])
                piece = whole[: received - position]
            kept.append(piece)
            position += len(piece)
        self.unsent.extendleft(reversed(self.unacked))
        self.unacked = kept
        self.sent = received
        self.end_sent = end_seen


class ReceiveStream:
    """One stream the peer sends on: how far it has come and how far we have consumed it."""

    __slots__ = ("acked", "consumed", "ended", "received")

    def __init__(self) -> None:
        self.received = self.consumed = self.acked = 0
        self.ended = False
