"""Screens of consoles as they are stored: what an ended one showed last, and where one that has lost its terminal, or that
is taken over, goes on.

Rule: what is stored was a guest's word, and may crash the terminal that is made of it: that is waited for, but not long.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from cloche_hub.domain.console import Console
from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Screens, Size, StoredScreen
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.display import screen_of
from cloche_hub.services.consoles.emulator import Reopened
from cloche_term import TerminalError
from cloche_term.apart.frames import Look
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from cloche_wire.aio.bounds import within

T = TypeVar("T")

_log = structlog.get_logger(__name__)

RESTORE_S = 10.0
"""How long a stored screen may take to become a terminal again: some logs of a few megabytes would take an hour."""


async def restored(terminals: Terminals, stored: StoredScreen, size: Size) -> ApartTerminal:
    """The terminal of a stored screen, which the caller closes.

    Args:
        terminals: opens it.
        stored: the screen.
        size: of one whose size is nowhere said.

    Raises:
        TerminalError: it cannot be had.
        TimeoutError: it takes too long.
    """
    async with within(RESTORE_S):
        if stored.snapshot is None:
            terminal = await terminals.open(size.rows, size.cols)
        else:
            terminal = await terminals.restore(stored.snapshot)
        try:
            for entry in stored.entries:
                if isinstance(entry, Size):
                    await terminal.resize(entry.rows, entry.cols)
                else:
                    # What it answers was answered when this was shown first.
                    await terminal.feed(entry)
        except BaseException:
            terminal.kill()
            raise
        return terminal


async def reopen_blank(terminals: Terminals, size: Size) -> Reopened:
    """An empty terminal in the place of one that was lost. Raises as `emulator.Reopen`."""
    return Reopened(await terminals.open(size.rows, size.cols), 0)


@dataclass(frozen=True, slots=True)
class ReopenStored:
    """Opens what is stored of a console in the place of a terminal that was lost. Implements emulator.Reopen."""

    terminals: Terminals
    screens: Screens
    console_id: str

    async def __call__(self, size: Size, *, is_blank: bool) -> Reopened:
        """See `emulator.Reopen`."""
        if not is_blank:
            try:
                stored = await self.screens.load(self.console_id)
                if stored is not None:
                    return Reopened(await restored(self.terminals, stored, size), stored.end)
            except (StoreFailed, TerminalError, ValueError, TimeoutError) as error:
                _log.warning("stored_screen_lost", console=self.console_id, reason=str(error))
        return await reopen_blank(self.terminals, size)


async def load_look(terminals: Terminals, screens: Screens, console: Console) -> Look | None:
    """What a console showed last, as text; None if that could not be kept."""
    return await _load(terminals, screens, console, lambda terminal: terminal.look())


async def load_screen(
    terminals: Terminals, screens: Screens, console: Console, *, scrollback: int
) -> list[bytes]:
    """The same as messages for a viewer."""
    screen = await _load(
        terminals, screens, console, lambda terminal: screen_of(terminal, scrollback=scrollback)
    )
    if screen is None:
        size = Size(console.rows, console.cols)
        lost = messages.notice("what it showed last could not be kept")
        return [messages.screen(size, lost_bytes=0), messages.live(0), lost]
    return screen


async def _load(
    terminals: Terminals,
    screens: Screens,
    console: Console,
    ask: Callable[[ApartTerminal], Awaitable[T]],
) -> T | None:
    """What the last terminal of a console says; None if there is none that could."""
    try:
        stored = await screens.load(console.id)
        if stored is None:
            return None
        terminal = await restored(terminals, stored, Size(console.rows, console.cols))
        try:
            return await ask(terminal)
        finally:
            await terminal.close()
    except (StoreFailed, TerminalError, ValueError, TimeoutError) as error:
        _log.warning("last_screen_lost", console=console.id, reason=str(error))
        return None
