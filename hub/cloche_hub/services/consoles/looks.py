"""Those who look at a console without being its viewers: its screen as text, once or for as long as it is open.

Rule: what is sent is the newest when there is room for it. Half a window is on its way at most: who wants none that is
older asks with a small one.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from cloche_hub.domain.console import Console, ConsoleKind, ConsoleState
from cloche_hub.errors import NotFound
from cloche_hub.services.consoles.boot import BootConsoles
from cloche_hub.services.consoles.consoles import Consoles
from cloche_hub.services.consoles.display import Shown
from cloche_hub.services.consoles.screen_feed import Look, ScreenFeeds, look_at
from cloche_hub.services.fair import Turns
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel
from cloche_wire.aio.channel import MESSAGES


class _Looks(Protocol):
    """Where the looks at a console come from: a `ScreenFeed`, or what an ended one showed last."""

    async def newer(self, seen: Look | None) -> Look | None:
        """The newest look, once it is another than the one that was seen; None when there will be none any more."""
        ...


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Ended:
    """What a console showed last, as a message: all who look at it hold the same one."""

    look: Look

    async def newer(self, seen: Look | None) -> Look | None:
        """Nothing changes any more."""
        return self.look if seen is None else None


class ConsoleLooks:
    """Serves those who look.

    Args:
        consoles: terminals.
        boot: what machines say themselves.
    """

    def __init__(self, consoles: Consoles, boot: BootConsoles) -> None:
        self._consoles, self._boot = consoles, boot
        self._feeds = ScreenFeeds()
        # SAFETY: who asks for the screen of an ended console a thousand times and reads none costs one of them.
        self._ended: weakref.WeakValueDictionary[str, _Ended] = weakref.WeakValueDictionary()
        self._turns = Turns()

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
        async with self._looks_at(console) as looks, while_wanted(channel):
            channel.accept()
            last = await _send_from(channel, looks, follow=follow)
        if follow and (last is None or last.state != ConsoleState.ENDED):
            await self._send_end(channel, console)
        channel.end(MESSAGES)
        channel.close({})

    async def _send_end(self, channel: Channel, console: Console) -> None:
        """It was gone before its end was seen: its last screen, if it is still to be had."""
        with contextlib.suppress(NotFound):
            over = self._consoles.find(console.sandbox, console.id)
            async with self._looks_at(over) as looks, while_wanted(channel):
                await _send_from(channel, looks, follow=False)

    @contextlib.asynccontextmanager
    async def _looks_at(self, console: Console) -> AsyncIterator[_Looks]:
        if console.kind is ConsoleKind.BOOT:
            async with self._boot.watched(console.sandbox) as watch:
                with self._feeds.of(watch.live) as feed:
                    yield feed
            return
        live = self._consoles.live(console.id)
        if live is not None:
            with self._feeds.of(live) as feed:
                yield feed
            return
        yield await self._last(console)

    async def _last(self, console: Console) -> _Ended:
        """What an ended console showed last: made once for all who look at it at the same time."""
        async with self._turns.turn(console.id):
            if (known := self._ended.get(console.id)) is not None:
                return known
            last = await self._consoles.last_look(console)
            if last is None:
                raise NotFound(f"what {console.label} showed last could not be kept", console=console.id)
            look = look_at(console, Shown(last, offset=0, revision=0, cost_s=0.0))
            ended = self._ended[console.id] = _Ended(look)
            return ended


async def _send_from(channel: Channel, looks: _Looks, *, follow: bool) -> Look | None:
    """Sends looks to the end, or one; returns the last."""
    room = max(1, channel.credit(MESSAGES) // 2)
    sent: Look | None = None
    while True:
        # Chosen when it can be sent, and not before.
        await channel.wait_credit(MESSAGES, room)
        look = await looks.newer(sent)
        if look is None:
            return sent
        await channel.write(MESSAGES, look.packed)
        sent = look
        if not follow or look.state == ConsoleState.ENDED:
            return sent
