"""Commands in sandboxes: recorded, then spliced from the client's channel to the guest's.

What the audit records of them, and when: see `recorded`; what they write is recorded where that is asked for, see
`exec_recording`. The guest hears at once that nobody waits for a command any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.console_requests import DEFAULT_COLS, DEFAULT_ROWS, DEFAULT_TERM
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.requests import ExecRequest, cut_argv
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.ports import Guest, Header, RecordingKind
from cloche_hub.services.clock import Clock
from cloche_hub.services.exec_recording import MOST_WINDOW, ExecRecordings, Tape
from cloche_hub.services.exec_result import ExecResult, parse_exec_result, parse_exec_start, without_files
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice
from cloche_wire.frames import Fields

_SHOWN = 80
_End = Callable[[Fields], Awaitable[Fields]]


class Execs:
    """Runs commands.

    Args:
        sandboxes: where they run.
        recorder: for the audit.
        recordings: for what they write, where that is wanted.
        clock: now.
    """

    def __init__(
        self,
        sandboxes: Sandboxes,
        recorder: Recorder,
        recordings: ExecRecordings,
        clock: Clock,
    ) -> None:
        self._sandboxes, self._recorder, self._clock = sandboxes, recorder, clock
        self.recordings = recordings

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
            detail = request.audit_detail()
            if not request.record:
                await work.start(AuditName.EXEC_STARTED, detail)
                async with work.watched():
                    await _pass(channel, guest, request, exec_id, partial(_end, work))
                return
            header = self._header(request, sandbox, exec_id)
            await work.start(AuditName.EXEC_STARTED, {**detail, "recording": header.id})
            async with work.watched():
                await self._record(channel, guest, request, header, work)

    async def _record(
        self, channel: Channel, guest: Guest, request: ExecRequest, header: Header, work: Recorded
    ) -> None:
        window = min(channel.window, MOST_WINDOW)
        secrets = self._sandboxes.secrets(header.sandbox).hidden
        async with self.recordings.recorded(header, secrets=secrets, window=window) as tape:

            async def end(result: dict[str, Any]) -> dict[str, Any]:
                ended = parse_exec_result(result)
                tape.recording.marker(_how(ended))
                # Whoever hears of the end finds the recording whole.
                await self.recordings.finish(tape.recording)
                return await _end(work, result)

            await _pass(channel, guest, request, header.of, end, tape=tape, window=window)

    def _header(self, request: ExecRequest, sandbox: Sandbox, exec_id: str) -> Header:
        return Header(
            id=new_id("rec"),
            kind=RecordingKind.EXEC,
            of=exec_id,
            sandbox=sandbox.id,
            sandbox_name=sandbox.name,
            owner=sandbox.owner,
            title=f"{sandbox.name}: {request.argv[0][:_SHOWN]}",
            rows=DEFAULT_ROWS,
            cols=DEFAULT_COLS,
            term=DEFAULT_TERM,
            command=cut_argv(request.argv),
            started_at=self._clock.now(),
        )


async def _pass(
    channel: Channel,
    guest: Guest,
    request: ExecRequest,
    exec_id: str,
    end: _End,
    *,
    tape: Tape | None = None,
    window: int | None = None,
) -> None:
    """Joins the client's channel with the guest's, to the command's end."""

    def told(info: Fields) -> Fields:
        started = parse_exec_start(info, exec_id=exec_id)
        return started if tape is None else {**started, "recording": tape.recording.id}

    params = guest_params(exec_id, request)
    back = await guest.open_work("exec", params, window=channel.window if window is None else window)
    with without_files():
        await splice(
            channel,
            back,
            check_info=told,
            before_close=end,
            back_tap=tape,
            back_gate=None if tape is None else tape.gate,
        )


async def _end(work: Recorded, result: dict[str, Any]) -> dict[str, Any]:
    ended = parse_exec_result(result)
    told = {"exit_code": ended.exit_code, "signal": ended.signal, "timed_out": ended.timed_out}
    await work.end(AuditName.EXEC_EXITED, ended.audit_detail(), what="the command has ended", told=told)
    return ended.fields()


def _how(ended: ExecResult) -> str:
    """The end as the recording's last marker says it."""
    late = " at its deadline" if ended.timed_out else ""
    how = f"ended by {ended.signal}" if ended.exit_code is None else f"exit code {ended.exit_code}"
    return how + late


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
