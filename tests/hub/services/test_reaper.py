"""What the hub looks after once a second, without being asked."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from cloche_hub.services.reaper import reap_for_ever
from tests.support.hub import until


class Counter:
    """Stands for sandboxes and records: counts the looks."""

    def __init__(self) -> None:
        self.expired = self.caught_up = 0

    def expire(self) -> None:
        self.expired += 1

    async def catch_up(self) -> None:
        self.caught_up += 1


async def test_leases_and_unwritten_records_are_looked_at_again_and_again() -> None:
    counter = cast("Any", Counter())
    async with asyncio.TaskGroup() as tasks:
        reaper = tasks.create_task(reap_for_ever(counter, counter, interval_s=0.001))
        await until(lambda: counter.caught_up >= 3)
        reaper.cancel()
    assert counter.expired >= 3
