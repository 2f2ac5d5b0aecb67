"""What recordings need of the hub: what a killed one left is finished, and what is too old or too much goes.

Rule: neither holds anything up. What fails now, on a full disk or a failing one, is tried again later.
"""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta

import structlog

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.ports import Recordings
from cloche_hub.services.clock import Clock

_log = structlog.get_logger(__name__)

INTERVAL_S = 60.0
RECOVER_EVERY = 60
"""Rounds: only what could not be finished at the start is left for a later one."""


async def keep_recordings(
    recordings: Recordings,
    *,
    days: float,
    max_total_bytes: int,
    clock: Clock,
    interval_s: float = INTERVAL_S,
) -> None:
    """Runs until cancelled.

    Args:
        recordings: to look after.
        days: how long one is kept after its end.
        max_total_bytes: what all finished ones may take on disk.
        clock: now.
        interval_s: between two rounds.
    """
    for number in itertools.count():
        try:
            if number % RECOVER_EVERY == 0:
                recovered = await recordings.recover()
                if recovered:
                    _log.info("recordings_recovered", count=len(recovered))
            removed = await recordings.expire(
                before=clock.now() - timedelta(days=days), max_total_bytes=max_total_bytes
            )
            if removed:
                _log.info("recordings_removed", count=len(removed))
        except (NoSpace, StoreFailed) as error:
            _log.warning("recordings_not_looked_after", reason=str(error))
        await asyncio.sleep(interval_s)
