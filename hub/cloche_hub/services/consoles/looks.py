"""Those who look at a console without being its viewers: its screen as text, once or for as long as it is open.

Rule: what is sent is the newest when there is room for it. Half a window is on its way at most: who wants none that is
older asks with a small one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from cloche_hub.domain.console import Console, ConsoleKind, ConsoleState
from cloche_hub.errors import NotFound
from cloche_hub.services.consoles.boot import BootConsoles
from cloche_hub.services.consoles.consoles import Consoles
from cloche_hub.services.consoles.screen_feed import Look, ScreenFeed, ScreenFeeds, Showing
from cloche_hub.services.wanted import while_wanted
from cloche_term import Terminal
from cloche_wire.aio import Channel
from cloche_wire.aio.channel import MESSAGES


@dataclass(frozen=True, slots=True, eq=False)
class _Ended:
    """A console that has ended, as those see it who look. Implements `Showing`."""

    console: Console
    terminal: Terminal
    offset: int
    revision = 0
    is_closed = False

    async def wait_changed(self, revision: int) -> None:
        """Nothing changes any more."""
        await asyncio.Event().wait()


class ConsoleLooks:
    """Serves those who look.

    Args:
        consoles: terminals.
        boot: what machines say themselves.
    """

    def __init__(self, consoles: Consoles, boot: BootConsoles) -> None:
        self._consoles, self._boot = consoles, boot
        self._feeds = ScreenFeeds()

    async def send(self, channel: Channel, console: Console, *, follow: bool) -> None:
        """Sends a console's screen as messages, the newest each time, and closes the channel.

        Args:
            channel: offered, not yet accepted.
            console: as it was found.
            follow: until it has ended; else once.

        Raises:
            NotFound: it has ended, and what it showed last could not be kept.
            CodedError: the client has gone away.
        """
        async with self._shown(console) as showing, while_wanted(channel):
            channel.accept()
            with self._feeds.of(showing) as feed:
                last = await _send_from(channel, feed, follow=follow)
        if follow and (last is None or last.state != ConsoleState.ENDED):
            await self._send_end(channel, console)
        channel.end(MESSAGES)
        channel.close({})

    async def _send_end(self, channel: Channel, console: Console) -> None:
        """It was gone before its end was seen: its last screen, if it is still to be had."""
        with contextlib.suppress(NotFound):
            over = self._consoles.find(console.sandbox, console.id)
            async with self._shown(over) as showing, while_wanted(channel):
                with self._feeds.of(showing) as feed:
                    await _send_from(channel, feed, follow=False)

    @contextlib.asynccontextmanager
    async def _shown(self, console: Console) -> AsyncIterator[Showing]:
        if console.kind is ConsoleKind.BOOT:
            async with self._boot.watched(console.sandbox) as watch:
                yield watch.live
            return
        live = self._consoles.live(console.id)
        if live is not None:
            yield live
            return
        terminal = await self._consoles.last_terminal(console)
        if terminal is None:
            raise NotFound(f"what {console.label} showed last could not be kept", console=console.id)
        with contextlib.closing(terminal):
            yield _Ended(console, terminal, 0)


async def _send_from(channel: Channel, feed: ScreenFeed, *, follow: bool) -> Look | None:
    """Sends looks to the end, or one; returns the last."""
    room = max(1, channel.credit(MESSAGES) // 2)
    sent: Look | None = None
    while True:
        # Chosen when it can be sent, and not before.
        await channel.wait_credit(MESSAGES, room)
        look = await feed.newer(sent)
        if look is None:
            return sent
        await channel.write(MESSAGES, look.packed)
        sent = look
        if not follow or look.state == ConsoleState.ENDED:
            return sent
