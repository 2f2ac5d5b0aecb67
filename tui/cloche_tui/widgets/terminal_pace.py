"""When a console that changes is painted. Pure: who paints says what time it is.

the first byte after a while    a moment later, so that what comes with it is in the same frame
a flood                         so many frames a second, whatever comes
a program that says it is in the midst of an update (mode 2026)    when it is done, or has taken a second
"""

from __future__ import annotations

LEAD_S = 0.0015
FRAME_S = 1 / 30
MOST_HELD_S = 1.0


class Pace:
    """When the next frame of one console is due."""

    def __init__(self) -> None:
        self._painted_at = float("-inf")
        self._held_since: float | None = None

    def delay(self, now: float) -> float:
        """How long to wait with the next frame, of something that has just changed."""
        return max(LEAD_S, self._painted_at + FRAME_S - now)

    def painted(self, now: float) -> None:
        """A frame was painted."""
        self._painted_at = now

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
