"""A console that is open: its guest on one side, its viewers on the other, the hub's emulator and its store between.

    guest ──► viewers, in the same turn of the loop
          └─► emulator ──► log and recording ──► acknowledged to the guest
              └─► answers, typed to the guest

Who leads it to its end is `life`; who lets viewers in is `attachments`.

Rules:
- The reader of a guest's link ends here: what it hands over is passed on or kept, without a wait for anybody.
- What a viewer gets is packed once for all of them.
- `console` is replaced, never changed; each new one is told to `on_changed`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import replace

from cloche_hub.domain import driving
from cloche_hub.domain.console import Console, Viewer, clean_title
from cloche_hub.domain.driving import AttachMode, Step
from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.display import Display, Fed, screen_of_copy
from cloche_hub.services.consoles.guest_terminal import GuestTerminal
from cloche_hub.services.consoles.line import Line
from cloche_hub.services.fair import FairTurns
from cloche_term import Terminal
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within

NOT_DRIVING = "you are watching: what you type goes nowhere; ask to drive, or take over"


class LiveConsole:
    """An open console.

    Args:
        console: as it is now.
        terminal: its emulator; closed by `close`.
        offset: bytes of output the emulator has seen.
        fair: turns at the loop.
        on_changed: told the console whenever it is another; must not wait.
    """

    def __init__(
        self,
        console: Console,
        terminal: Terminal,
        *,
        fair: FairTurns,
        on_changed: Callable[[Console], None],
        offset: int = 0,
    ) -> None:
        self._console, self._on_changed = console, on_changed
        self._display = Display(terminal, offset=offset, fair=fair, who=console.sandbox, on_fed=self._fed)
        self._guest: GuestTerminal | None = None
        self._add: Callable[[Entry], None] = lambda _entry: None
        self.mark: Callable[[str], None] = lambda _text: None
        """Puts a marker into its recording, if it has one; never waits."""
        self._lines: dict[str, Line] = {}
        self._viewer_ids = (f"v{number}" for number in itertools.count(1))
        self._missing = 0
        self._wanted, self._wanted_dear, self._left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def console(self) -> Console:
        """As it is now."""
        return self._console

    # For those who look at it without being viewers.

    @property
    def terminal(self) -> Terminal:
        """The screen, as far as it has been fed; see `offset`."""
        return self._display.terminal

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

    # Its life.

    def connect(
        self, guest: GuestTerminal, *, add: Callable[[Entry], None], mark: Callable[[str], None]
    ) -> None:
        """Its guest is there, and what stores it."""
        self._guest, self._add, self.mark = guest, add, mark

    async def run(self) -> None:
        """Feeds the emulator and serves viewers their screens, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._display.feed_for_ever())
            tasks.create_task(self._show_for_ever())
            tasks.create_task(self._show_dear_for_ever())

    async def wait_fed(self, seconds: float | None = None) -> None:
        """Returns when the emulator has seen all that has come, or gives up the rest after so long."""
        try:
            async with within(seconds):
                await self._display.wait_fed()
        except TimeoutError:
            given_up = self._display.give_up()
            self.mark(f"the last {given_up} bytes took too long to show and are not recorded")

    async def wait_left(self) -> None:
        """Returns when no viewer is there any more."""
        while self._lines:
            self._left.clear()
            await self._left.wait()

    def lose(self, count: int) -> None:
        """So many bytes of output are missing here, before anybody is there: whoever comes is told."""
        self._display.lose(count)
        self._missing += count

    def snapshot(self) -> tuple[int, bytes]:
        """How many bytes the emulator has seen, and everything it knows."""
        return self._display.snapshot()

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
        # SAFETY: the guest's words; nothing of them goes on but what is printable.
        title = clean_title(self.terminal.title)
        if title != self._console.title:
            self.replace(replace(self._console, title=title))

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
        step = driving.attach(self._console, replace(viewer, id=next(self._viewer_ids)), mode)
        viewer = step.console.viewers[-1]
        line = self._lines[viewer.id] = Line(
            viewer.id, channel, on_typed=self._typed, on_ready=self._want, scrollback=scrollback
        )
        self.apply(step)
        if self._missing:
            line.tell(messages.notice(f"{self._missing} bytes of what it showed are lost"))
        return line, step

    def leave(self, viewer_id: str) -> None:
        """A viewer goes. Idempotent."""
        if self._lines.pop(viewer_id, None) is None:
            return
        if self._console.driver == viewer_id and self._guest is not None:
            self._guest.drop_typed()
        self.apply(driving.detach(self._console, viewer_id))
        self._left.set()

    def apply(self, step: Step) -> None:
        """What a viewer's move has come to happens, and is announced."""
        if step.asked is not None and (driver := self._console.driver) in self._lines:
            self._lines[driver].tell(messages.asked(step.asked))
        if step.console is self._console:
            return
        if step.console.driver != self._console.driver:
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

    async def _show_for_ever(self) -> None:
        while True:
            await self._wanted.wait()
            await asyncio.sleep(self._display.until_screen_s())
            self._wanted.clear()
            self.show_screens()

    def show_screens(self) -> None:
        """Sends a fresh screen to whoever wants one and reads."""
        for line in self._wanting(is_dear=False):
            screen = self._display.screen(lost_bytes=line.backlog.lost_bytes)
            line.show([*screen, messages.viewers(self._console)])

    async def _show_dear_for_ever(self) -> None:
        while True:
            await self._wanted_dear.wait()
            self._wanted_dear.clear()
            if not (lines := self._wanting(is_dear=True)):
                continue
            scrollback = max(line.scrollback for line in lines)
            copy, there = self._display.copy(), messages.viewers(self._console)
            lost = [line.backlog.lost_bytes for line in lines]
            for line in lines:
                line.hold()
            began = time.monotonic()
            first, *rest = await asyncio.to_thread(screen_of_copy, copy, scrollback=scrollback)
            for line, lost_bytes in zip(lines, lost, strict=True):
                line.show([messages.with_lost(first, lost_bytes), *rest, there])
            # Others want the processor, too.
            await asyncio.sleep(time.monotonic() - began)

    def _wanting(self, *, is_dear: bool) -> list[Line]:
        """Those who want a screen that is dear, or one that is not."""
        return [
            line
            for line in self._lines.values()
            if line.wants_screen
            and not self.is_closed
            and self._display.is_dear(scrollback=line.scrollback) is is_dear
        ]

    def _want(self) -> None:
        self._wanted.set()
        self._wanted_dear.set()
