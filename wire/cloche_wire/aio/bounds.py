"""How long a wait may take.

`asyncio.timeout` alone does not do in what is cleaned up after a cancellation: in Python 3.11.0 to 3.11.3, Debian 12's
among them, a task that is being cancelled gets another CancelledError instead of a TimeoutError when the time is over,
and the rest of the clean-up never runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
    """As `asyncio.timeout`, also in a task that is being cancelled.

    Args:
        seconds: how long what is inside may take; None: for ever.

    Raises:
        TimeoutError: it took longer, and was cancelled.
    """
    task = asyncio.current_task()
    assert task is not None, "only a task can wait"
    cancelled_before = task.cancelling()
    bound = asyncio.timeout(seconds)
    try:
        async with bound:
            yield bound
    except asyncio.CancelledError:
        if bound.expired() and task.cancelling() <= cancelled_before:
            raise TimeoutError from None
        raise
