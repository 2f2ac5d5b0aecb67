"""One piece of work that several callers wait for."""

from __future__ import annotations

import asyncio

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.ports import OnProgress, Progress
from cloche_hub.shared_work import SharedWork

_STEP = Progress("s", "m")


def _ignore(_step: Progress) -> None:
    pass


class _Work:
    """Work that waits until it is let go, and counts."""

    def __init__(self) -> None:
        self.started = 0
        self.cancelled = 0
        self.cleaned = 0
        self.clean = asyncio.Event()
        self.clean.set()
        self.running = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, progress: OnProgress) -> str:
        self.started += 1
        progress(_STEP)
        self.running.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.clean.wait()
            self.cleaned += 1
            raise
        return f"answer {self.started}"


async def _set_later(event: asyncio.Event) -> None:
    for _ in range(10):
        await asyncio.sleep(0)
    event.set()


async def test_callers_of_one_key_share_the_work_and_its_answer() -> None:
    work = _Work()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        callers = [group.create_task(shared.join("k", work, progress=_ignore)) for _ in range(3)]
        await work.running.wait()
        work.go.set()
        answers = await asyncio.gather(*callers)

    assert (answers, work.started) == (["answer 1"] * 3, 1)


async def test_different_keys_are_different_work() -> None:
    work = _Work()
    work.go.set()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        await shared.join("a", work, progress=_ignore)
        await shared.join("b", work, progress=_ignore)

    assert work.started == 2


async def test_who_joins_late_hears_the_latest_step_first() -> None:
    work, heard = _Work(), list[Progress]()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        group.create_task(shared.join("k", work, progress=_ignore))
        await work.running.wait()
        late = group.create_task(shared.join("k", work, progress=heard.append))
        await asyncio.sleep(0)
        work.go.set()
        await late

    assert heard == [_STEP]


async def test_the_first_caller_may_leave_and_the_others_still_get_their_answer() -> None:
    work = _Work()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        first = group.create_task(shared.join("k", work, progress=_ignore))
        await work.running.wait()
        second = group.create_task(shared.join("k", work, progress=_ignore))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        work.go.set()

        assert await second == "answer 1"

    assert work.cancelled == 0


async def test_when_the_last_caller_leaves_the_work_has_ended() -> None:
    work = _Work()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        caller = group.create_task(shared.join("k", work, progress=_ignore))
        await work.running.wait()
        caller.cancel()
        await asyncio.wait([caller])

        assert (caller.cancelled(), work.cancelled) == (True, 1)


async def test_the_last_caller_waits_until_the_work_has_cleaned_up() -> None:
    work = _Work()
    work.clean.clear()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        caller = group.create_task(shared.join("k", work, progress=_ignore))
        await work.running.wait()
        caller.cancel()
        group.create_task(_set_later(work.clean))
        await asyncio.wait([caller])

        assert work.cleaned == 1


async def test_who_comes_while_the_work_is_being_called_off_starts_anew() -> None:
    work = _Work()
    work.clean.clear()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)
        caller = group.create_task(shared.join("k", work, progress=_ignore))
        await work.running.wait()
        caller.cancel()
        while not work.cancelled:
            await asyncio.sleep(0)
        work.go.set()

        assert await shared.join("k", work, progress=_ignore) == "answer 2"
        work.clean.set()


async def test_a_failure_reaches_every_caller_and_not_the_group() -> None:
    entered = asyncio.Event()

    async def fail(_progress: OnProgress) -> str:
        await entered.wait()
        raise BuildFailed("no mirror")

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shared = SharedWork[str](group)

        async def expect_failure() -> None:
            with pytest.raises(BuildFailed, match="no mirror"):
                await shared.join("k", fail, progress=_ignore)

        callers = [group.create_task(expect_failure()) for _ in range(2)]
        await asyncio.sleep(0)
        entered.set()
        await asyncio.gather(*callers)


async def test_all_work_can_be_called_off() -> None:
    work = _Work()
    async with asyncio.timeout(10):
        async with asyncio.TaskGroup() as group:
            shared = SharedWork[str](group)
            caller = group.create_task(shared.join("k", work, progress=_ignore))
            await work.running.wait()
            shared.cancel_all()

    assert caller.cancelled()
    assert work.cancelled == 1
