"""The life of one console: opened or taken over, kept, and ended. One coroutine leads it.

    recorded ──► asked of the guest ──► started ──► over ──► the rest stored ──► its end recorded ──► told to viewers

Rules:
- A life ends with its program, because somebody wants it closed, or with its sandbox: whatever it is, what came before
  is stored first, then the end is recorded, and then viewers hear of it.
- A life ends for a reason, never with an exception: what goes wrong is this console's end and no other's.
- To close is to hang up: the program may save its work for a moment, then its terminal goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.console import Console, ended
from cloche_hub.domain.ids import new_id
from cloche_hub.errors import Cancelled, CodedError, InternalError, NoSpace, StoreFailed
from cloche_hub.ports import Guest, Header, Recording, RecordingKind, Recordings, ScreenLog, Screens
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles.guest_terminal import GuestTerminal
from cloche_hub.services.consoles.keeper import Keeper
from cloche_hub.services.consoles.live import LiveConsole
from cloche_hub.services.consoles.stored import ReopenStored
from cloche_hub.services.exec_result import (
    Ending,
    parse_console_start,
    parse_taken_offset,
    without_files,
)
from cloche_hub.services.fair import FairTurns
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_term import TerminalError
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from cloche_wire.aio.bounds import within
from cloche_wire.errors import ungrouped
from cloche_wire.frames import Fields

_log = structlog.get_logger(__name__)

WINDOW = 256 << 10
"""Bytes that a console shows ahead of what is stored."""
HANGUP_S = 2.0
"""How long a program may take to end when its console is closed."""
_FED_S = 5.0
"""How long the emulator may take for what the guest has left behind."""
_FINISH_S = 1.0


@dataclass(frozen=True, slots=True)
class Around:
    """What lives are led with."""

    recorder: Recorder
    terminals: Terminals
    screens: Screens
    recordings: Recordings | None
    clock: Clock
    fair: FairTurns


@dataclass(frozen=True, slots=True)
class Start:
    """How a console comes about: what its guest is asked, and the screen it begins with."""

    kind: str
    params: dict[str, Any]
    open_terminal: Callable[[], Awaitable[ApartTerminal]]
    term: str
    record: bool
    opened: Mapping[str, Json] | None
    """What the audit says of its opening; None: that is recorded already."""
    offset: int = 0
    """Bytes of output that screen has seen."""


class Life:
    """One console's life.

    Args:
        around: what it is led with.
        console: as it will be when it has started.
        on_changed: told the console whenever it is another, once it has started.
        on_over: told as soon as `over` is done.
    """

    def __init__(
        self,
        around: Around,
        console: Console,
        *,
        on_changed: Callable[[Console], None],
        on_over: Callable[[Life], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.console_id = console.id
        self.started: asyncio.Future[None] = loop.create_future()
        """Done when its program runs, or with the reason why not."""
        self.over: asyncio.Future[Fields] = loop.create_future()
        """Done when its end is recorded: its result, or why there is none."""
        for future in (self.started, self.over):
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.live: LiveConsole | None = None
        """There from shortly before the start."""
        self._around, self._console = around, console
        self._on_changed, self._on_over = on_changed, on_over
        self._ending: asyncio.Future[str] = loop.create_future()
        self._guest: GuestTerminal | None = None

    @property
    def console(self) -> Console:
        """As it is now."""
        return self._console if self.live is None else self.live.console

    def ask_to_end(self, reason: str) -> None:
        """Wants it closed; the first reason counts."""
        if not self._ending.done():
            self._ending.set_result(reason)

    async def lead(self, guest: Guest, start: Start) -> None:
        """Leads it to its end. Cancelling it hangs up."""
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    await self._lead(guest, start, tasks)
        except asyncio.CancelledError:
            self._tell_end(Cancelled("the hub is going away"))
            raise
        except Exception as error:
            # The edge of a life: a defect here must not take other consoles with it.
            if not isinstance(error, CodedError):
                _log.exception("console_defect", console=self.console_id, sandbox=self._console.sandbox)
            self._tell_end(_coded(error))
        finally:
            if self._guest is not None:
                self._guest.hang_up(Cancelled("the console is over"))
            if self.live is not None:
                self.live.close()

    async def _lead(self, guest: Guest, start: Start, tasks: asyncio.TaskGroup) -> None:
        work = self._around.recorder.work(
            self._console.sandbox,
            actor=self._console.created_by,
            about={"console": self.console_id, "name": self._console.name},
            failed=AuditName.CONSOLE_FAILED,
            called_off=AuditName.CONSOLE_CLOSED,
        )
        if start.opened is not None:
            await work.start(AuditName.CONSOLE_OPENED, start.opened)
        loops: list[asyncio.Task[None]] = []
        told: Ending | CodedError
        try:
            async with work.watched():
                told = await self._live(guest, start, tasks, loops)
                await self._record_end(work, told)
        except CodedError as error:
            told = error
        self._tell_end(told)
        if self.live is not None:
            await self.live.wait_left()
        for loop in loops:
            loop.cancel()

    async def _live(
        self, guest: Guest, start: Start, tasks: asyncio.TaskGroup, loops: list[asyncio.Task[None]]
    ) -> Ending:
        """From the start to the end; what came in between is stored, and viewers still get their screens."""
        keeper = await self._connect(guest, start)
        assert self.live is not None
        assert self._guest is not None
        keeping = tasks.create_task(self._keep(keeper))
        loops.append(tasks.create_task(self.live.run()))
        lost: CodedError | None = None
        try:
            with _without_lies(start):
                await self._wait_started()
                ending = await self._wait_over()
        except CodedError as error:
            lost = error
        await self.live.wait_fed(_FED_S)
        keeper.end()
        await asyncio.wait({keeping})
        # On a full disk it is tried on and on; nobody waits for that.
        finishing = tasks.create_task(keeper.finish_recording())
        with contextlib.suppress(TimeoutError):
            async with within(_FINISH_S):
                await asyncio.wait({finishing})
        if lost is not None:
            raise lost
        self._guest.confirm()
        return ending

    async def _connect(self, guest: Guest, start: Start) -> Keeper:
        """Everything on this side, then the guest's channel, so that its first byte finds it all."""
        try:
            terminal = await start.open_terminal()
        except (TerminalError, TimeoutError) as error:
            _log.error("console_without_terminal", console=self.console_id, reason=str(error))
            raise InternalError("the hub has no terminal for this console; its log has the cause") from error
        self.live = LiveConsole(
            self._console,
            terminal,
            reopen=ReopenStored(self._around.terminals, self._around.screens, self.console_id),
            fair=self._around.fair,
            on_changed=self._changed,
            on_spent=self.ask_to_end,
            offset=start.offset,
        )
        log = await self._around.screens.begin(self.console_id)
        recording: Recording | None = None
        try:
            recording = await self._begin_recording(start) if start.record else None
            return await self._open(guest, start, self.live, log, recording)
        except BaseException:
            await log.close(keep=start.opened is None)
            if recording is not None:
                with contextlib.suppress(NoSpace, StoreFailed):
                    await recording.finish()
            raise

    async def _open(
        self, guest: Guest, start: Start, live: LiveConsole, log: ScreenLog, recording: Recording | None
    ) -> Keeper:
        keeper = Keeper(
            log,
            recording,
            enough=WINDOW // 4,
            snapshot=live.snapshot,
            on_stored=self._stored,
            on_notice=live.notice,
        )
        if recording is not None:
            live.replace(replace(self._console, recording=recording.id))
        channel = await guest.open_work(start.kind, start.params, window=WINDOW)
        # In the same turn of the loop: the channel's events are this console's.
        check = partial(self._check_start, start, live, keeper)
        self._guest = GuestTerminal(channel, check_start=check, on_output=live.output)
        live.connect(self._guest, add=keeper.add, mark=keeper.mark, gap=keeper.gap)
        return keeper

    def _check_start(self, start: Start, live: LiveConsole, keeper: Keeper, info: Fields) -> Fields:
        checked = parse_console_start(info, console_id=self.console_id)
        if start.opened is None and (missing := parse_taken_offset(info, start.offset) - start.offset):
            # Before the first byte behind the gap can come.
            live.lose(missing)
            keeper.lose(missing)
        return checked

    async def _begin_recording(self, start: Start) -> Recording | None:
        if self._around.recordings is None:
            return None
        header = Header(
            id=new_id("rec"),
            kind=RecordingKind.CONSOLE,
            of=self.console_id,
            sandbox=self._console.sandbox,
            sandbox_name=self._console.sandbox_name,
            owner=self._console.owner,
            title=self._console.label,
            rows=self._console.rows,
            cols=self._console.cols,
            term=start.term,
            command=self._console.command,
            started_at=self._console.created_at,
        )
        secrets = self._around.recorder.secrets(self._console.sandbox)
        return await self._around.recordings.begin(header, secrets=secrets.hidden)

    async def _keep(self, keeper: Keeper) -> None:
        try:
            await keeper.keep()
        except (StoreFailed, TerminalError) as error:
            _log.error("console_not_stored", console=self.console_id, reason=str(error))
            self.ask_to_end("what it shows cannot be stored: the hub's disk or database fails")

    def _stored(self, count: int) -> None:
        if self._guest is not None:
            self._guest.consumed(count)

    async def _wait_started(self) -> None:
        assert self._guest is not None
        await _either(self._guest.started, self._ending)
        if not self._guest.started.done():
            self._guest.hang_up(Cancelled(self._ending.result()))
        self._guest.started.result()
        self.started.set_result(None)
        self._changed(self.console)

    async def _wait_over(self) -> Ending:
        assert self._guest is not None
        over = self._guest.over
        await _either(over, self._ending)
        if not over.done():
            self._guest.signal("HUP")
            with contextlib.suppress(TimeoutError):
                async with within(HANGUP_S):
                    await asyncio.wait({over})
        if not over.done():
            self._guest.hang_up(Cancelled(self._ending.result()))
        return over.result()

    async def _record_end(self, work: Recorded, ending: Ending) -> None:
        told = {"exit_code": ending.exit_code, "signal": ending.signal}
        detail = ending.audit_detail()
        if self._ending.done():
            detail["reason"] = self._ending.result()
        await work.end(AuditName.CONSOLE_CLOSED, detail, what="the console has ended", told=told)

    def _changed(self, console: Console) -> None:
        if self.started.done() and self.started.exception() is None:
            self._on_changed(console)

    def _tell_end(self, told: Ending | CodedError) -> None:
        """Its end is known, and recorded where that goes."""
        if self.over.done():
            return
        at = self._around.clock.now()
        if isinstance(told, Ending):
            reason = self._ending.result() if self._ending.done() else None
            over = ended(
                self.console,
                at=at,
                reason=reason,
                exit_code=told.exit_code,
                signal=told.signal,
                duration_s=told.duration_s,
            )
            self.over.set_result(told.fields())
        else:
            mask = self._around.recorder.secrets(self._console.sandbox).mask
            over = ended(self.console, at=at, reason=mask(told.message))
            self.over.set_exception(copy.copy(told))
            if not self.started.done():
                self.started.set_exception(copy.copy(told))
        if self.live is None:
            self._console = over
        else:
            self.live.replace(over)
        self._on_over(self)


def _without_lies(start: Start) -> contextlib.AbstractContextManager[None]:
    """Of a console that is taken over, a guest may say that it is not there."""
    return without_files() if start.opened is not None else contextlib.nullcontext()


async def _either(*ones: asyncio.Future[Any]) -> None:
    await asyncio.wait(ones, return_when=asyncio.FIRST_COMPLETED)


def _coded(error: Exception) -> CodedError:
    return error if isinstance(error, CodedError) else InternalError("the hub failed; its log has the cause")
