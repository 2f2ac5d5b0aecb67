"""Commands in sandboxes: recorded, then spliced from the client's channel to the guest's.

Rules:
- A command's start is durable in the audit before the guest hears of it, its end before the client does.
- The guest hears at once that nobody waits for a command any more. The client is told of a failure when that is
  recorded; where it cannot be recorded now it is told all the same.
- Every start that was recorded has an end that is, whoever goes away and however full the disk.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.requests import ExecRequest
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import Cancelled, CodedError, InternalError, NoSpace
from cloche_hub.ports import Guest, Store
from cloche_hub.services.exec_result import parse_exec_result, parse_exec_start
from cloche_hub.services.records import Records, noting
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice


class Execs:
    """Runs commands.

    Args:
        sandboxes: where they run.
        store, records: for the audit.
    """

    def __init__(self, sandboxes: Sandboxes, store: Store, records: Records) -> None:
        self._sandboxes, self._store, self._records = sandboxes, store, records

    async def run(self, channel: Channel, request: ExecRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Runs one command on a client's channel, which carries its streams and its result.

        Cancelling it ends the command.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: its start or its end could not be recorded; in the latter case `details` has its result.
            CodedError: the command did not start, or the guest or the client went away.
        """
        async with self._sandboxes.in_use(sandbox.id) as guest:
            run = _Run(self._store, self._records, sandbox.id, actor)
            await run.record_start(request)
            try:
                await run.splice(channel, guest, request)
            except asyncio.CancelledError:
                await run.record_failure(Cancelled("the client has gone away"))
                raise
            except Exception as error:
                coded = error if isinstance(error, CodedError) else InternalError("the hub failed")
                await run.record_failure(coded)
                raise


class _Run:
    """One run of one command, and what the audit is told of it."""

    def __init__(self, store: Store, records: Records, sandbox_id: str, actor: str) -> None:
        self._store, self._records = store, records
        self._sandbox_id, self._actor = sandbox_id, actor
        self._exec_id = new_id("ex")
        self._is_over = False

    async def splice(self, channel: Channel, guest: Guest, request: ExecRequest) -> None:
        back = await guest.open_work("exec", guest_params(self._exec_id, request), window=channel.window)
        check_info = partial(parse_exec_start, exec_id=self._exec_id)
        await splice(channel, back, check_info=check_info, before_close=self._record_end)

    async def record_start(self, request: ExecRequest) -> None:
        try:
            await self._store.write(self._noting(AuditName.EXEC_STARTED, request.audit_detail()))
        except asyncio.CancelledError:
            # It may have been recorded all the same.
            await self.record_failure(Cancelled("the client has gone away"))
            raise

    async def record_failure(self, error: CodedError) -> None:
        """Nobody can know how it ended, unless that has been recorded."""
        if not self._is_over:
            self._is_over = True
            detail: dict[str, Json] = {"code": error.code, "reason": error.message[:500]}
            await self._records.keep(self._noting(AuditName.EXEC_FAILED, detail))

    async def _record_end(self, result: dict[str, Any]) -> dict[str, Any]:
        ended = parse_exec_result(result)
        self._is_over = True
        if not await self._records.keep(self._noting(AuditName.EXEC_EXITED, ended.audit_detail())):
            raise NoSpace(
                "the command has ended, but the hub cannot record it now: its disk is full or its database fails",
                exit_code=ended.exit_code,
                signal=ended.signal,
                timed_out=ended.timed_out,
            )
        return ended.fields()

    def _noting(self, event: AuditName, detail: dict[str, Json]) -> Any:
        return noting(
            event, actor=self._actor, sandbox=self._sandbox_id, detail={"exec": self._exec_id, **detail}
        )


def guest_params(exec_id: str, request: ExecRequest) -> dict[str, Any]:
    """The parameters of the `exec` that the guest is asked for."""
    return {
        "exec": exec_id,
        "argv": list(request.argv),
        "env": dict(request.env),
        "cwd": request.cwd,
        "user": request.user,
        "timeout_s": request.timeout_s,
        "stdin": request.stdin,
    }
