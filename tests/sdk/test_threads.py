"""Work in threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cloche.threads import in_thread


async def test_what_it_returns_and_raises_is_the_caller_s() -> None:
    assert await in_thread(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_a_caller_who_is_cancelled_goes_on_only_when_the_thread_is_done() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(10)
        done.set()

    async def call() -> None:
        try:
            await in_thread(work)
        finally:
            assert done.is_set()

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(call())
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        await asyncio.wait({task})
    assert task.cancelled()
