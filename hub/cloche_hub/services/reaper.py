"""Ends sandboxes whose lease has run out. A loop around one decision, which is `domain.sandbox.is_expired`."""

from __future__ import annotations

import asyncio

from cloche_hub.services.sandboxes import Sandboxes

INTERVAL_S = 1.0
"""How late a sandbox may be ended; the look itself costs microseconds."""


async def reap_for_ever(sandboxes: Sandboxes) -> None:
    """Runs until cancelled."""
    while True:
        sandboxes.expire()
        await asyncio.sleep(INTERVAL_S)
