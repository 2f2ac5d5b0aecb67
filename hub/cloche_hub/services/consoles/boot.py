"""The boot console of every machine: its serial console, to be watched.

What it says is made plain text and goes the way of every console from there: one emulator, viewers, screens. So whoever
is behind gets a fresh screen, and nothing a guest prints can do anything to those who watch.

Rules:
- Nobody watches, nothing is read, fed or kept here: the machine keeps the newest of it.
- The reading waits for the emulator: a guest that floods its console loses what is too much, and nobody else's time.
- It does not need the agent, and what is left of it can be watched when the machine has failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog

from cloche_hub.domain.console import BOOT_NAME, Console, ConsoleKind, ConsoleState, ended
from cloche_hub.domain.console_requests import DEFAULT_COLS, DEFAULT_ROWS
from cloche_hub.domain.plain_text import PlainText
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import Cancelled, CodedError, InternalError, NotFound
from cloche_hub.ports import Size
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles.emulator import Reopened
from cloche_hub.services.consoles.live import LiveConsole
from cloche_hub.services.consoles.messages import PIECE
from cloche_hub.services.consoles.stored import reopen_blank
from cloche_hub.services.fair import FairTurns
from cloche_hub.services.held import HUB
from cloche_hub.services.sandboxes import Sandboxes
from cloche_term import TerminalError
from cloche_term.apart.terminals import Terminals
from cloche_wire.errors import ungrouped

_log = structlog.get_logger(__name__)


class BootWatch:
    """A boot console that somebody watches; from `BootConsoles.watched`.

    Attributes:
        live: the console, its screen and its viewers.
        over: done when its machine has ended, with what viewers are told of that.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[LiveConsole] = loop.create_future()
        self.over: asyncio.Future[dict[str, Any]] = loop.create_future()
        for future in (self.ready, self.over):
            # Those who waited may be gone.
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.watchers = 0
        self.task: asyncio.Task[None] | None = None

    def fail(self, error: CodedError) -> None:
        """There is nothing more to watch. Idempotent; the first reason counts."""
        for future in (self.ready, self.over):
            if not future.done():
                future.set_exception(error)

    @property
    def live(self) -> LiveConsole:
        """The console."""
        return self.ready.result()


