"""Work is begun by a worker, and made only then."""

from __future__ import annotations

from functools import partial

from cloche_tui.widgets.work import begin
from tests.tui.support import HostApp


async def test_work_is_done_with_its_arguments_in_its_group() -> None:
    host = HostApp()
    done: list[int] = []

    async def work(number: int) -> None:
        done.append(number)

    async with host.run_test() as pilot:
        worker = begin(host, partial(work, 7), group="numbers")
        assert worker.group == "numbers"
        await worker.wait()
        await pilot.pause()
    assert done == [7]


async def test_work_that_is_given_up_before_it_begins_leaves_nothing_behind() -> None:
    host = HostApp()

    async def work() -> None:
        raise AssertionError("it was given up")

    async with host.run_test():
        # Were the coroutine there already, it would be one that nobody has ever awaited, which is an error in tests.
        begin(host, work, group="numbers").cancel()
