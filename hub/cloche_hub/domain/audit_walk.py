"""Which events a search of the audit looks at next. Pure.

Rule: what is new comes before what is old, and of what is old the newest comes first. Nothing is looked at twice.
Rule: a part is as large as can be looked at in about `PART_S`, so nobody else waits longer than that for the database.
"""

from __future__ import annotations

PART_S = 0.02
SMALLEST, FIRST, LARGEST = 64, 512, 16384
"""Events in a part: the least, in the first one, the most."""


class Walk:
    """One search's way through the chain.

    Args:
        head: where the chain ends as it begins.
    """

    def __init__(self, head: int) -> None:
        self._first, self._last = head + 1, head
        self._size = FIRST

    @property
    def last(self) -> int:
        """The newest event that has been looked at, or need not be."""
        return self._last

    def next(self, head: int) -> tuple[int, int] | None:
        """The first and the last event of the next part; None: everything has been looked at.

        Args:
            head: where the chain ends now.
        """
        if head > self._last:
            first, self._last = self._last + 1, min(head, self._last + self._size)
            return first, self._last
        if self._first > 1:
            last, self._first = self._first - 1, max(self._first - self._size, 1)
            return self._first, last
        return None

    def took(self, seconds: float) -> None:
        """How long looking at the last part took."""
        if seconds < PART_S / 2:
            self._size = min(self._size * 2, LARGEST)
        elif seconds > PART_S:
            self._size = max(self._size // 2, SMALLEST)
