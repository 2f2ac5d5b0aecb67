"""The command that is run for each approval that begins to wait, so that somebody comes to see it.

Rules:
- It gets the approval as one line of JSON on its standard input, and nothing of it in its arguments.
- It holds up nobody: a few run at once, the others queue, and what finds the queue full is left out, with a line in
  the log. One that takes too long is killed, with what it has started.
- Its failure changes nothing about the approval.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import structlog

from cloche_hub.commands import running_command
from cloche_hub.domain.approval import Approval
from cloche_hub.domain.approval_fields import approval_json
from cloche_wire.aio.bounds import within

_log = structlog.get_logger(__name__)

AT_ONCE = 4
"""Commands that run at once."""
MOST_QUEUED = 256
"""Approvals that wait for their command."""
RUN_S = 30.0
"""How long one may run."""


class WaitingCommand:
    """Runs the command. Use it inside `running`.

    Args:
        command: the words of the command; none: there is none.
        run_s: how long it may run.
        most_queued: approvals that wait for it.
    """

    def __init__(
        self, command: Sequence[str], *, run_s: float = RUN_S, most_queued: int = MOST_QUEUED
    ) -> None:
        self._command, self._run_s = tuple(command), run_s
        self._queue: asyncio.Queue[Approval] = asyncio.Queue(most_queued)

    def tell(self, approval: Approval) -> None:
        """Has the command run for an approval. Waits for nothing and raises nothing."""
        if not self._command:
            return
        try:
            self._queue.put_nowait(approval)
        except asyncio.QueueFull:
            _log.warning("on_waiting_left_out", approval=approval.id, queued=self._queue.qsize())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs commands until the context is left; those that run then are killed."""
        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(self._work()) for _ in range(AT_ONCE if self._command else 0)]
            try:
                yield
            finally:
                for worker in workers:
                    worker.cancel()

    async def _work(self) -> None:
        while True:
            approval = await self._queue.get()
            try:
                await self._run(approval)
            except Exception as error:
                # The edge of a command: whatever is wrong with it, the next one is tried.
                _log.warning("on_waiting_failed", approval=approval.id, reason=str(error))

    async def _run(self, approval: Approval) -> None:
        line = approval_json(approval).encode() + b"\n"
        # SAFETY: the command is the host owner's, from the hub's settings. What a guest has a say in (method, parameters,
        # caller) goes to its standard input only: no shell and no argument ever sees it.
        async with running_command(self._command, stdin=line) as process:
            try:
                async with within(self._run_s):
                    await process.wait()
            except TimeoutError:
                _log.warning("on_waiting_killed", approval=approval.id, after_s=self._run_s)
            else:
                if process.returncode != 0:
                    _log.warning("on_waiting_failed", approval=approval.id, exit_code=process.returncode)
