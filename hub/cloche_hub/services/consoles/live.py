"""A console that is open: its guest on one side, its viewers on the other, the hub's emulator and its store between.

    guest ──► viewers, in the same turn of the loop
          └─► emulator ──► log and recording ──► acknowledged to the guest
              └─► answers, typed to the guest

Who leads it to its end is `life`; who lets viewers in is `attachments`.

Rules:
- The reader of a guest's link ends here: what it hands over is passed on or kept, without a wait for anybody.
- What a viewer gets is packed once for all of them.
- A viewer is shown a screen in the step in which it is there: what comes next follows it.
- A terminal that is lost costs the console a part of its screen: viewers are told, and go on with what they have seen;
  so is whoever comes later.
- `console` is replaced, never changed; each new one is told to `on_changed`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace

import structlog

from cloche_hub.domain import driving
from cloche_hub.domain.console import Console, Viewer, clean_title
from cloche_hub.domain.driving import AttachMode, Step
from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.display import Display, Fed, Shown
from cloche_hub.services.consoles.emulator import Emulator, Loss, Reopen
from cloche_hub.services.consoles.guest_terminal import GuestTerminal
from cloche_hub.services.consoles.line import Line
from cloche_hub.services.fair import FairTurns
from cloche_term.apart.terminal import ApartTerminal
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within

_log = structlog.get_logger(__name__)

LACKING = "screens here may lack a part of what was shown: the terminal emulator was lost meanwhile"
"""Told to whoever comes after that."""
NOBODY_DRIVES = "who drove has left, and nobody drives now: ask again to do so"
TITLE_S = 0.2
"""A title that has been told stands at least so long: each goes to everybody who follows events."""
NOT_DRIVING = "you are watching: what you type goes nowhere; ask to drive, or take over"


class LiveConsole:
    """An open console.

    Args:
        console: as it is now.
        terminal: its emulator; ended by `close`.
        offset: bytes of output the emulator has seen.
        reopen: opens another terminal in the place of one that was lost.
        fair: turns at the emulators.
        on_changed: told the console whenever it is another; must not wait.
        on_spent: told why there is no sense in going on; must not wait.
    """

    def __init__(
        self,
        console: Console,
        terminal: ApartTerminal,
        *,
        reopen: Reopen,
        fair: FairTurns,
        on_changed: Callable[[Console], None],
        on_spent: Callable[[str], None],
        offset: int = 0,
    ) -> None:
        self._console, self._on_changed, self._on_spent = console, on_changed, on_spent
        emulator = Emulator(terminal, offset=offset, reopen=reopen, on_lost=self._lost)
        self._display = Display(emulator, fair=fair, who=console.sandbox, on_fed=self._fed)
        self._guest: GuestTerminal | None = None
        self._add: Callable[[Entry], None] = lambda _entry: None
        self._gap: Callable[[], None] = lambda: None
        self.mark: Callable[[str], None] = lambda _text: None
        """Puts a marker into its recording, if it has one; never waits."""
        self._lines: dict[str, Line] = {}
        self._viewer_ids = (f"v{number}" for number in itertools.count(1))
        self._incomplete: list[str] = []
        # Those who have asked who drives now, in their order.
        self._asked: dict[str, None] = {}
        self._wanted, self._wanted_above, self._left = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_titled = asyncio.Event()

    @property
    def console(self) -> Console:
        """As it is now."""
        return self._console

    # For those who look at it without being viewers.

    @property
    def offset(self) -> int:
        """Bytes of output the terminal has seen."""
        return self._display.offset

    @property
    def revision(self) -> int:
        """Another number whenever the screen may be another."""
        return self._display.revision

    @property
    def is_closed(self) -> bool:
        """Whether the terminal is gone."""
        return self._display.is_closed

    async def wait_changed(self, revision: int) -> None:
        """Returns when the screen may be another than at that revision, or is closed."""
        await self._display.wait_changed(revision)

    async def look(self) -> Shown:
        """The screen as text.

        Raises:
            TerminalLost: it is closed.
        """
        return await self._display.look()

    # Its life.

    def connect(
        self,
        guest: GuestTerminal,
        *,
        add: Callable[[Entry], None],
        mark: Callable[[str], None],
        gap: Callable[[], None],
    ) -> None:
        """Its guest is there, and what stores it."""
        self._guest, self._add, self.mark, self._gap = guest, add, mark, gap

    async def run(self) -> None:
        """Feeds the emulator and serves viewers their screens, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._display.feed_for_ever())
            tasks.create_task(self._show_for_ever(self._wanted, scrollback=False))
            # One with scrollback takes longer, and holds up no other.
            tasks.create_task(self._show_for_ever(self._wanted_above, scrollback=True))
            tasks.create_task(self._take_titles_for_ever())

    async def wait_fed(self, seconds: float | None = None) -> None:
        """Returns when the emulator has seen all that has come, or gives up the rest after so long."""
        try:
            async with within(seconds):
                await self._display.wait_fed()
        except TimeoutError:
            given_up = self._display.give_up()
            self.mark(f"the last {given_up} bytes took too long to show and are not recorded")
        self._take_title()

    async def wait_left(self) -> None:
        """Returns when no viewer is there any more."""
        while self._lines:
            self._left.clear()
            await self._left.wait()

    def lose(self, count: int) -> None:
        """So many bytes of output are missing here, before anybody is there: whoever comes is told."""
        self._display.lose(count)
        self._incomplete.append(f"{count} bytes of what it showed are lost")

    async def snapshot(self) -> tuple[int, bytes]:
        """As `Display.snapshot`."""
        return await self._display.snapshot()

    def close(self) -> None:
        """Gives the emulator back. Idempotent."""
        self._display.close()
        for line in self._lines.values():
            line.stop()

    # What the guest does.

    def output(self, data: bytes) -> None:
        """The program shows something: viewers get it at once."""
        packed = self._display.output(data)
        for line in self._lines.values():
            line.output(packed, len(data))

    def _fed(self, fed: Fed) -> None:
        self._add(fed.entry)
        if self._guest is not None:
            self._guest.answer(fed.answer)
        self._is_titled.set()

    async def _take_titles_for_ever(self) -> None:
        while True:
            await self._is_titled.wait()
            self._is_titled.clear()
            if self._take_title():
                await asyncio.sleep(TITLE_S)

    def _take_title(self) -> bool:
        """Whether the console has another title now."""
        # SAFETY: the guest's words; nothing of them goes on but what is printable.
        title = clean_title(self._display.title)
        is_other = title != self._console.title
        if is_other:
            self.replace(replace(self._console, title=title))
        return is_other

    def _lost(self, loss: Loss) -> None:
        _log.warning(
            "console_terminal_lost",
            console=self._console.id,
            sandbox=self._console.sandbox,
            reason=loss.reason,
            missing_bytes=loss.missing,
        )
        self._gap()
        self._display.touch()
        if loss.missing and LACKING not in self._incomplete:
            # How much it is nobody can say later: programs paint over it.
            self._incomplete.append(LACKING)
        self.mark(loss.told)
        self.notice(loss.told)
        if loss.ends is not None:
            self._on_spent(loss.ends)

    # What viewers do.

    def join(
        self, viewer: Viewer, channel: Channel, mode: AttachMode, *, scrollback: int
    ) -> tuple[Line, Step]:
        """A viewer comes. It gets a screen when its line is accepted.

        Args:
            viewer: without an id.
            channel: offered, not yet accepted.
            mode: what for.
            scrollback: lines above the first screen.

        Raises:
            TooLarge: there are too many.
        """
        # A client that leaves and comes back finds the wheel as it left it, and not its former self at it.
        for line in [line for line in self._lines.values() if line.is_left]:
            self.leave(line.viewer_id)
        viewer = replace(viewer, id=next(self._viewer_ids))
        step = driving.attach(self._console, viewer, mode, is_driver_lost=self._is_driver_lost)
        viewer = step.console.viewers[-1]
        line = self._lines[viewer.id] = Line(
            viewer.id, channel, on_typed=self._typed, on_ready=self._want, scrollback=scrollback
        )
        self.apply(step)
        for notice in self._incomplete:
            line.tell(messages.notice(notice))
        return line, step

    def leave(self, viewer_id: str) -> None:
        """A viewer goes. Idempotent."""
        if self._lines.pop(viewer_id, None) is None:
            return
        if self._console.driver == viewer_id and self._guest is not None:
            self._guest.drop_typed()
        self.apply(driving.detach(self._console, viewer_id))
        self._asked.pop(viewer_id, None)
        if self._console.driver is None:
            for asking in self._asked:
                self.tell(asking, NOBODY_DRIVES)
            self._asked.clear()
        self._left.set()

    def ask(self, viewer_id: str) -> Step:
        """What it comes to that a viewer wants to drive; for `apply`."""
        return driving.ask(self._console, viewer_id, is_driver_lost=self._is_driver_lost)

    @property
    def _is_driver_lost(self) -> bool:
        """Whether there is no link to who drives."""
        driver = self._console.driver
        return driver in self._lines and not self._lines[driver].is_reachable

    def apply(self, step: Step) -> None:
        """What a viewer's move has come to happens, and is announced."""
        if step.asked is not None and (driver := self._console.driver) in self._lines:
            self._asked.setdefault(step.asked.id)
            self._lines[driver].tell(messages.asked(step.asked))
        if step.console is self._console:
            return
        if step.console.driver != self._console.driver:
            if step.console.driver is not None:
                self._asked.clear()
            for line in self._lines.values():
                line.is_warned = False
            if self._guest is not None:
                self._guest.drop_typed()
        is_seen = (step.console.viewers, step.console.driver) != (self._console.viewers, self._console.driver)
        self.replace(step.console)
        if step.is_resized:
            self._resize(Size(step.console.rows, step.console.cols))
        if is_seen:
            self._tell_all(messages.viewers(self._console), keeps=False)
        if step.hand_over is not None:
            self.mark(step.hand_over.notice)
            self.notice(step.hand_over.notice)

    def tell(self, viewer_id: str, text: str) -> None:
        """Tells one viewer something."""
        if line := self._lines.get(viewer_id):
            line.tell(messages.notice(text))

    def notice(self, text: str) -> None:
        """Tells all viewers something."""
        self._tell_all(messages.notice(text), keeps=True)

    def refresh(self, viewer_id: str) -> None:
        """A viewer wants the whole screen."""
        if line := self._lines.get(viewer_id):
            line.refresh()

    def signal(self, signal: str | int) -> None:
        """Sends a signal to everything on the terminal."""
        if self._guest is not None:
            self._guest.signal(signal)

    def replace(self, console: Console) -> None:
        """It is another one now."""
        if (console.is_open, console.driver) != (self._console.is_open, self._console.driver):
            # Who only looks hears of that, too, although nothing more is shown.
            self._display.touch()
        self._console = console
        self._on_changed(console)

    def _typed(self, line: Line, data: bytes) -> None:
        if self._guest is not None and self._console.driver == line.viewer_id:
            self._guest.type(data, line.consumed)
            return
        line.consumed(len(data))
        if not line.is_warned:
            # Once: a key that is held down would fill the screen.
            line.is_warned = True
            line.tell(messages.notice(NOT_DRIVING))

    def _resize(self, size: Size) -> None:
        packed = self._display.resize(size)
        self._tell_all(packed, keeps=False)
        if self._guest is not None:
            self._guest.resize(size)

    def _tell_all(self, packed: bytes, *, keeps: bool) -> None:
        for line in self._lines.values():
            line.tell(packed, keeps=keeps)

    # Screens.

    async def _show_for_ever(self, wanted: asyncio.Event, *, scrollback: bool) -> None:
        while True:
            await wanted.wait()
            await asyncio.sleep(self._display.until_screen_s(scrollback=scrollback))
            wanted.clear()
            await self.show_screens(scrollback=scrollback)

    async def show_screens(self, *, scrollback: bool) -> None:
        """Sends a fresh screen to whoever wants one and reads: of those with scrollback, or of the others."""
        if not (wanting := self._wanting(scrollback=scrollback)):
            return
        lines = max(line.scrollback for line in wanting)
        screen = await self._display.screen(scrollback=lines)
        # In this very step. Who came meanwhile has it, too, if it is enough.
        there = messages.viewers(self._console)
        for line in self._wanting(scrollback=scrollback):
            if line.scrollback <= lines:
                line.show([*screen.told(lost_bytes=line.backlog.lost_bytes), there])

    def _wanting(self, *, scrollback: bool) -> list[Line]:
        """Those who want a screen with scrollback, or one without."""
        return [
            line
            for line in self._lines.values()
            if line.wants_screen and not self.is_closed and (line.scrollback > 0) is scrollback
        ]

    def _want(self) -> None:
        self._wanted.set()
        self._wanted_above.set()
