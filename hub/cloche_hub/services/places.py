"""Places for what goes on until somebody ends it: so many at once for each who takes them.

Rule: who has all of its places is refused at once; nobody waits for one.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from cloche_hub.errors import TooLarge


class Places:
    """Places that are taken now.

    Args:
        what: what one with a place does, for the refusal: "follows the audit".
        most: places of each.
    """

    def __init__(self, what: str, *, most: int) -> None:
        self._what, self._most = what, most
        self._taken: Counter[str] = Counter()

    @contextlib.contextmanager
    def taken(self, who: str) -> Iterator[None]:
        """Takes a place until the context is left.

        Args:
            who: a token's id.

        Raises:
            TooLarge: it has as many as one may.
        """
        if self._taken[who] >= self._most:
            raise TooLarge(f"this token {self._what} {self._most} times already; end some of these requests")
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]
