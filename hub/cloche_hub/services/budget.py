"""Room in memory that many share: for each who takes of it, and for all together.

Rule: what does not fit is refused at once; nobody waits for room, so nobody holds any while waiting for more.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from cloche_hub.errors import TooLarge


class Budget:
    """Bytes that are held now.

    Args:
        what: is held; the words of a refusal.
        own: bytes one may hold.
        every: bytes all may hold together.
    """

    def __init__(self, what: str, *, own: int, every: int) -> None:
        self._what, self._own, self._every = what, own, every
        self._held: Counter[str] = Counter()

    @contextlib.contextmanager
    def taken(self, who: str, size: int) -> Iterator[None]:
        """Holds so many bytes until the context is left.

        Raises:
            TooLarge: there is no room for them.
        """
        if self._held[who] + size > self._own:
            raise TooLarge(f"{self._what}: one sandbox has {self._own >> 20} MiB at most; try again later")
        if self._held.total() + size > self._every:
            raise TooLarge(f"{self._what}: the hub has {self._every >> 20} MiB at most; try again later")
        self._held[who] += size
        try:
            yield
        finally:
            self._held[who] -= size
            if not self._held[who]:
                del self._held[who]
