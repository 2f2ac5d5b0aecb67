"""How often somebody may do something: a token bucket, so many at once and then so many a second. Pure.

Rule: what is refused takes nothing, so whoever is refused is let in again as soon as anybody would be.
"""

from __future__ import annotations

from collections.abc import Callable


class Bucket:
    """A bucket that is full to begin with.

    Args:
        burst: how many it holds.
        per_s: how many flow in a second.
        now: seconds on a clock that never goes back.
    """

    def __init__(self, *, burst: int, per_s: float, now: Callable[[], float]) -> None:
        self._burst, self._per_s, self._now = burst, per_s, now
        self._left, self._left_at = float(burst), now()

    def take(self) -> bool:
        """Takes one; says whether there was one."""
        self._fill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    @property
    def is_full(self) -> bool:
        """Whether it is as it was in the beginning."""
        self._fill()
        return self._left >= self._burst

    def _fill(self) -> None:
        now = self._now()
        self._left = min(float(self._burst), self._left + (now - self._left_at) * self._per_s)
        self._left_at = now
