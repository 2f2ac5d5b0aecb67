"""Errands at a terminal are done in order, and one that fails costs no other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from cloche_term import TerminalLost
from cloche_tui.widgets.errands import Errands


class Log:
    """Errands that write down that they were done, and may be kept waiting."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def errand(self, name: str, error: Exception | None = None) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.gate.wait()
            self.done.append(name)
            if error is not None:
                raise error

        return run


@contextlib.asynccontextmanager
async def running(errands: Errands) -> AsyncIterator[None]:
    """Has somebody do them."""
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(errands.run_for_ever())
        yield
        task.cancel()


async def until_done(log: Log, last: str) -> None:
    while last not in log.done:
        await asyncio.sleep(0)


async def test_errands_are_done_one_after_the_other_in_order() -> None:
    errands, log = Errands(), Log()
    errands.add(log.errand("one"))
    async with running(errands):
        await until_done(log, "one")
        errands.add(log.errand("two"))
        errands.add(log.errand("three"))
        await until_done(log, "three")
    assert log.done == ["one", "two", "three"]


async def test_it_is_not_idle_while_one_is_being_done() -> None:
    errands, log = Errands(), Log()
    log.gate.clear()
    errands.add(log.errand("one"))
    idle = [errands.is_idle]
    async with running(errands):
        await asyncio.sleep(0)
        idle.append(errands.is_idle)
        log.gate.set()
        await until_done(log, "one")
        await asyncio.sleep(0)
        idle.append(errands.is_idle)
    assert idle == [False, False, True]


async def test_a_lost_terminal_or_a_question_without_sense_costs_no_other_errand() -> None:
    errands, log = Errands(), Log()
    errands.add(log.errand("lost", TerminalLost("gone")))
    errands.add(log.errand("too much", ValueError("too much")))
    errands.add(log.errand("next"))
    async with running(errands):
        await until_done(log, "next")
    assert log.done == ["lost", "too much", "next"]


async def test_of_some_only_the_newest_is_done_unless_another_stands_between() -> None:
    errands, log = Errands(), Log()
    for name in ("a", "b"):
        errands.add(log.errand(name), instead_of="move")
    errands.add(log.errand("press"))
    for name in ("c", "d"):
        errands.add(log.errand(name), instead_of="move")
    async with running(errands):
        await until_done(log, "d")
    assert log.done == ["b", "press", "d"]


async def test_what_waits_can_be_forgotten_and_is_bounded() -> None:
    errands, log = Errands(), Log()
    for _ in range(2000):
        errands.add(log.errand("many"))
    errands.clear()
    for _ in range(2000):
        errands.add(log.errand("many"))
    async with running(errands):
        while not errands.is_idle:
            await asyncio.sleep(0)
    assert len(log.done) == 1000
