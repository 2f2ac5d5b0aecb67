"""When the output of a command that has ended counts as complete.

Rules:
- What the command itself wrote is waited for, however slow its reader is.
- A process it left behind may hold its output open: once what was owed has been read, 100 ms of silence are enough,
  and a second is, silent or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Protocol

from cloche_guest.loop import Scope, Timer

SILENCE_S = 0.1
SETTLE_S = 1.0


class Settled(Protocol):
    """One output of a command."""

    @property
    def has_ended(self) -> bool:
        """Whether everything has been read and nobody writes any more."""

    @property
    def is_paused(self) -> bool:
        """Whether it waits for its reader."""

    @property
    def owed(self) -> int:
        """Bytes still to be read of what the command itself wrote; known when it has ended."""


class Settling:
    """Waits for a command's output.

    Args:
        loop: keeps the time.
        outputs: all of the command's.
        on_complete: called once, after `begin`.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        loop: Scope,
        outputs: Collection[Settled],
        on_complete: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop, self._outputs, self._on_complete, self._clock = loop, outputs, on_complete, clock
        self._ended_at = self._progressed_at = 0.0
        self._is_on = False
        self._timer: Timer | None = None

    def begin(self) -> None:
        """The command has ended, and its outputs know."""
        self._is_on = True
        self._ended_at = self._progressed_at = self._clock()
        self._look()

    def progressed(self) -> None:
        """Something was read, an output has ended, or there is room for more. Does nothing before `begin`."""
        if self._is_on:
            self._progressed_at = self._clock()
            self._look()

    def cancel(self) -> None:
        """Waits no longer. Idempotent."""
        self._is_on = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Says so if the output is complete; otherwise sees to it that it is looked at again."""
        if not self._is_on:
            return
        wait_s = self._wait_s()
        if wait_s <= 0:
            self.cancel()
            self._on_complete()
        elif self._timer is None and wait_s < SETTLE_S:
            self._timer = self._loop.call_later(wait_s, self._on_time)

    def _wait_s(self) -> float:
        """Seconds until the output counts as complete if nothing happens before; 0 if it is."""
        still_open = [output for output in self._outputs if not output.has_ended]
        if not still_open:
            return 0.0
        if any(output.owed for output in still_open):
            return SETTLE_S
        now = self._clock()
        waits = [self._ended_at + SETTLE_S - now]
        if not any(output.is_paused for output in still_open):
            waits.append(self._progressed_at + SILENCE_S - now)
        return max(0.0, min(waits))

    def _on_time(self) -> None:
        self._timer = None
        self._look()
