"""What has changed, told to whoever is interested: the newest state of each thing, never a backlog.

    with changes.subscribed() as news:
        while True:
            change = await news.next()

Publishers are services, subscribers the requests that follow them. Nothing here knows what a value is.

Rule: publishing never waits and never fails, whoever listens however slowly.
Rule: a subscriber that is behind gets the latest value of each (topic, key) once, in the order of their first change;
one that is behind in more things than `most` is ended with TooLarge, and may begin anew from the current state.
Rule: what does not concern a subscriber is never kept for it, and nobody has more than `MOST_OF_ONE` subscriptions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cloche_hub.errors import TooLarge

MOST = 4096
"""Things of which a subscriber may have changes waiting."""


MOST_OF_ONE = 32
"""Subscriptions of one token at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """The newest state of one thing."""

    topic: str
    """Such as `approval`."""
    key: str
    """The thing's id."""
    value: object
    """The thing as it is now; None: it is gone."""


def _everything(_value: object) -> bool:
    return True


class News:
    """One subscriber's changes; from `Changes.subscribed`."""

    def __init__(self, *, of: str, concerns: Callable[[object], bool], most: int) -> None:
        self.of, self._concerns = of, concerns
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
        """Keeps a change for `next`, in the place of an older one of the same thing; or not, if it is no concern."""
        if not self._concerns(change.value):
            return
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
    def subscribed(
        self, *, of: str = "", concerns: Callable[[object], bool] = _everything, most: int = MOST
    ) -> Iterator[News]:
        """Everything published from now on, until the context is left.

        Read the current state after entering: a change meanwhile is then told twice, but none is missed.

        Args:
            of: whose it is: a token's id.
            concerns: whether a value is of any concern to it; one that is not now must never be.
            most: things it may be behind in.

        Raises:
            TooLarge: it has as many as one may.
        """
        if sum(news.of == of for news in self._subscribers) >= MOST_OF_ONE:
            raise TooLarge(
                f"this token follows events {MOST_OF_ONE} times already; end some of these requests"
            )
        news = News(of=of, concerns=concerns, most=most)
        self._subscribers.add(news)
        try:
            yield news
        finally:
            self._subscribers.discard(news)
