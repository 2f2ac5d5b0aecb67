"""How fast people come, go and change who drives: each time leaves records behind for ever.

Rules:
- Who is too quick waits, and is not refused: nobody's coming goes unrecorded, and no person is as quick as that.
- What one owner's tokens may do is theirs together; of each, one waits in front, so that a program does not keep a person
  with another token waiting behind all that it wants.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from cloche_hub.domain.bucket import Bucket
from cloche_hub.domain.tokens import Token
from cloche_hub.services.fair import Turns

BURST, PER_S = 100, 5.0
"""So many at once, and so many a second after that."""


class Paces:
    """Counts what each owner's tokens do.

    Args:
        burst: at once.
        per_s: and then a second.
        now: seconds on a clock that never goes back.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        *,
        burst: int = BURST,
        per_s: float = PER_S,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._burst, self._per_s, self._now, self._sleep = burst, per_s, now, sleep
        self._turns = Turns()
        self._buckets: dict[str, Bucket] = {}

    async def wait(self, token: Token) -> None:
        """Returns when this token may do the next thing. Cancelling it loses nothing."""
        async with self._turns.turn(token.id):
            while not self._bucket(token.owner).take():
                await self._sleep(1 / self._per_s)

    def _bucket(self, owner: str) -> Bucket:
        if owner not in self._buckets:
            # Those who have kept still are as if they had never been here.
            self._buckets = {one: bucket for one, bucket in self._buckets.items() if not bucket.is_full}
            self._buckets[owner] = Bucket(burst=self._burst, per_s=self._per_s, now=self._now)
        return self._buckets[owner]
