"""Work that is done in steps: as many at a time as fit a slice of the loop's time, or as there is credit for.

Steps are a generator: what it yields says what it waits for, and its `finally` is run as the same user.

Rules:
- A slice takes some milliseconds, then everybody else has a turn: a large folder delays no keystroke. Only a single
  call of the kernel may take longer (a slow disk; a file system that the guest itself serves).
- The last thing yielded is the result. A CodedError that a step raises is the channel's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from enum import Enum
from typing import Any, TypeAlias

from cloche_guest.loop import Scope, Timer
from cloche_guest.users import Account, acting_as
from cloche_guest.works import Surroundings
from cloche_wire.errors import CodedError, InternalError

SLICE_S = 0.004


class Wait(Enum):
    """What the next step waits for."""

    TURN = "turn"
    CREDIT = "credit"


Steps: TypeAlias = Generator[Wait | dict[str, Any], None, None]


class Sliced:
    """Steps on a channel; the first are taken by `begin`. Implements works.Work.

    Args:
        around: where it runs.
        channel: its channel.
        account: whom it acts as.
        steps: what it does.
        on_end: called once when it is over, however it ended.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        around: Surroundings,
        channel: int,
        account: Account,
        steps: Steps,
        *,
        on_end: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._around, self._connection, self._channel = around, around.connection, channel
        self._scope = Scope(around.loop, self._failed)
        self._account, self._steps, self._on_end, self._clock = account, steps, on_end, clock
        self._waits_for_credit = self._is_over = False
        self._next: Timer | None = None

    def begin(self) -> None:
        """Takes the first steps; raises what they raise."""
        self._go_on()

    def received(self, stream: int, data: bytes) -> None:
        """Nothing is expected; what comes is dropped."""
        self._connection.consume(self._channel, stream, len(data))

    def ended(self, stream: int) -> None:
        """See `works.Work`."""

    def acknowledged(self, _stream: int) -> None:
        """There is credit."""
        if self._waits_for_credit and not self._is_over:
            self._go_on()

    def kill(self) -> None:
        """Takes no more steps. Idempotent."""
        if self._is_over:
            return
        self._is_over = True
        if self._next is not None:
            self._next.cancel()
        self._around.works.remove(self._channel)
        self._on_end()
        with acting_as(self._account):
            self._steps.close()

    def _go_on(self) -> None:
        self._next, self._waits_for_credit = None, False
        ends_at = self._clock() + SLICE_S
        with acting_as(self._account):
            said = next(self._steps)
            while said is Wait.TURN and self._clock() < ends_at:
                said = next(self._steps)
        if said is Wait.TURN:
            self._next = self._scope.call_later(0, self._go_on)
        elif said is Wait.CREDIT:
            self._waits_for_credit = True
        else:
            assert isinstance(said, dict)
            self._connection.close(self._channel, said)
            self.kill()

    def _failed(self, error: Exception) -> None:
        """A step failed that no event of the channel's had caused."""
        if not isinstance(error, CodedError):
            self._around.report(error, f"files, channel {self._channel}")
            error = InternalError("the agent failed; the boot log says how")
        self._connection.reset(self._channel, error)
        self.kill()
