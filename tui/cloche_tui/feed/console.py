"""One console in the dashboard: attached to, shown, driven, and attached to again when the hub was away.

    run:  attach ──► show and type ──┬─ its end ──────────────► ended
            ▲                        ├─ the wheel is let go ──► attach again, to watch
            └── wait for the hub ◄───┴─ the hub is away

Rules:
- `run` raises nothing: what goes wrong is a phase with a reason.
- Nothing that a person does waits: it is taken, or refused with a line, and carried out in order by `run`.
- What is typed while the hub is away goes nowhere, and is not kept for later. Neither is it after the wheel is gone.
- After the hub was away we drive again if we did before, and nobody else does now.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from cloche.console_events import Asked, Notice, Output, Viewers
from cloche.console_messages import ConsoleInfo, Viewer
from cloche.errors import CodedError, HubNotRunning, LinkLost, LinkSilent, ShuttingDown
from cloche_tui.feed.console_fate import why_gone
from cloche_tui.feed.console_outgoing import Outgoing, Request
from cloche_tui.feed.console_screen import ConsoleScreen, TerminalGivenUp
from cloche_tui.model.console_status import ConsoleStatus, Phase, Size, how_it_ended, told
from cloche_tui.model.wheel import Seen, Wheel, viewer_of, why_not
from cloche_wire.aio.bounds import within
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche.aio import Console, Hub
    from cloche_term.apart.terminals import ApartTerminal, Terminals

SCROLLBACK = 2000
"""Lines above the screen that are asked for."""
_COMING_S, _LOOK_S = 3.0, 0.2
"""How long the wheel is waited for, and until the hub is looked for again."""
_AWAY = (LinkLost, LinkSilent, HubNotRunning, ShuttingDown)


class HubSource(Protocol):
    """Where the connection comes from: the session."""

    @property
    def hub(self) -> Hub:
        """The connection there is.

        Raises:
            CodedError: there is none.
        """

    @property
    def is_up(self) -> bool:
        """Whether the hub answers."""


class ConsoleLink:
    """One console, to a person.

    Args:
        source: of the connection.
        terminals: where emulators come from.
        sandbox: the id of the one it is in.
        console: its id; None: a new shell is opened, and driven.
        size: of the window it is shown in.
        on_touch: called when anything about it may be another; must not wait.
        on_said: told a line for the person; must not wait.
        can_drive: whether anything may be changed from here.
    """

    def __init__(
        self,
        source: HubSource,
        terminals: Terminals,
        sandbox: str,
        console: str | None,
        *,
        size: Size,
        on_touch: Callable[[], None],
        on_said: Callable[[str], None],
        can_drive: bool = True,
    ) -> None:
        self._source, self._sandbox, self._id = source, sandbox, console
        self._on_touch, self._on_said, self._can_drive = on_touch, on_said, can_drive
        self._size = self._told_size = size.bounded()
        self._screen = ConsoleScreen(terminals, on_touch=on_touch, refresh=self._refresh)
        self._phase = Phase.ATTACHING if console is not None else Phase.OPENING
        self._reason = ""
        self._console: Console | None = None
        self._info: ConsoleInfo | None = None
        self._self: Viewer | None = None
        """Who we are among its viewers, or were when we were attached last."""
        self._before: Viewer | None = None  # who we were at the attachment before this one
        self._wheel = Wheel(is_wanted=console is None)
        self._is_to_be_left = asyncio.Event()
        self._outgoing, self._has_link_news = Outgoing(), asyncio.Event()
        self._coming_until: asyncio.TimerHandle | None = None

    # How it is.

    @property
    def id(self) -> str | None:
        """The console's id; None as long as it is not there."""
        return self._id

    @property
    def terminal(self) -> ApartTerminal | None:
        """What is to be painted; None: nothing yet."""
        return self._screen.terminal

    @property
    def screen(self) -> ConsoleScreen:
        """For who paints it."""
        return self._screen

    @property
    def phase(self) -> Phase:
        """How far it is."""
        if self._phase is Phase.LIVE and not self._source.is_up:
            return Phase.AWAY
        return self._phase

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self._phase in (Phase.ENDED, Phase.FAILED)

    @property
    def is_driving(self) -> bool:
        """Whether what is typed reaches the program, as far as is known."""
        return self._console is not None and self._console.is_driving and self._wheel.is_wanted

    @property
    def status(self) -> ConsoleStatus:
        """All of it, to be shown."""
        asking = self._wheel.asking
        return ConsoleStatus(
            phase=self.phase,
            info=self._info,
            viewer=None if self._self is None else self._self.id,
            is_driving=self.is_driving,
            has_keys=self._wheel.is_wanted and not self.is_over,
            asking=None if asking is None else asking.name,
            reason=self._reason,
            can_drive=self._can_drive,
        )

    # What a person does.

    def type(self, data: bytes) -> None:
        """Sends what was typed, or says why it goes nowhere."""
        if self.phase is Phase.AWAY:
            self._on_said("not connected: what you type goes nowhere")
        elif not self.status.has_keys:
            self._on_said("you only watch: what you type goes nowhere")
        elif not self._outgoing.type(data):
            self._on_said("what you type goes nowhere: the program does not read it")

    def resize(self, size: Size) -> None:
        """The window has another size; while we drive it is the console's."""
        if (size := size.bounded()) == self._size:
            return
        self._size = size
        self._request(lambda console: console.resize(size.rows, size.cols))

    def drive(self) -> None:
        """Drives if nobody does; if somebody does it says who."""
        self._want_wheel(lambda console: console.ask(), over_others=False)

    def take(self) -> None:
        """Drives from now on, whoever did."""
        self._want_wheel(lambda console: console.take(), over_others=True)

    def ask(self) -> None:
        """Asks whoever drives to let us."""
        if self._refuses(over_others=True):
            return
        if (driver := self.status.driver) is not None:
            self._request(lambda console: console.ask())
        self._on_said("nobody else drives" if driver is None else f"asked {driver} to let you drive")

    def give(self) -> None:
        """Lets who has asked drive."""
        asking, driver = self._wheel.asking, self.status.driver
        self._wheel = self._wheel.asked(None)
        if self._refuses(over_others=True):
            return
        if asking is None or driver is not None:
            self._on_said("nobody asks you to drive")
            return
        # Only who drives can let others: who has let go takes the wheel for that moment.
        if not self.is_driving:
            self._request(lambda console: console.ask())
        self._request(lambda console: console.give(asking.id))
        self._set_wheel(self._wheel.let_go())

    def leave(self) -> None:
        """Lets the wheel go; the console goes on, and is watched."""
        if self.status.has_keys:
            self._set_wheel(self._wheel.let_go())
            # The hub knows no other way to let it go than to be left by who drives.
            self._is_to_be_left.set()

    def link_changed(self) -> None:
        """The connection to the hub is in another state."""
        if not self._source.is_up:
            self._outgoing.forget()
        self._has_link_news.set()
        self._on_touch()

    def look_after(self) -> None:
        """To be called now and then: sees that the emulator is there."""
        self._request(lambda _console: self._screen.look_after())

    def close(self) -> None:
        """Ends what shows it, when `run` has returned or was cancelled. Idempotent."""
        self._stop_waiting_for_wheel()
        self._screen.close()

    # Its life.

    async def run(self) -> None:
        """Leads it to its end. Cancelling detaches, and the console goes on."""
        try:
            while not self.is_over:
                await self._attend_once()
        except TerminalGivenUp:
            self._fail("what it shows ends the terminal emulator again and again")
        except Exception as error:
            # The edge of this task: a defect is shown in its pane and costs no other.
            self._fail(f"a defect of the dashboard: {error!r}")

    async def _attend_once(self) -> None:
        """One attachment, to its end, or the hub's."""
        try:
            async with await self._attached() as console:
                self._begin(console)
                await self._follow(console)
        except CodedError as error:
            if isinstance(error, _AWAY) or not self._source.is_up:
                await self._wait_for_hub()
            else:
                self._fail(await why_gone(self._source.hub, self._sandbox, error))
        finally:
            self._console = None
            self._outgoing.forget()
            self._screen.forget()
            self._on_touch()

    async def _attached(self) -> Console:
        sandbox = await self._source.hub.sandbox(self._sandbox)
        self._told_size = self._size
        rows, cols = self._size.rows, self._size.cols
        if self._id is None:
            return await sandbox.console(rows=rows, cols=cols, keep=True)
        mode = "drive"
        if not self._wheel.is_wanted:
            mode = "watch"
            self._is_to_be_left.clear()
        return await sandbox.attach(self._id, mode=mode, rows=rows, cols=cols, scrollback=SCROLLBACK)

    def _begin(self, console: Console) -> None:
        self._before = self._self
        if not self._is_to_be_left.is_set():
            self._wheel = self._wheel.attached()
        self._console, self._info, self._id = console, console.info, console.id
        if console.info.is_open:
            self._phase = Phase.LIVE
        if self._told_size != (size := self._size):
            self._request(lambda console: console.resize(size.rows, size.cols))
        self._on_touch()

    async def _follow(self, console: Console) -> None:
        """Shows and types, until the console ends or is to be left."""
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(console))
                leaving = tasks.create_task(self._is_to_be_left.wait())
                sending = self._outgoing.run(console, lambda: self.is_driving and self._source.is_up)
                others = (tasks.create_task(self._screen.run()), tasks.create_task(sending))
                await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
                # An error of it has cancelled this wait.
                if has_ended := reading.done():
                    await self._screen.wait_shown()
                for task in (reading, leaving, *others):
                    task.cancel()
        if has_ended:
            await self._end(console)

    async def _read(self, console: Console) -> None:
        async for event in console.events():
            self._info = console.info
            match event:
                case Viewers():
                    self._see_who_drives(console)
                case Asked(viewer):
                    self._wheel = self._wheel.asked(viewer)
                    self._on_said(f"{viewer.name} asks to drive")
                case Notice(text):
                    if (said := told(text, console.info, console.viewer)) is not None:
                        self._on_said(said)
                    if not console.is_driving:
                        # It may be why we do not get the wheel.
                        self._set_wheel(self._wheel.gone())
                case _:
                    await self._screen.put(event)
            if not isinstance(event, Output):
                self._on_touch()

    def _see_who_drives(self, console: Console) -> None:
        """Who is there, and who drives, has been told."""
        self._self = viewer_of(console.info, console.viewer) or self._self
        wheel, seen = self._wheel.seen(console.info, console.viewer, self._before)
        match seen:
            case Seen.GHOST:
                self._request(lambda console: console.take())
            case Seen.LOST:
                self._on_said(f"{self.status.driver} drives: you watch")
        self._set_wheel(wheel)

    async def _end(self, console: Console) -> None:
        """All of it has been shown: how it ended.

        Raises:
            CodedError: the attachment was lost.
        """
        status = await console.wait()
        with contextlib.suppress(CodedError):
            known = await self._source.hub.consoles(sandbox=self._sandbox, ended=True)
            self._info = next((info for info in known if info.id == console.id), self._info)
        why = None if self._info is None else self._info.end_reason
        self._phase, self._reason = Phase.ENDED, how_it_ended(status.exit_code, status.signal, why)
        self._set_wheel(self._wheel.gone())

    def _fail(self, reason: str) -> None:
        self._phase, self._reason = Phase.FAILED, reason
        self._set_wheel(self._wheel.gone())

    async def _wait_for_hub(self) -> None:
        """Returns when it is worth another attempt."""
        if self._phase is Phase.OPENING:
            # Whether there is a console now is not known, and nobody wants a second one.
            self._fail("the hub went away while it was opened")
            return
        self._phase = Phase.AWAY
        self._on_touch()
        is_up = False
        while not is_up:
            self._has_link_news.clear()
            # Also looked at now and then: the hub may be back before anybody has heard that it was gone.
            with contextlib.suppress(TimeoutError):
                async with within(_LOOK_S):
                    await self._has_link_news.wait()
            is_up = self._source.is_up

    async def _refresh(self) -> None:
        if self._console is not None:
            with contextlib.suppress(CodedError):
                await self._console.refresh()

    # The wheel.

    def _want_wheel(self, request: Request, *, over_others: bool) -> None:
        if self.status.has_keys or self._refuses(over_others=over_others):
            return
        self._coming_until = asyncio.get_running_loop().call_later(_COMING_S, self._give_wheel_up)
        self._request(request)
        self._set_wheel(self._wheel.wanted())

    def _set_wheel(self, wheel: Wheel) -> None:
        self._wheel = wheel
        if not wheel.is_wanted:
            self._outgoing.forget_typed()
        if not wheel.is_wanted or self.is_driving:
            self._stop_waiting_for_wheel()
        self._outgoing.look_again()
        self._on_touch()

    def _give_wheel_up(self) -> None:
        if self.phase is Phase.LIVE:
            self._on_said("the hub does not say who drives: you watch")
            self.leave()

    def _stop_waiting_for_wheel(self) -> None:
        if self._coming_until is not None:
            self._coming_until.cancel()
            self._coming_until = None

    def _refuses(self, *, over_others: bool) -> bool:
        """Whether it cannot be driven now, and that is said."""
        if (why := why_not(self.status, over_others=over_others)) is not None:
            self._on_said(why)
        return why is not None

    def _request(self, request: Request) -> None:
        """Has something done as soon as nothing else is, if we are attached."""
        if self._phase is Phase.LIVE:
            self._outgoing.request(request)
