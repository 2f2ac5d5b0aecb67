"""Work that is done for as long as somebody waits for it. (Through real channels: tests of the handlers' context.)"""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from cloche_hub.errors import BuildFailed, Cancelled
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel


class Wanted:
    """A channel of which only the end matters."""

    def __init__(self) -> None:
        self.given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait_confirmed(self) -> None:
        await self.given_up


async def test_work_that_ends_ends_the_watch() -> None:
    channel = Wanted()
    async with while_wanted(cast(Channel, channel)):
        await asyncio.sleep(0)
    assert channel.given_up.cancelled()


async def test_work_that_fails_raises_its_own_error_and_no_group() -> None:
    with pytest.raises(BuildFailed):
        async with while_wanted(cast(Channel, Wanted())):
            raise BuildFailed("no")


async def test_work_nobody_waits_for_is_cancelled_with_why_the_channel_ended() -> None:
    channel, was_cancelled = Wanted(), False

    async def work() -> None:
        nonlocal was_cancelled
        async with while_wanted(cast(Channel, channel)):
            channel.given_up.set_exception(Cancelled("enough"))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                was_cancelled = True
                raise

    with pytest.raises(Cancelled, match="enough"):
        await work()
    assert was_cancelled
