"""Waits that only time counts for in which an answer could have been heard."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from cloche_hub.guestlink.countdown import Countdown
from cloche_wire.aio import Heartbeat
from tests.hub.guestlink.test_link import EXEC, HASTY, IDENTITY, linked
from tests.support.hub import finish, within


async def test_it_calls_back_once_when_its_time_is_over() -> None:
    calls: list[float] = []
    began = time.monotonic()
    Countdown(0.04, lambda: calls.append(time.monotonic() - began))
    await asyncio.sleep(0.1)
    assert len(calls) == 1
    assert calls[0] >= 0.04 - 0.001


async def test_a_loop_that_stands_still_counts_as_a_small_part_of_it() -> None:
    over = asyncio.Event()
    Countdown(0.2, over.set)
    _stand_still(0.3)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not over.is_set()
    await within(over.wait())


async def test_cancelled_it_calls_nobody() -> None:
    over = asyncio.Event()
    countdown = Countdown(0.02, over.set)
    await asyncio.sleep(0.01)
    countdown.cancel()
    countdown.cancel()
    await asyncio.sleep(0.05)
    assert not over.is_set()


async def test_a_hub_that_stood_still_takes_no_sound_guest_for_a_silent_one() -> None:
    async with linked(replace(HASTY, heartbeat=Heartbeat())) as both, asyncio.TaskGroup() as tasks:
        becoming = tasks.create_task(both.link.become(IDENTITY))
        await asyncio.sleep(0)
        _stand_still(2 * HASTY.answer_s)
        await within(becoming)
        opened = await both.link.open_work("exec", EXEC, window=1 << 16)
        _stand_still(2 * HASTY.answer_s)
        assert (await within(finish(opened))).stdout == b"hi\n"


def _stand_still(seconds: float) -> None:
    """As a process does whose host sleeps."""
    time.sleep(seconds)
