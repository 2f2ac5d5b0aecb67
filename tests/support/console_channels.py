"""One channel of a console between two peers in memory, with a handle on either end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from cloche_wire.aio import Channel
from cloche_wire.limits import Limits
from tests.support.links import Pair, joined, open_links

LIMITS = Limits(window=4096, least_window=512, least_peer_window=512)


@dataclass(frozen=True, slots=True)
class Ends:
    """A channel's two ends."""

    pair: Pair
    opened: Channel
    """At the side that has opened it."""
    offered: Channel
    """At the other side, which has not accepted it yet."""


@contextlib.asynccontextmanager
async def channel_ends(folder: Path, *, window: int | None = None) -> AsyncIterator[Ends]:
    """A channel that has been opened and not yet accepted."""
    arrived: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def serve(channel: Channel) -> None:
        arrived.set_result(channel)
        await over.wait()
        channel.close() if not channel.is_answered else None

    async with open_links("memory", folder) as links, joined(links, on_open=serve, limits=LIMITS) as pair:
        await pair.link()
        opened = pair.leader.open("console", window=window)
        try:
            yield Ends(pair, opened, await arrived)
        finally:
            over.set()
