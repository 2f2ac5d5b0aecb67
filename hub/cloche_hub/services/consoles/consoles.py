"""The consoles of this hub: terminals in sandboxes that outlive those who look at them.

One console's life is led in `life`; who looks at it comes in by `attachments`. What is recorded, and when:
see `recorded`; never what is typed or shown.

Rules:
- A console can be seen when its program has started, and until its sandbox is removed: of the ended ones the newest.
- A console alone does not keep its sandbox from expiring.
- A client that goes away while a console is opened for it leaves none behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from cloche_hub.domain.console import (
    MAX_OPEN,
    Console,
    ConsoleKind,
    free_name,
    resolve_console,
)
from cloche_hub.domain.console_requests import DEFAULT_TERM, AttachRequest, ConsoleRequest
from cloche_hub.domain.events import Topic
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import Conflict, TooLarge, WrongState
from cloche_hub.ports import Guest, Recordings, Screens, Size, StoredScreen
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles.attachments import Attachments
from cloche_hub.services.consoles.boot import BootConsoles
from cloche_hub.services.consoles.ended import EndedConsoles
from cloche_hub.services.consoles.life import Around, Life, Start
from cloche_hub.services.consoles.live import LiveConsole
from cloche_hub.services.consoles.stored import load_look, load_screen, restored
from cloche_hub.services.fair import FairTurns
from cloche_hub.services.held import HUB
from cloche_hub.services.recorded import Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_term import TerminalError
from cloche_term.apart.frames import Look
from cloche_term.apart.terminals import Terminals
from cloche_wire.aio import Channel

_log = structlog.get_logger(__name__)

_LAST_S = 10.0


class Consoles:
    """The consoles of this hub. Use it inside `running`.

    Args:
        sandboxes: where they run.
        recorder: for the audit.
        terminals: opens their terminals.
        screens: where what they show is stored.
        recordings: where it is recorded; None: nowhere.
        changes: hears of every console that changes.
        clock: now.
    """

    def __init__(
        self,
        sandboxes: Sandboxes,
        recorder: Recorder,
        terminals: Terminals,
        screens: Screens,
        recordings: Recordings | None,
        changes: Changes,
        clock: Clock,
    ) -> None:
        self._sandboxes, self._recorder = sandboxes, recorder
        self._terminals, self._screens = terminals, screens
        self._changes, self._clock = changes, clock
        fair = FairTurns()
        self._around = Around(recorder, terminals, screens, recordings, clock, fair)
        self.boot = BootConsoles(sandboxes, terminals, fair=fair, on_changed=self._publish, clock=clock)
        """What machines say themselves."""
        self._attachments = Attachments(recorder, clock)
        self._lives: dict[str, Life] = {}
        self._ended = EndedConsoles(screens, self._is_there)
        self._tasks = asyncio.TaskGroup()
        self._leading: dict[asyncio.Task[None], str] = {}
        """The sandbox of each."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves; on leaving, waits for the lives, which end with their sandboxes."""
        async with self.boot.running(), self._tasks:
            following = self._tasks.create_task(self._follow_for_ever())
            try:
                yield
            finally:
                # Waited for here and not by the group: after an error it would cancel them.
                if self._leading:
                    await asyncio.wait(self._leading, timeout=_LAST_S)
                for task in (*self._leading, following):
                    task.cancel()
                await self._ended.forget_removed()

    async def forget_left(self) -> None:
        """Deletes the screens that an earlier hub has left. Before `running`."""
        await self._ended.forget_left()

    # What clients ask for.

    async def create(self, request: ConsoleRequest, sandbox: Sandbox, *, token: Token) -> Console:
        """Opens a console and returns when its program runs.

        Cancelling it closes the console.

        Raises:
            WrongState: the sandbox is not running.
            TooLarge: it has as many open consoles as it may.
            Conflict: it has an open one of that name.
            NoSpace: its start cannot be recorded, or what it shows cannot be stored.
            CodedError: its program did not start, or the guest does not answer.
        """
        async with self._sandboxes.in_use(sandbox.id) as guest:
            console = self._console(request, sandbox, token)
            start = Start(
                kind="pty",
                params=guest_params(console.id, request),
                open_terminal=partial(self._terminals.open, request.rows, request.cols),
                term=request.env["TERM"],
                record=request.record,
                opened=request.audit_detail(),
            )
            return await self._begin(console, guest, start)

    async def take_over(self, console: Console, guest: Guest) -> Console:
        """Goes on with a console that another hub has led, from its stored screen and what the guest has kept.

        Nobody is there at first. What neither has is lost, and told to whoever attaches.

        Args:
            console: as the other hub had it.
            guest: its agent.

        Raises:
            NotFound: the guest has no such console.
            CodedError: as `create`.
        """
        stored = await self._screens.load(console.id) or StoredScreen(0, None, ())
        start = Start(
            kind="pty.take",
            params={"console": console.id, "received": stored.end},
            open_terminal=partial(restored, self._terminals, stored, Size(console.rows, console.cols)),
            term=DEFAULT_TERM,
            record=console.recording is not None,
            opened=None,
            offset=stored.end,
        )
        return await self._begin(_alone(console), guest, start)

    def abandon(self, console_id: str) -> None:
        """Closes a console that its maker has never heard of. Waits for nothing."""
        if life := self._lives.get(console_id):
            life.ask_to_end("its maker was gone before it was opened")

    def find(self, sandbox_id: str, reference: str | None) -> Console:
        """The console of a sandbox that is meant; without a reference the newest open one.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        return resolve_console(reference, self._of(sandbox_id))

    def list(
        self, *, owner: str | None, sandbox_id: str | None = None, ended: bool = False
    ) -> Sequence[Console]:
        """Consoles, newest first.

        Args:
            owner: whose sandboxes' only; None: everybody's.
            sandbox_id: of this sandbox only.
            ended: those that have ended, too.
        """
        found = [
            *(life.console for life in self._lives.values() if _is_seen(life)),
            *(console for console in self._ended if ended),
            *(console for console in self.boot.list() if ended or console.is_open),
        ]
        found = [
            console
            for console in found
            if owner in (None, console.owner) and sandbox_id in (None, console.sandbox)
        ]
        return sorted(found, key=lambda console: console.created_at, reverse=True)

    async def close(self, console: Console, *, actor: str) -> Console:
        """Hangs a console up and returns when it has ended. Closing an ended one changes nothing.

        Cancelling does not stop the end.

        Raises:
            WrongState: it is no program's console.
        """
        if console.kind is not ConsoleKind.PTY:
            raise WrongState(f"{console.label} shows the machine's own messages and cannot be closed")
        life = self._lives.get(console.id)
        if life is None:
            return console
        life.ask_to_end(f"closed by {actor}")
        await asyncio.wait({life.over})
        return life.console

    async def attach(
        self, channel: Channel, console: Console, request: AttachRequest, *, token: Token
    ) -> None:
        """Serves a viewer on its channel, until it leaves or the console has ended; of an ended one shows the last.

        Raises:
            CodedError: as `Attachments.attach`.
        """
        await self._attachments.wait_turn(channel, token)
        # It may have ended since.
        console = self.find(console.sandbox, console.id)
        if console.kind is ConsoleKind.BOOT:
            with self._sandboxes.kept(console.sandbox):
                async with self.boot.watched(console.sandbox) as watch:
                    await self._attachments.attach(channel, watch.live, watch.over, request, token=token)
            return
        life = self._lives.get(console.id)
        if life is None or life.live is None:
            async with self._attachments.replays.turn(token.id):
                last = await load_screen(
                    self._terminals, self._screens, console, scrollback=request.scrollback
                )
                await self._attachments.show_ended(channel, console, last, token=token)
            return
        async with self._sandboxes.in_use(console.sandbox):
            await self._attachments.attach(channel, life.live, life.over, request, token=token)

    # For other services.

    def live(self, console_id: str) -> LiveConsole | None:
        """An open console; None if it has ended, or never was."""
        life = self._lives.get(console_id)
        return None if life is None or not _is_seen(life) else life.live

    async def last_look(self, console: Console) -> Look | None:
        """What an ended console showed last, as text; None if that could not be kept."""
        return await load_look(self._terminals, self._screens, console)

    async def forget(self, sandbox_id: str) -> None:
        """Waits until nothing of what the consoles of a removed sandbox have shown is stored any more."""
        if leading := [task for task, of in self._leading.items() if of == sandbox_id]:
            await asyncio.wait(leading, timeout=_LAST_S)
        await self._ended.forget(sandbox_id)

    def mark(self, sandbox_id: str, text: str) -> None:
        """Puts a marker into the recordings of a sandbox's consoles; never waits."""
        for life in self._lives.values():
            if life.live is not None and life.console.sandbox == sandbox_id:
                life.live.mark(text)

    # Lives.

    def _console(self, request: ConsoleRequest, sandbox: Sandbox, token: Token) -> Console:
        names = {life.console.name for life in self._lives.values() if life.console.sandbox == sandbox.id}
        if len(names) >= MAX_OPEN:
            raise TooLarge(f"{sandbox.label} has {MAX_OPEN} open consoles, the most there may be; close some")
        if request.name in names:
            raise Conflict(f"{sandbox.label} has an open console {request.name!r}; attach to it")
        return Console(
            id=new_id("con"),
            sandbox=sandbox.id,
            sandbox_name=sandbox.name,
            owner=sandbox.owner,
            labels=sandbox.labels,
            name=request.name or free_name(names),
            kind=ConsoleKind.PTY,
            command=request.argv,
            user=request.user,
            rows=request.rows,
            cols=request.cols,
            created_at=self._clock.now(),
            created_by=token.id,
            created_by_name=token.name,
        )

    async def _begin(self, console: Console, guest: Guest, start: Start) -> Console:
        life = Life(self._around, console, on_changed=self._publish, on_over=self._retire)
        self._lives[console.id] = life
        leading = self._tasks.create_task(self._lead(life, guest, start))
        self._leading[leading] = console.sandbox
        leading.add_done_callback(self._leading.pop)
        try:
            await asyncio.shield(life.started)
        except asyncio.CancelledError:
            life.ask_to_end("its maker gave up while it was being opened")
            raise
        return life.console

    async def _lead(self, life: Life, guest: Guest, start: Start) -> None:
        await life.lead(guest, start)
        await self._ended.settle(life.console)

    def _retire(self, life: Life) -> None:
        """It has ended: from now on it is only shown, if it was ever there."""
        del self._lives[life.console_id]
        if life.started.exception() is None:
            self._ended.keep(life.console)

    def _publish(self, console: Console) -> None:
        self._changes.publish(Topic.CONSOLE, console.id, console)

    def _of(self, sandbox_id: str) -> Iterator[Console]:
        return (console for console in self.list(owner=None, ended=True) if console.sandbox == sandbox_id)

    # What goes.

    async def _follow_for_ever(self) -> None:
        """Forgets the consoles of sandboxes that are removed."""
        while True:
            with (
                contextlib.suppress(TooLarge),
                self._changes.subscribed(of=HUB, concerns=_is_of_concern) as news,
            ):
                # Whoever was too far behind to be told of each compares, and is told what goes meanwhile.
                await self._ended.forget_removed()
                while True:
                    value = (await news.next()).value
                    if isinstance(value, Sandbox):
                        self._start_terminals()
                        self.boot.hear(value)
                        if not value.live:
                            await self._ended.forget(value.id)

    def _start_terminals(self) -> None:
        """A sandbox will have consoles: the first finds what terminals come from ready."""
        try:
            self._terminals.start()
        except TerminalError as error:
            # Whoever opens one tries again, and is told.
            _log.warning("terminals_not_started", reason=str(error))

    def _is_there(self, sandbox_id: str) -> bool:
        return any(sandbox.id == sandbox_id for sandbox in self._sandboxes.live(owner=None))


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


def _alone(console: Console) -> Console:
    return replace(console, viewers=(), driver=None)


def _is_seen(life: Life) -> bool:
    return life.started.done() and life.started.exception() is None


def _is_of_concern(value: object) -> bool:
    return isinstance(value, Sandbox)
