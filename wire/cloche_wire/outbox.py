"""Whose turn it is to be sent. Knows channels, not links: the frames themselves come from the channels' state.

Order: words about the link and confirmations first, then acknowledgements, then one frame of each channel by turns.
Rule: nothing the peer does makes it grow without end; only the newest ping is answered, and a peer that resets
channels without reading is dropped by the connection (`Outbox.is_choked`).
"""

from __future__ import annotations

from collections import deque

from cloche_wire.channels import Channel
from cloche_wire.frames import Frame, Pong
from cloche_wire.limits import Limits

# What stands beside the confirmations: acknowledgements of one channel, a ping or two.
_SPARE_WORDS = 16


class Outbox:
    """The order in which frames leave one side of a link."""

    def __init__(self, channels: dict[int, Channel], limits: Limits) -> None:
        self._channels, self._limits = channels, limits
        self.urgent: deque[Frame] = deque()
        self._pong: int | None = None
        self._ready: deque[int] = deque()
        self._is_ready: set[int] = set()
        self._acks_due: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.urgent or self._pong is not None or self._ready or self._acks_due)

    @property
    def is_choked(self) -> bool:
        """Whether more confirmations wait than a peer that reads can cause: one for each channel of either side."""
        return len(self.urgent) > self._limits.max_channels + self._limits.max_own_channels + _SPARE_WORDS

    def clear(self) -> None:
        """Forgets what was to be said on the last link."""
        self.urgent.clear()
        self._pong = None
        self._ready.clear()
        self._is_ready.clear()
        self._acks_due.clear()

    def mark(self, number: int) -> None:
        """Gives a channel a turn. A channel that waits for one keeps its place, so OPENs leave in number order."""
        if number not in self._is_ready:
            self._is_ready.add(number)
            self._ready.append(number)

    def mark_acks(self, number: int) -> None:
        """Has a channel's acknowledgements sent."""
        self._acks_due.add(number)

    def pong(self, token: int) -> None:
        """Answers a ping; an unsent answer to an earlier one is dropped."""
        self._pong = token

    def next_frame(self) -> Frame | None:
        """The next frame to send, or None."""
        while self._acks_due and not self.urgent:
            channel = self._channels.get(self._acks_due.pop())
            self.urgent.extend(channel.next_acks() if channel else ())
        if self.urgent:
            return self.urgent.popleft()
        if self._pong is not None:
            token, self._pong = self._pong, None
            return Pong(0, token)
        while self._ready:
            number = self._ready.popleft()
            channel = self._channels.get(number)
            frame = channel.next_frame(self._limits) if channel else None
            if frame is not None:
                # To the back of the row: every other channel has its turn before this one's next frame.
                self._ready.append(number)
                return frame
            self._is_ready.discard(number)
        return None
