"""How long recordings are kept, and what becomes of those that a killed hub has left.

Rule: recordings wait for nobody here and nobody waits for them: a hub serves while it still finishes old ones.
Rule: a disk that fails costs a log line; it is tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import timedelta

import structlog

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.ports import Recordings
from cloche_hub.services.clock import Clock

_log = structlog.get_logger(__name__)

INTERVAL_S = 60.0
"""How late a recording may be deleted."""
RECOVERIES = 60
"""Rounds between two attempts at what a killed hub has left and a full disk did not let the first attempt finish."""


class Retention:
    """Keeps recordings within their bounds.

    Args:
        recordings: which.
        days: how long they are kept after their end.
        max_total_bytes: what all of them may take on disk.
        clock: now.
    """

    def __init__(self, recordings: Recordings, *, days: float, max_total_bytes: int, clock: Clock) -> None:
        self._recordings, self._clock = recordings, clock
        self._kept, self._max_total_bytes = timedelta(days=days), max_total_bytes

    async def run_for_ever(self, *, interval_s: float = INTERVAL_S) -> None:
        """Finishes what was left, then deletes what has to go, again and again; runs until cancelled."""
        while True:
            await self.recover()
            for _ in range(RECOVERIES):
                await self.expire()
                await asyncio.sleep(interval_s)

    async def recover(self) -> None:
        """Finishes what a killed hub left under way. Raises nothing."""
        with _logged("recordings_not_recovered"):
            for row in await self._recordings.recover():
                _log.info("recording_recovered", recording=row.id, sandbox=row.header.sandbox)

    async def expire(self) -> None:
        """Deletes what is too old or too much. Raises nothing."""
        before = self._clock.now() - self._kept
        with _logged("recordings_not_expired"):
            for removed in await self._recordings.expire(
                before=before, max_total_bytes=self._max_total_bytes
            ):
                _log.info("recording_removed", recording=removed.row.id, reason=removed.reason)


@contextlib.contextmanager
def _logged(event: str) -> Iterator[None]:
    try:
        yield
    except (NoSpace, StoreFailed) as error:
        _log.warning(event, reason=str(error))
