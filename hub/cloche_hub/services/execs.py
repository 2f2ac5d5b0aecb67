"""Commands in sandboxes: recorded, then spliced from the client's channel to the guest's.

What is recorded, and when: see `recorded`. The guest hears at once that nobody waits for a command any more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.requests import ExecRequest
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.services.exec_result import parse_exec_result, parse_exec_start, without_files
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice


class Execs:
    """Runs commands.

    Args:
        sandboxes: where they run.
        recorder: for the audit.
    """

    def __init__(self, sandboxes: Sandboxes, recorder: Recorder) -> None:
        self._sandboxes, self._recorder = sandboxes, recorder

    async def run(self, channel: Channel, request: ExecRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Runs one command on a client's channel, which carries its streams and its result.

        Cancelling it ends the command.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: its start or its end could not be recorded; in the latter case `details` has its result.
            CodedError: the command did not start, or the guest or the client went away.
        """
        exec_id = new_id("ex")
        work = self._recorder.work(
            sandbox.id, actor=actor, about={"exec": exec_id}, failed=AuditName.EXEC_FAILED
        )
        async with self._sandboxes.in_use(sandbox.id) as guest:
            await work.start(AuditName.EXEC_STARTED, request.audit_detail())
            async with work.watched():
                back = await guest.open_work("exec", guest_params(exec_id, request), window=channel.window)
                check_info = partial(parse_exec_start, exec_id=exec_id)
                with without_files():
                    await splice(channel, back, check_info=check_info, before_close=partial(_end, work))


async def _end(work: Recorded, result: dict[str, Any]) -> dict[str, Any]:
    ended = parse_exec_result(result)
    told = {"exit_code": ended.exit_code, "signal": ended.signal, "timed_out": ended.timed_out}
    await work.end(AuditName.EXEC_EXITED, ended.audit_detail(), what="the command has ended", told=told)
    return ended.fields()


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
