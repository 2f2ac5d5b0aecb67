"""Several coroutines at once, with one plain error if one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from cloche_wire.errors import ungrouped

T = TypeVar("T")


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Runs coroutines side by side and returns what each returned, in order.

    The first error cancels the others and is raised as it is, not in a group: callers handle one cause.
    """
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(part) for part in work]
    return [task.result() for task in running]
