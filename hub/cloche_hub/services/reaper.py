"""What the hub looks after once a second: leases that have run out, records that could not be written."""

from __future__ import annotations

import asyncio

from cloche_hub.services.records import Records
from cloche_hub.services.sandboxes import Sandboxes

INTERVAL_S = 1.0
"""How late a sandbox may be ended; the look itself costs microseconds."""


async def reap_for_ever(sandboxes: Sandboxes, records: Records, *, interval_s: float = INTERVAL_S) -> None:
    """Runs until cancelled."""
    while True:
        sandboxes.expire()
        await records.catch_up()
        await asyncio.sleep(interval_s)
