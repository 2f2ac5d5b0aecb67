"""A process of ours, as its pidfd: ended by it and by nothing else, and waited for.

Rule: whose process it is reaps it. Here it is only watched, so that a number that has gone to somebody else is never
signalled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

# What Linux makes a process's clock of, besides its number: clock_getcpuclockid(3).
_CLOCK_OF_PROCESS = 2


class WatchedProcess:
    """A process that runs, or has ended.

    Args:
        pid: for people to read.
        pidfd: taken over; closed when the process has ended.
    """

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._used_s: float | None = None
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(pidfd, self._on_end)

    @property
    def has_ended(self) -> bool:
        """Whether its end has been seen."""
        return self._ended.done()

    @property
    def cpu_s(self) -> float | None:
        """Processor time it has used, of one that was killed until then; None of one that has ended by itself."""
        if self._used_s is not None or self.has_ended:
            return self._used_s
        try:
            return time.clock_gettime(~self.pid << 3 | _CLOCK_OF_PROCESS)
        except OSError:
            # It has been reaped, and its end not been seen here.
            return None

    def kill(self) -> None:
        """Ends it, without waiting. Idempotent."""
        if not self._ended.done():
            self._used_s = self.cpu_s
            # SAFETY: by pidfd, so it is this very process or none.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def wait(self, *, within_s: float) -> bool:
        """Returns when it has ended, or time is over; whether it has ended. Cancelling loses nothing."""
        if not self._ended.done():
            await asyncio.wait([self._ended], timeout=within_s)
        return self._ended.done()

    def _on_end(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        if not self._ended.done():
            self._ended.set_result(None)
