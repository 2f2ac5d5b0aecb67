"""What has changed, told to whoever is interested: the newest state of each thing, never a backlog.

    with changes.subscribed() as news:
        while True:
            change = await news.next()

Publishers are services, subscribers the requests that follow them. Nothing here knows what a value is.

Rule: publishing never waits and never fails, whoever listens however slowly.
Rule: a subscriber that is behind gets the latest value of each (topic, key) once, in the order of their first change;
one that is behind in more things than `most` is ended with TooLarge, and may begin anew from the current state.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from cloche_hub.errors import TooLarge

MOST = 4096
"""Things of which a subscriber may have changes waiting."""


@dataclass(frozen=True, slots=True)
class Change:
    """The newest state of one thing."""

    topic: str
    """Such as `approval`."""
    key: str
    """The thing's id."""
    value: object
    """The thing as it is now; None: it is gone."""


class News:
    """One subscriber's changes; from `Changes.subscribed`."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._waiting: dict[tuple[str, str], Change] = {}
        self._arrived = asyncio.Event()
        self._is_behind = False

    async def next(self) -> Change:
        """The next change, once there is one. For one coroutine at a time; cancelling loses nothing.

        Raises:
            TooLarge: too many things have changed since the last call.
        """
        while not self._waiting:
            if self._is_behind:
                raise TooLarge(
                    f"more than {self._most} things have changed while nobody read; subscribe again for their state"
                )
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.pop(next(iter(self._waiting)))

    def take(self, change: Change) -> None:
        """Keeps a change for `next`, in the place of an older one of the same thing."""
        place = (change.topic, change.key)
        if place not in self._waiting and len(self._waiting) >= self._most:
            self._is_behind = True
        if self._is_behind:
            # What it would still read is old already.
            self._waiting.clear()
        else:
            self._waiting[place] = change
        self._arrived.set()


class Changes:
    """Publishers on one side, subscribers on the other."""

    def __init__(self) -> None:
        self._subscribers: set[News] = set()

    def publish(self, topic: str, key: str, value: object) -> None:
        """Tells every subscriber the newest state of a thing; None says that it is gone."""
        change = Change(topic, key, value)
        for news in self._subscribers:
            news.take(change)

    @contextlib.contextmanager
    def subscribed(self, *, most: int = MOST) -> Iterator[News]:
        """Everything published from now on, until the context is left.

        Read the current state after entering: a change meanwhile is then told twice, but none is missed.
        """
        news = News(most=most)
        self._subscribers.add(news)
        try:
            yield news
        finally:
            self._subscribers.discard(news)
