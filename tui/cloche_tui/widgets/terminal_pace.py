"""When a console that changes is painted. Pure: who paints says what time it is.

a byte after a while    a moment later, so that what comes with it is in the same frame; so are the next two frames
a flood                 so many frames a second, whatever comes
a program that says it is in the midst of an update (mode 2026)    when it is done, or has taken a second
"""

from __future__ import annotations

LEAD_S = 0.0005
FRAME_S = 1 / 30
MOST_AT_ONCE = 3
"""Frames that need not wait for each other: an answer often comes in pieces, the first of which is a line end."""
MOST_HELD_S = 1.0


class Pace:
    """When the next frame of one console is due."""

    def __init__(self) -> None:
        self._is_due_at = float("-inf")
        """If frames came evenly; they may be some frames ahead of that."""
        self._held_since: float | None = None

    def delay(self, now: float) -> float:
        """How long to wait with the next frame, of something that has just changed."""
        return max(LEAD_S, self._is_due_at - (MOST_AT_ONCE - 1) * FRAME_S - now)

    def painted(self, now: float) -> None:
        """A frame was painted."""
        self._is_due_at = max(self._is_due_at, now) + FRAME_S

    def holds(self, now: float, *, is_held: bool) -> float | None:
        """Whether what was painted is not to be shown yet.

        Args:
            now: the time in seconds.
            is_held: whether the program says so.

        Returns:
            How long to wait with it; None: it is to be shown.
        """
        if not is_held:
            self._held_since = None
            return None
        if self._held_since is None:
            self._held_since = now
        left = self._held_since + MOST_HELD_S - now
        return left if left > 0 else None
