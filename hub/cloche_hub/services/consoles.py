"""Consoles in sandboxes: terminals, recorded, then spliced from the client's channel to the guest's.

What is recorded, and when: see `recorded`; never what is typed or shown. Whoever opened a console is the only one
there: when that client goes, the guest hangs the terminal up, and the console counts as closed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.console_requests import ConsoleRequest
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.services.exec_result import parse_console_start, parse_ending, without_files
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice


class Consoles:
    """Opens consoles.

    Args:
        sandboxes: where they run.
        recorder: for the audit.
    """

    def __init__(self, sandboxes: Sandboxes, recorder: Recorder) -> None:
        self._sandboxes, self._recorder = sandboxes, recorder

    async def open(self, channel: Channel, request: ConsoleRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Opens one console on a client's channel, which carries its streams and its result.

        Cancelling it hangs the terminal up.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: its start or its end could not be recorded; in the latter case `details` has its result.
            CodedError: its program did not start, or the guest or the client went away.
        """
        console_id = new_id("con")
        work = self._recorder.work(
            sandbox.id,
            actor=actor,
            about={"console": console_id},
            failed=AuditName.CONSOLE_FAILED,
            called_off=AuditName.CONSOLE_CLOSED,
        )
        async with self._sandboxes.in_use(sandbox.id) as guest:
            await work.start(AuditName.CONSOLE_OPENED, request.audit_detail())
            async with work.watched():
                back = await guest.open_work("pty", guest_params(console_id, request), window=channel.window)
                check_info = partial(parse_console_start, console_id=console_id)
                with without_files():
                    await splice(channel, back, check_info=check_info, before_close=partial(_end, work))


async def _end(work: Recorded, result: dict[str, Any]) -> dict[str, Any]:
    ended = parse_ending(result)
    told = {"exit_code": ended.exit_code, "signal": ended.signal}
    await work.end(AuditName.CONSOLE_CLOSED, ended.audit_detail(), what="the console has ended", told=told)
    return ended.fields()


def guest_params(console_id: str, request: ConsoleRequest) -> dict[str, Any]:
    """The parameters of the `pty` that the guest is asked for."""
    return {
        "console": console_id,
        "argv": None if request.argv is None else list(request.argv),
        "env": dict(request.env),
        "cwd": request.cwd,
        "user": request.user,
        "rows": request.rows,
        "cols": request.cols,
    }