class BootConsoles:
    """The boot consoles of all sandboxes. Use it inside `running`.

    Args:
        sandboxes: whose machines they are of.
        terminals: opens their terminals.
        fair: turns at the emulators, shared with other consoles.
        on_changed: told a console whenever it is another; must not wait.
        clock: now.
    """

    def __init__(
        self,
        sandboxes: Sandboxes,
        terminals: Terminals,
        *,
        fair: FairTurns,
        on_changed: Callable[[Console], None],
        clock: Clock,
    ) -> None:
        self._sandboxes, self._terminals = sandboxes, terminals
        self._fair, self._on_changed, self._clock = fair, on_changed, clock
        self._watches: dict[str, BootWatch] = {}
        self._told: dict[str, ConsoleState] = {}
        self._tasks = asyncio.TaskGroup()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves; on leaving, nobody watches any more."""
        async with self._tasks:
            try:
                yield
            finally:
                for watch in self._watches.values():
                    if watch.task is not None:
                        watch.task.cancel()

    def list(self) -> list[Console]:
        """The boot consoles of all sandboxes."""
        return [self._console(sandbox, is_open=is_open) for sandbox, is_open in self._sandboxes.booted()]

    def hear(self, sandbox: Sandbox) -> None:
        """A sandbox has changed: its boot console may have begun or ended."""
        state = _state_of(sandbox)
        if state is None or self._told.get(sandbox.id) == state:
            return
        self._told[sandbox.id] = state
        if not sandbox.live:
            del self._told[sandbox.id]
        self._on_changed(self._console(sandbox, is_open=state is ConsoleState.OPEN))

    @contextlib.asynccontextmanager
    async def watched(self, sandbox_id: str) -> AsyncIterator[BootWatch]:
        """A boot console with what it has shown so far, for as long as somebody watches.

        Raises:
            NotFound: the sandbox is gone.
            WrongState: it has no machine yet.
        """
        watch = self._watches.get(sandbox_id)
        if watch is None:
            sandbox, is_open = self._sandboxes.booted_one(sandbox_id)
            watch = self._watches[sandbox_id] = BootWatch()
            console = boot_console(sandbox, is_open=is_open)
            watch.task = self._tasks.create_task(self._watch(watch, console))
        watch.watchers += 1
        try:
            await asyncio.shield(watch.ready)
            yield watch
        finally:
            watch.watchers -= 1
            if not watch.watchers and self._watches.get(sandbox_id) is watch:
                del self._watches[sandbox_id]
                assert watch.task is not None
                watch.task.cancel()

    def _console(self, sandbox: Sandbox, *, is_open: bool) -> Console:
        watch = self._watches.get(sandbox.id)
        if watch is not None and watch.ready.done() and not watch.ready.exception():
            return watch.live.console
        return boot_console(sandbox, is_open=is_open)

    async def _watch(self, watch: BootWatch, console: Console) -> None:
        try:
            live = LiveConsole(
                console,
                await self._terminals.open(console.rows, console.cols),
                reopen=self._reopen,
                fair=self._fair,
                on_changed=self._on_changed,
                on_spent=lambda reason: watch.fail(Cancelled(reason)),
            )
            try:
                with ungrouped():
                    async with asyncio.TaskGroup() as tasks:
                        tasks.create_task(live.run())
                        await self._follow(watch, live)
            finally:
                live.close()
        except NotFound as error:
            # The sandbox was removed while the terminal was opened.
            watch.fail(error)
        except TerminalError as error:
            _log.error("console_without_terminal", console=console.id, reason=str(error))
            watch.fail(InternalError("the hub has no terminal for this console; its log has the cause"))
        except Exception:
            # The edge of a task: a defect here is this console's end and no other's.
            _log.exception("boot_console_defect", sandbox=console.sandbox)
            watch.fail(InternalError("the hub failed; its log has the cause"))

    async def _reopen(self, size: Size, *, is_blank: bool) -> Reopened:
        """Nothing of it is stored. See `emulator.Reopen`."""
        del is_blank
        return await reopen_blank(self._terminals, size)

    async def _follow(self, watch: BootWatch, live: LiveConsole) -> None:
        """Shows what the machine prints until it has ended; then stands still until nobody watches."""
        text = PlainText()
        outputs = self._sandboxes.follow_boot_log(live.console.sandbox)
        async with contextlib.aclosing(outputs):
            async for output in outputs:
                shown = text.feed_gap() if output.is_cut else ""
                shown += text.feed(output.data)
                await _show(live, shown.encode())
                if not watch.ready.done():
                    watch.ready.set_result(live)
        if watch.over.done():
            return
        live.replace(ended(live.console, at=self._clock.now()))
        duration_s = (self._clock.now() - live.console.created_at).total_seconds()
        watch.over.set_result({"duration_s": max(0.0, duration_s)})


def _state_of(sandbox: Sandbox) -> ConsoleState | None:
    if sandbox.state is State.RUNNING:
        return ConsoleState.OPEN
    return ConsoleState.ENDED if sandbox.state in (State.FAILED, State.REMOVED) else None


async def _show(live: LiveConsole, data: bytes) -> None:
    for start in range(0, len(data), PIECE):
        live.output(data[start : start + PIECE])
    await live.wait_fed()


def boot_console(sandbox: Sandbox, *, is_open: bool) -> Console:
    """The boot console of a sandbox that nobody watches."""
    return Console(
        # A sandbox has one, so it needs no name of its own.
        id=f"con_{sandbox.id.removeprefix('sb_')}",
        sandbox=sandbox.id,
        sandbox_name=sandbox.name,
        owner=sandbox.owner,
        labels=sandbox.labels,
        name=BOOT_NAME,
        kind=ConsoleKind.BOOT,
        command=None,
        user=None,
        rows=DEFAULT_ROWS,
        cols=DEFAULT_COLS,
        created_at=sandbox.created_at,
        created_by=HUB,
        created_by_name=HUB,
        state=ConsoleState.OPEN if is_open else ConsoleState.ENDED,
        ended_at=None if is_open else sandbox.ended_at,
        end_reason=None if is_open else sandbox.end_reason,
    )
