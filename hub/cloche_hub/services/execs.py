"""Commands in sandboxes: recorded, then spliced from the client's channel to the guest's.

Rule: a command's start is durable in the audit before the guest hears of it, and its end before the client does.
"""

from __future__ import annotations

from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.requests import ExecRequest
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import CodedError
from cloche_hub.ports import Guest, Store
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice


class Execs:
    """Runs commands.

    Args:
        sandboxes: where they run.
        store: for the audit.
    """

    def __init__(self, sandboxes: Sandboxes, store: Store) -> None:
        self._sandboxes, self._store = sandboxes, store

    async def run(self, channel: Channel, request: ExecRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Runs one command on a client's channel, which carries its streams and its result.

        Raises:
            WrongState: the sandbox is not running.
            CodedError: the command did not start, or the guest or the client went away.
        """
        exec_id = new_id("ex")
        async with self._sandboxes.in_use(sandbox.id) as guest:
            await self._note(
                AuditName.EXEC_STARTED, actor, sandbox, {"exec": exec_id, **request.audit_detail()}
            )
            try:
                await self._splice(channel, guest, request, sandbox, exec_id, actor)
            except CodedError as error:
                detail: dict[str, Json] = {"exec": exec_id, "code": error.code, "reason": error.message[:500]}
                await self._note(AuditName.EXEC_FAILED, actor, sandbox, detail)
                raise

    async def _splice(
        self, channel: Channel, guest: Guest, request: ExecRequest, sandbox: Sandbox, exec_id: str, actor: str
    ) -> None:
        async def before_close(result: dict[str, Any]) -> None:
            await self._note(AuditName.EXEC_EXITED, actor, sandbox, {"exec": exec_id, **_ending(result)})

        back = await guest.open_exec(_guest_params(exec_id, request), window=channel.window)
        await splice(channel, back, before_close=before_close)

    async def _note(self, event: AuditName, actor: str, sandbox: Sandbox, detail: dict[str, Json]) -> None:
        await self._store.write(
            lambda transaction: transaction.append_audit(
                event, actor=actor, sandbox=sandbox.id, detail=detail
            )
        )


def _guest_params(exec_id: str, request: ExecRequest) -> dict[str, Any]:
    return {
        "exec": exec_id,
        "argv": list(request.argv),
        "env": dict(request.env),
        "cwd": request.cwd,
        "user": request.user,
        "timeout_s": request.timeout_s,
        "stdin": request.stdin,
    }


def _ending(result: dict[str, Any]) -> dict[str, Json]:
    """What the audit says of a result. It comes from the guest: only what has the right type is taken."""
    ending: dict[str, Json] = {}
    if isinstance(code := result.get("exit_code"), int):
        ending["exit_code"] = code
    if isinstance(signal := result.get("signal"), str):
        ending["signal"] = signal[:20]
    if result.get("timed_out") is True:
        ending["timed_out"] = True
    if isinstance(duration_s := result.get("duration_s"), float) and 0 <= duration_s < 1e9:
        ending["duration_ms"] = round(duration_s * 1000)
    return ending
