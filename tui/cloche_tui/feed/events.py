"""What the hub tells, gathered so that the screen is not changed more often than anybody can look.

At once after a quiet while, else `INTERVAL_S` after the last time. Who is told too slowly is not told faster: the hub
keeps the newest state of each thing for a subscription that does not read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from textual.message import Message

from cloche import Event
from cloche.aio import Hub
from cloche_tui.messages import Begun, EventsArrived
from cloche_wire.errors import ungrouped

Post = Callable[[Message], object]
"""Tells the app. It does not wait."""

TOPICS = ("sandbox", "console", "approval", "usage")
INTERVAL_S = 0.1
_MOST_AT_ONCE = 1000


async def follow_events(
    hub: Hub, post: Post, *, pause: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Tells what there is and what changes, until the subscription ends.

    Cancelling loses what has not been told yet.

    Args:
        hub: a connection.
        post: told `Begun` once, then `EventsArrived`.
        pause: how to wait for some seconds.

    Raises:
        CodedError: why it has ended. With LinkLost and TooLarge the connection may be good: begin anew.
    """
    gathering = Gathering(post, pause)
    async with contextlib.aclosing(hub.events(topics=TOPICS)) as events:
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                telling = tasks.create_task(gathering.tell_for_ever())
                await gathering.gather(events)
                telling.cancel()


class Gathering:
    """Events on their way from a subscription to the app.

    Args:
        post: tells the app.
        pause: how to wait for some seconds.
    """

    def __init__(self, post: Post, pause: Callable[[float], Awaitable[object]]) -> None:
        self._post, self._pause = post, pause
        self._waiting: list[Event] = []
        self._ready, self._room = asyncio.Event(), asyncio.Event()
        self._is_begun, self._is_whole = False, False

    async def gather(self, events: AsyncIterator[Event]) -> None:
        """Reads a subscription to its end."""
        async for event in events:
            self._waiting.append(event)
            is_full = len(self._waiting) >= _MOST_AT_ONCE
            # What there is comes as a whole, so that a table does not grow row by row as it is first shown.
            self._is_whole = self._is_whole or event.topic == "current_end"
            if self._is_whole or is_full:
                self._ready.set()
            if is_full:
                self._room.clear()
                await self._room.wait()

    async def tell_for_ever(self) -> None:
        """Tells the app what has been gathered."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            events, self._waiting = self._waiting, []
            self._room.set()
            if not self._is_begun:
                self._is_begun = True
                self._post(Begun())
            self._post(EventsArrived(events))
            await self._pause(INTERVAL_S)
