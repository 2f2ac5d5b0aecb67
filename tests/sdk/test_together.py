"""Coroutines side by side."""

from __future__ import annotations

import asyncio

import pytest

from cloche.together import together


async def _value(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def test_results_come_in_the_order_of_the_work() -> None:
    assert await together(_value(1), _value(2)) == [1, 2]


async def test_nothing_to_do_is_done() -> None:
    assert await together() == []


async def test_the_first_error_is_raised_plain_and_ends_the_others() -> None:
    ended = asyncio.Event()

    async def for_ever() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async def fail() -> int:
        raise LookupError("first")

    with pytest.raises(LookupError, match="first"):
        await together(for_ever(), fail())
    assert ended.is_set()
