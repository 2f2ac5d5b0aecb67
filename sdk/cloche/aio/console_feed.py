"""The events of a console on their way to whoever reads them, also while somebody only waits for its end.

Rules:
- Without a reader nothing is taken from the hub, which then keeps less and less of what this viewer misses.
- Who waits for the end takes what nobody reads and keeps it, in order and up to a bound. Beyond, all of it is
  forgotten and the hub is asked for the screen as it is, as it would be given to any viewer who falls behind.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cloche.console_events import ConsoleEvent, Output, ScreenBegins, parse_event
from cloche.errors import LinkLost

if TYPE_CHECKING:
    from cloche_wire.aio import Channel

MOST_KEPT_BYTES = 256 << 10
_EVENT_BYTES = 200
"""About what an event takes beside its output."""


class ConsoleFeed:
    """The events of one attachment.

    Args:
        channel: of `console.attach`, accepted.
        note: told of each event as it comes; must neither wait nor raise.
        most_kept_bytes: what is kept of them while nobody reads.
    """

    def __init__(
        self,
        channel: Channel,
        note: Callable[[ConsoleEvent], None],
        *,
        most_kept_bytes: int = MOST_KEPT_BYTES,
    ) -> None:
        self._channel, self._note, self._most = channel, note, most_kept_bytes
        # Whoever has the turn reads from the channel; an asyncio lock is given in the order it was asked for.
        self._turn = asyncio.Lock()
        self._kept: deque[ConsoleEvent] = deque()
        self._kept_bytes = 0
        self._lost_bytes: int | None = None
        """Output forgotten since a fresh screen was asked for; None: none is awaited."""

    async def next(self) -> ConsoleEvent | None:
        """The next event; None at the end. Cancelling loses nothing.

        Raises:
            CodedError: the attachment was lost.
        """
        async with self._turn:
            if self._kept:
                event = self._kept.popleft()
                self._kept_bytes -= _size(event)
                return event
            return await self._receive()

    async def finish(self) -> None:
        """Takes events until there are no more, and keeps them for `next`, within the bound.

        Raises:
            CodedError: the attachment was lost.
        """
        while True:
            async with self._turn:
                event = await self._receive()
                if event is None:
                    return
                self._keep(event)
                has_to_ask = self._kept_bytes > self._most
                if has_to_ask:
                    self._forget()
            if has_to_ask:
                await self._ask_for_screen()

    async def _receive(self) -> ConsoleEvent | None:
        async for message in self._channel.messages():
            event = parse_event(message)
            if event is None:
                continue
            self._note(event)
            if self._lost_bytes is None:
                return event
            if isinstance(event, ScreenBegins):
                lost, self._lost_bytes = self._lost_bytes, None
                return replace(event, lost_bytes=event.lost_bytes + lost)
            self._lost_bytes += _output_bytes(event)
        return None

    def _keep(self, event: ConsoleEvent) -> None:
        self._kept.append(event)
        self._kept_bytes += _size(event)

    def _forget(self) -> None:
        self._lost_bytes = sum(_output_bytes(event) for event in self._kept)
        self._kept.clear()
        self._kept_bytes = 0

    async def _ask_for_screen(self) -> None:
        try:
            await self._channel.send_message({"refresh": True})
        except LinkLost:
            # It has ended, and there is no other screen to come.
            self._lost_bytes = None


def _output_bytes(event: ConsoleEvent) -> int:
    return len(event.data) if isinstance(event, Output) else 0


def _size(event: ConsoleEvent) -> int:
    return _EVENT_BYTES + _output_bytes(event)
