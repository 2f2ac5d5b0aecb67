"""What would stall the loop, in a thread: this host's disk, and hashing more than a little."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """Runs it in a thread of the loop's pool.

    Cancelling waits until it has ended, so that nobody cleans up what it still uses; then its result is lost, so what
    it opens has to be kept where the clean-up finds it.
    """
    running = asyncio.get_running_loop().run_in_executor(None, function)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # nobody else will ask
        raise cancelled
    return running.result()
