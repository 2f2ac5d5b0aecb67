"""How long somebody who does not answer is waited for.

Rule: only time in which this process could listen counts, as for the wire's heartbeat. A host that slept, or a loop that
was held up, says nothing about the other side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_STEPS = 8
"""A stand-still counts as one of them at most."""


class Countdown:
    """Calls back, once, when so many seconds are over.

    Args:
        seconds: how many.
        on_over: called in the loop.
    """

    def __init__(self, seconds: float, on_over: Callable[[], None]) -> None:
        self._step_s, self._left, self._on_over = seconds / _STEPS, _STEPS, on_over
        self._timer = asyncio.get_running_loop().call_later(self._step_s, self._count)

    def cancel(self) -> None:
        """Calls back no more. Idempotent."""
        self._timer.cancel()

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._on_over()
        else:
            self._timer = asyncio.get_running_loop().call_later(self._step_s, self._count)
