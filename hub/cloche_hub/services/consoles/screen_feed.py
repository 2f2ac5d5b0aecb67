"""Screens of consoles as text, for those who look without being viewers: the newest, and never a backlog.

    with feeds.of(live) as feed:
        look = await feed.newer(None)

Rules:
- One look at a console serves all who follow it. Nobody looks, nothing is made.
- At most `MOST_A_SECOND` looks, a few of which may come at once: who waits for a prompt sees the echo and the prompt
  as they come. Of a dear screen fewer, so that they take a quarter of the loop at most.
- SAFETY: the guest chose what shows and how large the screen is: what is told of one is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgpack

from cloche_hub.domain.console import Console
from cloche_term import Terminal

MOST_A_SECOND = 30
AT_ONCE = 6
MOST_TEXT = 1_000_000
"""Bytes of a screen's text: every screen of plain letters, and less than a client takes in one message."""
_REST = 3


class Showing(Protocol):
    """A console with a screen, as those see it who only look."""

    @property
    def console(self) -> Console:
        """As it is now."""
        ...

    @property
    def terminal(self) -> Terminal: ...

    @property
    def offset(self) -> int:
        """Bytes of output the terminal has seen."""
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
        self._showing = showing
        self._look: Look | None = None
        self._not_before = 0.0
        # When as many have been taken as may be, were they taken evenly.
        self._even_until = 0.0

    async def newer(self, seen: Look | None) -> Look | None:
        """The newest look, once it is another than the one that was seen; None when there will be none any more.

        Cancelling loses nothing.
        """
        while not self._showing.is_closed:
            if self._look is None or self._is_old(self._look):
                if (pause_s := self._not_before - time.monotonic()) > 0:
                    await asyncio.sleep(pause_s)
                    continue
                self._look = self._take_look()
            if self._look is not seen:
                return self._look
            await self._showing.wait_changed(self._look.revision)
        # Who has not seen the last one yet gets it; there is no other.
        return self._look if self._look is not seen else None

    def _is_old(self, look: Look) -> bool:
        showing = self._showing
        now = (showing.revision, str(showing.console.state), showing.console.driver)
        return (look.revision, look.state, look.driver) != now

    def _take_look(self) -> Look:
        began = time.monotonic()
        showing = self._showing
        look = look_at(showing.console, showing.terminal, revision=showing.revision, offset=showing.offset)
        now = time.monotonic()
        self._even_until = max(self._even_until, began) + 1 / MOST_A_SECOND
        self._not_before = max(self._even_until - (AT_ONCE - 1) / MOST_A_SECOND, now + _REST * (now - began))
        return look


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


def look_at(console: Console, terminal: Terminal, *, revision: int, offset: int) -> Look:
    """What a console shows at this moment."""
    packed = msgpack.packb(screen_fields(console, terminal, offset=offset), use_bin_type=True)
    return Look(revision, str(console.state), console.driver, packed)


def screen_fields(console: Console, terminal: Terminal, *, offset: int) -> dict[str, Any]:
    """What is told of a screen."""
    cursor = terminal.cursor
    return {
        "rows": terminal.rows,
        "cols": terminal.cols,
        "lines": _bounded(terminal.text()),
        "cursor": {"row": cursor.row, "col": cursor.col, "is_visible": cursor.is_visible},
        "title": console.title,
        "is_alternate": terminal.modes.is_alternate,
        "first_line": terminal.first_line,
        "offset": offset,
        "state": str(console.state),
        "driver": console.driver,
    }


def _bounded(lines: Sequence[str]) -> list[str]:
    most = MOST_TEXT // len(lines)
    return [line if len(line) * 4 <= most else _cut(line, most) for line in lines]


def _cut(line: str, most: int) -> str:
    return line.encode()[:most].decode(errors="ignore")
