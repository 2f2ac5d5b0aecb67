"""Screens of consoles as they are stored: what an ended one showed last, and where one that is taken over goes on."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import structlog

from cloche_hub.domain.console import Console
from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Screens, Size, StoredScreen
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.display import screen_of
from cloche_term import SnapshotUnreadable, Terminal, open_terminal, restore

_log = structlog.get_logger(__name__)


def restored(stored: StoredScreen, size: Size) -> Terminal:
    """The terminal of a stored screen.

    Args:
        stored: the screen.
        size: of one whose size is nowhere said.

    Raises:
        SnapshotUnreadable: another emulator has stored it.
    """
    snapshot = stored.snapshot
    terminal = open_terminal(size.rows, size.cols) if snapshot is None else restore(snapshot)
    for entry in stored.entries:
        if isinstance(entry, Size):
            terminal.resize(entry.rows, entry.cols)
        else:
            # What it answers was answered when this was shown first.
            terminal.feed(entry)
    return terminal


async def load_terminal(screens: Screens, console: Console) -> Terminal | None:
    """What a console showed last, to be closed by the caller; None if that could not be kept."""
    try:
        stored = await screens.load(console.id)
        if stored is None:
            return None
        return await asyncio.to_thread(restored, stored, Size(console.rows, console.cols))
    except (StoreFailed, SnapshotUnreadable) as error:
        _log.warning("last_screen_lost", console=console.id, reason=str(error))
        return None


async def load_screen(screens: Screens, console: Console, *, scrollback: int) -> list[bytes]:
    """The same as messages for a viewer."""
    terminal = await load_terminal(screens, console)
    if terminal is None:
        size = Size(console.rows, console.cols)
        lost = messages.notice("what it showed last could not be kept")
        return [messages.screen(size, lost_bytes=0), messages.live(0), lost]
    with contextlib.closing(terminal):
        return await asyncio.to_thread(partial(screen_of, terminal, 0, scrollback=scrollback))
