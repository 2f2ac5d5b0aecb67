"""Waits with a bound, also while what waits is being cancelled."""

from __future__ import annotations

import asyncio

import pytest

from cloche_wire.aio.bounds import within


async def _never() -> None:
    await asyncio.Event().wait()


async def test_what_takes_too_long_is_cancelled() -> None:
    story: list[str] = []

    async def work() -> None:
        try:
            await _never()
        except asyncio.CancelledError:
            story.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        async with within(0.001):
            await work()
    assert story == ["cancelled"]


async def test_clean_up_after_a_cancellation_goes_on_when_its_time_is_over() -> None:
    story: list[str] = []
    begun = asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await _never()
        finally:
            try:
                async with within(0.001):
                    await _never()
            except TimeoutError:
                story.append("gave up waiting")
            story.append("cleaned up")

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        await begun.wait()
        task.cancel()
    assert task.cancelled()
    assert story == ["gave up waiting", "cleaned up"]


async def test_a_cancellation_from_outside_stays_one() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        async with within(60):
            begun.set()
            await _never()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        await begun.wait()
        task.cancel()
    assert task.cancelled()


async def test_without_a_bound_it_waits_for_ever() -> None:
    async with within(None) as bound:
        await asyncio.sleep(0)
    assert bound.when() is None


async def test_an_error_inside_passes_unchanged() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with within(60):
            raise ValueError("mine")
