"""One piece of long work that several callers wait for.

Rule: the work belongs to a task group, not to a caller: the first caller may leave and the others still get their
answer. When the last one leaves, the work is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cloche_hub.ports import OnProgress, Progress

_T = TypeVar("_T")
_Work = Callable[[OnProgress], Awaitable[_T]]


@dataclass(slots=True, eq=False)
class _Job(Generic[_T]):
    answer: asyncio.Future[_T]
    listeners: list[OnProgress] = field(default_factory=list)
    latest: Progress | None = None
    task: asyncio.Task[None] | None = None

    def give_up(self, _done: asyncio.Task[None]) -> None:
        """Where the work was cancelled, nobody gets an answer."""
        self.answer.cancel()

    def report(self, step: Progress) -> None:
        self.latest = step
        for listener in self.listeners:
            listener(step)


class SharedWork(Generic[_T]):
    """Work by key, each at most once at a time."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._jobs: dict[str, _Job[_T]] = {}

    async def join(self, key: str, work: _Work[_T], *, progress: OnProgress) -> _T:
        """Starts the work of this key, or joins it if it is under way, and waits for its answer.

        Cancelling it cancels the work only if nobody else waits for it, and then waits for the work's end.

        Args:
            key: what the work is about.
            work: called with where to report its steps, if nobody has started it yet.
            progress: gets the steps, the latest one first.
        """
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = _Job(asyncio.get_running_loop().create_future())
            job.task = self._group.create_task(self._run(key, job, work))
            # Here and not in the task: one that is cancelled before its first step does nothing at all.
            job.task.add_done_callback(job.give_up)
        elif job.latest is not None:
            progress(job.latest)
        job.listeners.append(progress)
        try:
            return await asyncio.shield(job.answer)
        finally:
            job.listeners.remove(progress)
            if not job.listeners and not job.answer.done():
                await self._abandon(key, job)

    def cancel_all(self) -> None:
        """Calls off all work; the task group waits for its end."""
        for job in self._jobs.values():
            assert job.task is not None
            job.task.cancel()

    async def _abandon(self, key: str, job: _Job[_T]) -> None:
        # Whoever comes now starts anew: it must not join work that is being called off.
        self._jobs.pop(key, None)
        assert job.task is not None
        job.task.cancel()
        await asyncio.wait([job.task])

    async def _run(self, key: str, job: _Job[_T], work: _Work[_T]) -> None:
        try:
            answer = await work(job.report)
        except Exception as error:  # the edge of the task: each caller raises it, the group must not
            job.answer.set_exception(error)
            job.answer.exception()  # all callers may have left; then nobody would look at it
        else:
            job.answer.set_result(answer)
        finally:
            if self._jobs.get(key) is job:
                del self._jobs[key]
