"""Who waits for which child process; whom nobody waits for is reaped all the same, as the init process has to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

from cloche_wire.errors import NoSpace

OnExit: TypeAlias = Callable[[int], None]
"""Called with the status as `waitpid` gives it."""
OnError: TypeAlias = Callable[[Exception], None]

MOST_EXECS = 256
"""Commands at once, with a terminal or without."""


class Children:
    """The processes somebody waits for.

    Args:
        most: how many there may be at once; readable.
    """

    def __init__(self, *, most: int = MOST_EXECS) -> None:
        self.most = most
        self._expected: dict[int, tuple[OnExit, OnError]] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def require_room(self) -> None:
        """To be asked before another one is started.

        Raises:
            NoSpace: too many run already.
        """
        if len(self._expected) >= self.most:
            raise NoSpace(f"{self.most} commands run at once in this machine; wait until one has ended")

    def expect(self, pid: int, on_exit: OnExit, on_error: OnError) -> None:
        """Has a child's end told, once.

        Args:
            pid: a child not yet reaped.
            on_exit: told how it ended.
            on_error: told of an error that escaped `on_exit`: the others have to be reaped all the same.
        """
        self._expected[pid] = (on_exit, on_error)

    def reap(self) -> None:
        """Takes note of every process that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            expected = self._expected.pop(pid, None)
            if expected is None:
                continue
            on_exit, on_error = expected
            try:
                on_exit(status)
            except Exception as error:  # the edge of one child's end
                on_error(error)
