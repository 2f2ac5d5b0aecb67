"""Work that is done for as long as somebody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from cloche_wire.aio import Channel
from cloche_wire.errors import ungrouped


@contextlib.asynccontextmanager
async def while_wanted(channel: Channel) -> AsyncIterator[None]:
    """Cancels what runs inside as soon as the other side gives the channel up.

    For requests that wait for something that may take long. Raises inside and out what ended the channel.
    """
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(channel.wait_confirmed())
            yield
            watch.cancel()
