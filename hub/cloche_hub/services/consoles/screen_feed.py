"""Screens of consoles as text, for those who look without being viewers: the newest, and never a backlog.

    with feeds.of(live) as feed:
        look = await feed.newer(None)

Rules:
- One look at a console serves all who follow it. Nobody looks, nothing is made.
- At most `MOST_A_SECOND` looks, a few of which may come at once: who waits for a prompt sees the echo and the prompt
  as they come. Of a dear screen fewer, so that they take a quarter of a processor at most.
- SAFETY: the guest chose what shows and how large the screen is: what is told of one is bounded by who reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgpack

from cloche_hub.domain.console import Console
from cloche_hub.services.consoles.display import Shown
from cloche_term import TerminalLost

MOST_A_SECOND = 30
AT_ONCE = 6
_REST = 3


class Showing(Protocol):
    """A console with a screen, as those see it who only look."""

    @property
    def console(self) -> Console:
        """As it is now."""
        ...

    @property
    def revision(self) -> int:
        """Another number whenever the screen may be another."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the terminal is gone."""
        ...

    async def wait_changed(self, revision: int) -> None:
        """Returns when the screen may be another than at that revision, or is closed."""
        ...

    async def look(self) -> Shown:
        """The screen as text.

        Raises:
            TerminalLost: it is closed.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What was seen at one moment."""

    revision: int
    state: str
    """The console's."""
    driver: str | None
    packed: bytes
    """The message that tells it."""


class ScreenFeed:
    """The looks at one console, shared by all who follow it; from `ScreenFeeds.of`."""

    def __init__(self, showing: Showing) -> None:
        self.followers = 0
        self._showing, self._taking = showing, asyncio.Lock()
        self._look: Look | None = None
        self._not_before = 0.0
        # When as many have been taken as may be, were they taken evenly.
        self._even_until = 0.0

    async def newer(self, seen: Look | None) -> Look | None:
        """The newest look, once it is another than the one that was seen; None when there will be none any more.

        Cancelling loses nothing.
        """
        while not self._showing.is_closed:
            look = self._look
            if look is None or self._is_old(look):
                if (pause_s := self._not_before - time.monotonic()) > 0:
                    await asyncio.sleep(pause_s)
                    continue
                look = await self._taken(look)
                if look is None:
                    break
            if look is not seen:
                return look
            await self._showing.wait_changed(look.revision)
        # Who has not seen the last one yet gets it; there is no other.
        return self._look if self._look is not seen else None

    def _is_old(self, look: Look) -> bool:
        showing = self._showing
        now = (showing.revision, str(showing.console.state), showing.console.driver)
        return (look.revision, look.state, look.driver) != now

    async def _taken(self, old: Look | None) -> Look | None:
        """Another look than an old one, taken here or meanwhile; None if the screen is gone."""
        async with self._taking:
            if self._look is not old:
                return self._look
            began = time.monotonic()
            try:
                shown = await self._showing.look()
            except TerminalLost:
                return None
            self._look = look_at(self._showing.console, shown)
            self._even_until = max(self._even_until, began) + 1 / MOST_A_SECOND
            rested_at = time.monotonic() + _REST * shown.cost_s
            self._not_before = max(self._even_until - (AT_ONCE - 1) / MOST_A_SECOND, rested_at)
            return self._look


class ScreenFeeds:
    """The feeds of all consoles that somebody looks at."""

    def __init__(self) -> None:
        self._feeds: dict[Showing, ScreenFeed] = {}

    @contextlib.contextmanager
    def of(self, showing: Showing) -> Iterator[ScreenFeed]:
        """The feed of a console, for the time of the context."""
        feed = self._feeds.setdefault(showing, ScreenFeed(showing))
        feed.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers:
                del self._feeds[showing]


def look_at(console: Console, shown: Shown) -> Look:
    """What a console shows at this moment."""
    packed = msgpack.packb(screen_fields(console, shown), use_bin_type=True)
    return Look(shown.revision, str(console.state), console.driver, packed)


def screen_fields(console: Console, shown: Shown) -> dict[str, Any]:
    """What is told of a screen."""
    look = shown.look
    return {
        "rows": look.rows,
        "cols": look.cols,
        "lines": look.lines,
        "cursor": {"row": look.cursor_row, "col": look.cursor_col, "is_visible": look.is_cursor_visible},
        "title": console.title,
        "is_alternate": look.is_alternate,
        "first_line": look.first_line,
        "offset": shown.offset,
        "state": str(console.state),
        "driver": console.driver,
    }
