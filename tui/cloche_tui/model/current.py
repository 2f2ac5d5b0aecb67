"""The first part of what the hub tells: all there is. Whatever is known and not told then is gone. Pure.

current.begin()                        a new subscription
current.tell(id)                       it is there; told later it counts for nothing
for id in current.end(known): forget   all that there is has been told
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet


class Current:
    """Which things of a kind have been told of since a subscription began.

    Attributes:
        is_known: whether all have been told once.
    """

    def __init__(self) -> None:
        self._told: set[str] | None = None
        self.is_known = False

    @property
    def is_under_way(self) -> bool:
        """Whether more may be told that was there before."""
        return self._told is not None

    def begin(self) -> None:
        """A new subscription: what is not told from here to its end is gone."""
        self._told = set()

    def tell(self, one: str) -> None:
        """The hub tells of one, by its id."""
        if self._told is not None:
            self._told.add(one)

    def end(self, known: AbstractSet[str]) -> AbstractSet[str]:
        """All there is has been told; returns which of those that were known are gone."""
        gone = frozenset[str]() if self._told is None else known - self._told
        self._told, self.is_known = None, True
        return gone
