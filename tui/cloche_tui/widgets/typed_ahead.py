"""Keys that are typed behind the end of a line, before it is known what the line has come to.

    ahead = TypedAhead()
    ahead.hold()                  the line's end is on its way
    ahead.keeps(event)            whether a key waits; it is kept then
    for event in ahead.let_go(): …

Without it `:open box`, Enter, Enter would type the second Enter into whatever happened to have the focus.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from textual import events

MOST = 1000
"""Keys that wait; whoever types more has pasted into a program that stands still."""


class TypedAhead:
    """The keys that wait."""

    def __init__(self) -> None:
        self._waiting: deque[events.Key] = deque(maxlen=MOST)
        self.is_holding = False

    def hold(self) -> None:
        """From now on keys wait."""
        self.is_holding = True

    def keeps(self, key: events.Key) -> bool:
        """Keeps a key if keys wait; returns whether it does."""
        if self.is_holding:
            self._waiting.append(key)
        return self.is_holding

    def let_go(self) -> Iterator[events.Key]:
        """Keys wait no more: those that have, in order, until one of them has others wait again."""
        self.is_holding = False
        while self._waiting and not self.is_holding:
            yield self._waiting.popleft()
