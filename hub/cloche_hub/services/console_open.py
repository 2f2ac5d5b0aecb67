"""The request `console.open`: a console that belongs to whoever opened it, spliced from that client to the guest.

When that client goes, the guest hangs the terminal up, and the console counts as closed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.console_requests import ConsoleRequest
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.services.exec_result import parse_console_start, parse_ending, without_files
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice


async def open_console(
    channel: Channel,
    request: ConsoleRequest,
    params: dict[str, Any],
    sandbox: Sandbox,
    *,
    sandboxes: Sandboxes,
    recorder: Recorder,
    actor: str,
) -> None:
    """Opens one console on a client's channel, which carries its streams and its result.

    Whoever opened it is the only one there. Cancelling it hangs the terminal up.

    Args:
        channel: the client's, offered.
        request: what it asks for.
        params: what the guest is asked for.
        sandbox: where.
        sandboxes, recorder: where it runs, and for the audit.
        actor: who asks.

    Raises:
        WrongState: the sandbox is not running.
        NoSpace: its start or its end could not be recorded; in the latter case `details` has its result.
        CodedError: its program did not start, or the guest or the client went away.
    """
    work = recorder.work(
        sandbox.id,
        actor=actor,
        about={"console": params["console"]},
        failed=AuditName.CONSOLE_FAILED,
        called_off=AuditName.CONSOLE_CLOSED,
    )
    async with sandboxes.in_use(sandbox.id) as guest:
        await work.start(AuditName.CONSOLE_OPENED, request.audit_detail())
        async with work.watched():
            back = await guest.open_work("pty", params, window=channel.window)
            check_info = partial(parse_console_start, console_id=params["console"])
            with without_files():
                await splice(channel, back, check_info=check_info, before_close=partial(_end, work))


async def _end(work: Recorded, result: dict[str, Any]) -> dict[str, Any]:
    ended = parse_ending(result)
    told = {"exit_code": ended.exit_code, "signal": ended.signal}
    await work.end(AuditName.CONSOLE_CLOSED, ended.audit_detail(), what="the console has ended", told=told)
    return ended.fields()
