"""Work that several wait for."""

from __future__ import annotations

import asyncio

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.ports import OnProgress, Progress
from cloche_hub.shared_work import SharedWork

BOUND_S = 10.0


class Work:
    """Work that ends when it is told to."""

    def __init__(self) -> None:
        self.started = 0
        self.cancelled = 0
        self.end = asyncio.Event()

    async def __call__(self, report: OnProgress) -> str:
        self.started += 1
        report(Progress("step", "half"))
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "done"


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_callers_of_the_same_key_share_one_work_and_hear_its_steps() -> None:
    work, heard = Work(), [list[Progress](), list[Progress]()]
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)
        first = group.create_task(shared.join("a", work, progress=heard[0].append))
        await _turns()
        second = group.create_task(shared.join("a", work, progress=heard[1].append))
        await _turns()
        work.end.set()
    assert (first.result(), second.result(), work.started) == ("done", "done", 1)
    assert heard == [[Progress("step", "half")]] * 2


async def test_the_first_caller_may_leave_and_the_work_goes_on() -> None:
    work = Work()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)
        first = group.create_task(shared.join("a", work, progress=lambda _step: None))
        second = group.create_task(shared.join("a", work, progress=lambda _step: None))
        await _turns()
        first.cancel()
        await _turns()
        work.end.set()
    assert (second.result(), work.started, work.cancelled) == ("done", 1, 0)


async def test_when_the_last_caller_leaves_the_work_has_ended_before_it_is_gone() -> None:
    work = Work()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)
        only = group.create_task(shared.join("a", work, progress=lambda _step: None))
        await _turns()
        only.cancel()
        await asyncio.wait([only])
        assert work.cancelled == 1


async def test_an_error_reaches_every_caller_and_not_the_group() -> None:
    async def fail(_report: OnProgress) -> str:
        await asyncio.sleep(0)
        raise BuildFailed("no")

    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)

        async def expect_failure() -> None:
            with pytest.raises(BuildFailed):
                await shared.join("a", fail, progress=lambda _step: None)

        group.create_task(expect_failure())
        group.create_task(expect_failure())


async def test_all_work_can_be_called_off() -> None:
    work = Work()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)
        caller = group.create_task(shared.join("a", work, progress=lambda _step: None))
        await _turns()
        shared.cancel_all()
        await asyncio.wait([caller])
    assert caller.cancelled()
    assert work.cancelled == 1


async def test_work_that_is_called_off_before_its_first_step_leaves_nobody_waiting() -> None:
    work = Work()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        shared: SharedWork[str] = SharedWork(group)
        caller = group.create_task(shared.join("a", work, progress=lambda _step: None))
        await asyncio.sleep(0)
        shared.cancel_all()
        await asyncio.wait([caller])
    assert caller.cancelled()
    assert work.started == 0
