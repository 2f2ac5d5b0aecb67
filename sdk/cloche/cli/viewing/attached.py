"""A person at a terminal, attached to a console: shows what it shows, types what is typed, until it ends or is left.

What is typed is judged in `way_out` and `watching`; `window` shows.

Rule: nothing the hub, the guest or the terminal does keeps the way out from working: the keyboard is read also while
what was typed cannot be sent, and while the terminal takes no output.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cloche.cli.streams import STDIN, STDOUT
from cloche.cli.terminal import window_size
from cloche.cli.viewing.hints import announced, asks, keys, status, told
from cloche.cli.viewing.keyboard import Keyboard
from cloche.cli.viewing.watching import Wish, wish_of
from cloche.cli.viewing.way_out import DetachKey, Move, WayOut
from cloche.cli.viewing.window import Source, Window
from cloche.console_events import Asked, ConsoleEvent, Notice
from cloche.errors import WrongState
from cloche_wire.aio.bounds import within
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche.aio import Console
    from cloche.cli.session import Interrupts
    from cloche.cli.viewing.view import Size
    from cloche.console_messages import Viewer

_MOST_TYPED = 1 << 20
_STUCK_S = 1.0
"""How long a program that reads nothing is waited for when that much was typed."""


async def attend(console: Console, key: DetachKey, interrupts: Interrupts, *, may_drive: bool = True) -> bool:
    """Joins a console to our terminal.

    Args:
        console: attached to; nobody else reads it.
        key: the way out.
        interrupts: what signals do.
        may_drive: whether a key may ask to drive, or take over.

    Returns:
        Whether its program has ended; else it was left.

    Raises:
        CodedError: the attachment was lost.
    """
    window = Window(is_driving=console.is_driving)
    attached = _Attached(console, key, window, may_drive=may_drive)
    async with window.taken(interrupts, attached.line_of):
        return await attached.run()


class _Attached:
    def __init__(self, console: Console, key: DetachKey, window: Window, *, may_drive: bool) -> None:
        self._console, self._key, self._window, self._may_drive = console, key, window, may_drive
        self._asking: Viewer | None = None
        self._typed, self._has_typed, self._has_room = b"", asyncio.Event(), asyncio.Event()
        self._is_stuck = False

    def line_of(self, text: str) -> str:
        """The line of something to be told, with what the keys are."""
        return announced(text, self._keys(), window_size(STDOUT)[1])

    def announce(self, text: str) -> None:
        """Has it shown for a moment."""
        self._window.announce(self.line_of(text))

    async def run(self) -> bool:
        """Shows and types; returns whether its program has ended."""
        self._window.announce(self._keys())
        source = Source(self._console.refresh, self._resize, self._status)
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                show = tasks.create_task(self._show())
                read = tasks.create_task(self._read())
                others = (tasks.create_task(self._send()), tasks.create_task(self._window.tend(source)))
                await asyncio.wait({show, read}, return_when=asyncio.FIRST_COMPLETED)
                has_ended = show.done()
                for task in (show, read, *others):
                    task.cancel()
        return has_ended

    # What it shows.

    async def _show(self) -> None:
        """Shows what the console shows, to its end."""
        async for event in self._console.events():
            self._heed(event)
            await self._window.take(event)

    def _heed(self, event: ConsoleEvent) -> None:
        self._window.drive(is_driving=self._console.is_driving)
        match event:
            case Asked(viewer):
                self._asking = viewer
                self._window.announce(asks(viewer, self._key))
            case Notice(text):
                self.announce(told(text, self._console.info, self._console.viewer))

    async def _resize(self, window: Size) -> None:
        await self._console.resize(*window)

    def _status(self) -> str:
        console, cols = self._console, window_size(STDOUT)[1]
        return status(console.info, console.viewer, self._keys(), self._asking_line(), cols=cols)

    def _asking_line(self) -> str | None:
        return None if self._asking is None else asks(self._asking, self._key)

    def _keys(self) -> str:
        return keys(self._console.info, self._console.viewer, self._key, may_drive=self._may_drive)

    # What is typed.

    async def _read(self) -> None:
        """Reads the keyboard, until the way out is typed or the terminal goes away."""
        keyboard, way_out = Keyboard(STDIN), WayOut(self._key)
        now = asyncio.get_running_loop().time
        while True:
            wait_s = None if way_out.deadline is None else max(way_out.deadline - now(), 0)
            typed = await keyboard.read(wait_s)
            if typed == b"":
                return
            meant: Iterator[bytes | Move | None]
            if typed is None:
                meant = iter([way_out.time_is_up()])
            elif self._console.is_driving or way_out.deadline is not None:
                meant = way_out.typed(typed, now())
            else:
                meant = iter([await self._wish(wish_of(typed, self._key))])
            for each in meant:
                if each is Move.LEAVE:
                    return
                if each is Move.GIVE:
                    await self._give()
                elif isinstance(each, bytes):
                    await self._type(each)

    async def _wish(self, wish: Wish | None) -> Move | None:
        """Does what who watches wants."""
        match wish:
            case Wish.LEAVE:
                return Move.LEAVE
            case Wish.ASK | Wish.TAKE if not self._may_drive:
                self.announce("you came to watch; to drive, leave and come back without --watch")
            case Wish.ASK:
                if self._console.info.driver is not None:
                    self.announce("asked to drive")
                await self._console.ask()
            case Wish.TAKE:
                await self._console.take()
            case Wish.TYPE:
                self.announce("you only watch")
        return None

    async def _give(self) -> None:
        asking, self._asking = self._asking, None
        if asking is None or asking.id not in [viewer.id for viewer in self._console.info.viewers]:
            self.announce("nobody has asked to drive")
        else:
            await self._console.give(asking.id)

    async def _type(self, data: bytes) -> None:
        """Leaves what was typed to be sent; waits for room as long as the program reads at all."""
        if len(self._typed) > _MOST_TYPED and not self._is_stuck:
            self._has_room.clear()
            try:
                async with within(_STUCK_S):
                    await self._has_room.wait()
            except TimeoutError:
                self._is_stuck = True
        if self._is_stuck:
            self.announce("what you type goes nowhere: the program does not read it")
            return
        self._typed += data
        self._has_typed.set()

    async def _send(self) -> None:
        while True:
            await self._has_typed.wait()
            self._has_typed.clear()
            typed, self._typed = self._typed, b""
            self._is_stuck = False
            self._has_room.set()
            if not self._console.is_driving:
                # Typed before the wheel changed hands.
                continue
            try:
                await self._console.write(typed)
            except WrongState:
                # Its end is on its way to `_show`, which has all of its output first.
                return
