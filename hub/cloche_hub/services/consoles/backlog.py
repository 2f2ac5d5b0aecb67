"""What one viewer has not been sent yet: bounded in bytes and in time. Pure; `line` sends it.

    waiting ──(a fresh screen is shown)──► following ──(too much, or too old)──► waiting

Rules:
- A viewer that is behind gets no backlog but, when it reads again, a fresh screen. Until then it costs nothing.
- What has been begun is sent to its end: messages are never cut. So is a screen, unless it is given up.
- What people must not miss (who asks, what has happened) is told behind the fresh screen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

MOST_BYTES = 256 << 10
MOST_S = 0.5
_MOST_KEPT = 8


@dataclass(slots=True)
class _Item:
    packed: bytes
    output_bytes: int
    """Of the terminal's output, in it."""
    at: float
    keeps: bool


class Backlog:
    """One viewer's.

    Args:
        most_bytes: that wait at once.
        most_s: how long the oldest may wait while more comes.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES, most_s: float = MOST_S) -> None:
        self._most_bytes, self._most_s = most_bytes, most_s
        self._begun: memoryview | None = None
        self._screen: deque[bytes] = deque()
        self._items: deque[_Item] = deque()
        self._kept: deque[_Item] = deque(maxlen=_MOST_KEPT)
        self.bytes = 0
        """That wait, but for what is begun and for a screen."""
        self.lost_bytes = 0
        """Output that was left out since it fell behind."""
        self.needs_screen = True
        """Whether only a fresh screen helps it on."""
        self.has_shown = False
        """Whether it has ever been sent all of a screen."""
        self._is_behind = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be sent without a fresh screen."""
        return self._begun is None and not self._screen and not self._items

    def output(self, packed: bytes, size: int, *, now: float) -> None:
        """The terminal shows something: so many bytes, in a message that others have too."""
        if not self.needs_screen:
            self._add(_Item(packed, size, now, keeps=False))
        elif self._is_behind:
            self.lost_bytes += size

    def tell(self, packed: bytes, *, now: float, keeps: bool) -> None:
        """Something else is to be told.

        Args:
            packed: the message.
            now: a clock that only grows.
            keeps: whether it is told after a fresh screen too.
        """
        item = _Item(packed, 0, now, keeps)
        if not self.needs_screen:
            self._add(item)
        elif keeps:
            self._kept.append(item)

    def refresh(self) -> None:
        """A fresh screen is wanted: what waits is not told."""
        self._drop()
        self.lost_bytes, self._is_behind = 0, False

    def show(self, screen: Sequence[bytes]) -> None:
        """Here is a fresh screen, of this very moment: from now on the viewer follows."""
        self.lost_bytes, self.needs_screen, self._is_behind = 0, False, False
        while self._kept:
            self._items.append(self._kept.popleft())
            self.bytes += len(self._items[-1].packed)
        self._screen.extend(screen)

    def give_up_screen(self) -> None:
        """The fresh screen is not read: the next one is made when there is a reader."""
        self._screen.clear()
        self._drop()

    def take(self, most: int) -> memoryview | None:
        """What to send next, at most so many bytes; None if there is nothing, or no room for it."""
        if most <= 0:
            return None
        if self._begun is None:
            if self._screen:
                self._begun = memoryview(self._screen.popleft())
                self.has_shown = self.has_shown or not self._screen
            elif self._items:
                self._begun = memoryview(self._items.popleft().packed)
                self.bytes -= len(self._begun)
            else:
                return None
        piece, rest = self._begun[:most], self._begun[most:]
        self._begun = rest or None
        return piece

    def _add(self, item: _Item) -> None:
        is_old = bool(self._items) and item.at - self._items[0].at > self._most_s
        self._items.append(item)
        self.bytes += len(item.packed)
        if is_old or self.bytes > max(self._most_bytes, len(item.packed)):
            self._is_behind = True
            self._drop()

    def _drop(self) -> None:
        self.needs_screen = True
        for item in self._items:
            self.bytes -= len(item.packed)
            self.lost_bytes += item.output_bytes
            if item.keeps:
                self._kept.append(item)
        self._items.clear()
