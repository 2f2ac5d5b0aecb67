"""An event loop whose clock only moves when nothing else can happen, so that a test of hours takes no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class FakeClockLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer whenever everybody waits."""

    def __init__(self) -> None:
        super().__init__(_JumpingSelector(self))
        self.now_s = 1000.0

    def time(self) -> float:
        return self.now_s


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: FakeClockLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not events:
            assert timeout is not None, "everybody waits, and no timer is set"
            self._loop.now_s += max(0.0, timeout)
        return events


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on such a loop; `asyncio.get_running_loop()` in it is a `FakeClockLoop`."""
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        return runner.run(main)
