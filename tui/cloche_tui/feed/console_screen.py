"""What one console shows, in an emulator in a process of its own: its events go in, a terminal to be painted comes out.

    the hub ──► put ──► what waits (bounded) ──► slices ──► a terminal apart

Rules:
- One slice is on its way at a time, and `put` waits while too much does: so the hub skips for who is slow, and a flood
  in one console costs another one nothing but its share of the processor.
- A screen that begins anew is made in another terminal, which takes the place of the one that is shown when it is
  whole, and not before the person has stopped reading older lines in that one.
- What a program wants to have copied counts when it happens, not when a screen is shown that holds it.
- A terminal that is lost is opened anew, and the hub asked for the screen; after too many of them it is given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from cloche.console_events import Live, Output, Resized, ScreenBegins
from cloche_term import TerminalError
from cloche_tui.model.clipboard import CopyRequests

if TYPE_CHECKING:
    from cloche_term.apart.terminals import ApartTerminal, Terminals

MOST_WAITING = 256 << 10
"""Bytes of output that wait, and so of one slice."""
SHOWN_S, HIDDEN_S = 1 / 30, 1 / 5
"""From one full slice to the next: of a console on the screen, and of another."""
MOST_LOSSES, LOSSES_S = 3, 60.0

ScreenEvent: TypeAlias = ScreenBegins | Output | Live | Resized


class TerminalGivenUp(Exception):
    """What the console shows ends the emulator again and again."""


class ConsoleScreen:
    """The screen of one console, through all attachments to it.

    Args:
        terminals: where emulators come from.
        on_touch: called when it may look different, and when `terminal` is another one; must not wait.
        refresh: has the hub show the screen anew.
    """

    def __init__(
        self, terminals: Terminals, *, on_touch: Callable[[], None], refresh: Callable[[], Awaitable[None]]
    ) -> None:
        self._terminals, self._on_touch, self._refresh = terminals, on_touch, refresh
        self._shown: ApartTerminal | None = None
        self._fed: ApartTerminal | None = None
        """Takes what comes; another one than is shown while its screen is not whole, or the older is still read."""
        self._is_whole = self._is_held = self._is_closed = False
        self._skips = True
        """What comes is for a terminal that is gone."""
        self._waiting: deque[ScreenEvent] = deque()
        self._waiting_bytes = 0
        self._has_news, self._has_room, self._is_done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._losses: deque[float] = deque(maxlen=MOST_LOSSES + 1)
        self.copies = CopyRequests()
        """What its program wants on the person's clipboard."""
        self.is_on_screen = True
        """Whether anybody sees it; else it is fed more slowly."""

    @property
    def terminal(self) -> ApartTerminal | None:
        """What is to be painted; None: nothing has been shown yet."""
        return self._shown

    @property
    def is_held(self) -> bool:
        """Whether what is shown must not be replaced now, since somebody reads older lines in it."""
        return self._is_held

    @is_held.setter
    def is_held(self, is_held: bool) -> None:
        self._is_held = is_held
        self._show_newest()

    # What comes in.

    async def put(self, event: ScreenEvent) -> None:
        """Takes what has happened; waits while too much does. Cancelling puts nothing."""
        while self._waiting_bytes >= MOST_WAITING:
            self._has_room.clear()
            await self._has_room.wait()
        self._waiting.append(event)
        self._waiting_bytes += _size(event)
        self._is_done.clear()
        self._has_news.set()

    def forget(self) -> None:
        """What waits comes from an attachment that is gone; what is shown stays until a screen begins anew."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self._skips = True
        self._has_room.set()
        self._has_news.set()

    async def wait_shown(self) -> None:
        """Returns when all that was put is in the terminal."""
        await self._is_done.wait()

    def close(self) -> None:
        """Ends its terminals. Idempotent; nothing is shown afterwards."""
        for terminal in (self._shown, self._fed):
            if terminal is not None:
                terminal.kill()
        self._shown = self._fed = None
        self._skips = self._is_closed = True

    # What is done with it.

    async def run(self) -> None:
        """Feeds the terminal what is put, for ever.

        Raises:
            TerminalGivenUp: it is of no use.
        """
        clock = asyncio.get_running_loop().time
        while True:
            if not self._waiting:
                self._is_done.set()
                self._has_news.clear()
                await self._has_news.wait()
                continue
            began, step = clock(), self._take()
            try:
                await self._do(step)
            except TerminalError:
                await self._lost()
            if _size(step) >= MOST_WAITING // 2:
                # A flood: it gets its share of frames and leaves the rest of the time to others.
                pause_s = SHOWN_S if self.is_on_screen else HIDDEN_S
                await asyncio.sleep(max(began + pause_s - clock(), 0))

    async def look_after(self) -> None:
        """Opens the terminal anew where its process has ended while nothing came.

        Raises:
            TerminalGivenUp: as above.
        """
        if self._fed is not None and self._fed.is_lost:
            await self._lost()
        self._show_newest()

    def _take(self) -> ScreenEvent:
        """The next step: all output that waits up to something else is one."""
        step = self._waiting.popleft()
        if isinstance(step, Output) and self._waiting and isinstance(self._waiting[0], Output):
            pieces = [step.data]
            while self._waiting and isinstance(piece := self._waiting[0], Output):
                pieces.append(piece.data)
                self._waiting.popleft()
            step = Output(b"".join(pieces))
        self._waiting_bytes -= _size(step)
        self._has_room.set()
        return step

    async def _do(self, step: ScreenEvent) -> None:
        if isinstance(step, ScreenBegins):
            await self._begin(step)
            return
        fed = self._fed
        if fed is None or self._skips:
            return
        if isinstance(step, Output) and self._is_whole:
            self.copies.hear(step.data, asyncio.get_running_loop().time())
        if fed is self._shown:
            # A painting that is asked for from now on comes after what is done here, which nobody waits for.
            self._on_touch()
        title = fed.state.title
        match step:
            case Output(data):
                # What it answers is nobody's: the hub's own emulator has answered.
                await fed.feed(data)
            case Resized(rows, cols):
                await fed.resize(rows, cols)
            case Live():
                self._is_whole = True
                self._show_newest()
        if fed is self._shown and fed.state.title != title:
            self._on_touch()

    async def _begin(self, screen: ScreenBegins) -> None:
        if self._fed is not None and self._fed is not self._shown:
            self._fed.kill()
        self._fed, self._is_whole, self._skips = None, False, False
        self.copies.cut()
        fed = await self._terminals.open(screen.rows, screen.cols)
        if self._is_closed:
            fed.kill()
        else:
            self._fed = fed

    def _show_newest(self) -> None:
        """Puts the terminal that is fed in the place of the one that is shown, if it is whole and the other not held."""
        before, fed = self._shown, self._fed
        if fed is None or not self._is_whole or fed is before:
            return
        if self._is_held and before is not None and not before.is_lost:
            return
        self._shown, self._is_held = fed, False
        self._on_touch()
        if before is not None:
            before.kill()

    async def _lost(self) -> None:
        now = asyncio.get_running_loop().time()
        self._losses.append(now)
        if self._fed is not None and self._fed is not self._shown:
            self._fed.kill()
        self._fed, self._skips = None, True
        if len(self._losses) > MOST_LOSSES and now - self._losses[0] < LOSSES_S:
            raise TerminalGivenUp
        await self._refresh()


def _size(event: ScreenEvent) -> int:
    return len(event.data) if isinstance(event, Output) else 0
