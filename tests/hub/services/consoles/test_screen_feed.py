"""Screens of consoles as text: one look for all who follow, the newest, and not too many."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgpack
import pytest

from cloche_hub.domain.console import Console, ended
from cloche_hub.services.consoles import screen_feed
from cloche_hub.services.consoles.display import Shown
from cloche_hub.services.consoles.screen_feed import Look, ScreenFeed, ScreenFeeds
from cloche_term import TerminalLost
from cloche_term.apart.frames import MOST_TEXT
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from tests.hub.domain.examples import MOMENT, console
from tests.support.hub import within


class Showing:
    """A console whose output a test makes up."""

    def __init__(self, terminal: ApartTerminal) -> None:
        self.console: Console = replace(console(), title="vim")
        self.terminal = terminal
        self.offset = self.revision = self.looks = 0
        self.cost_s = 0.0
        self.is_closed = False
        self._changed = asyncio.Event()

    async def shows(self, data: bytes) -> None:
        await within(self.terminal.feed(data))
        self.offset += len(data)
        self.revision += 1
        self._changed.set()

    def close(self) -> None:
        self.is_closed = True
        self.terminal.kill()
        self._changed.set()

    async def wait_changed(self, revision: int) -> None:
        while self.revision == revision and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()

    async def look(self) -> Shown:
        self.looks += 1
        look = await self.terminal.look()
        return Shown(look, self.offset, self.revision, self.cost_s)


@pytest.fixture
async def showing(terminals: Terminals) -> Showing:
    return Showing(await terminals.open(4, 20))


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many looks as anybody likes."""
    monkeypatch.setattr(screen_feed, "MOST_A_SECOND", 1e9)
    monkeypatch.setattr(screen_feed, "_REST", 0)


def first_line_of(look: Look | None) -> str:
    assert look is not None
    return str(msgpack.unpackb(look.packed)["lines"][0])


async def test_a_look_says_what_shows_and_where_the_cursor_is(showing: Showing) -> None:
    await showing.shows(b"one\r\ntwo\r\nthree\r\nfour\r\nfive\x1b[?25l")
    look = await within(ScreenFeed(showing).newer(None))
    assert look is not None
    assert msgpack.unpackb(look.packed) == {
        "rows": 4,
        "cols": 20,
        "lines": ["two", "three", "four", "five"],
        "cursor": {"row": 3, "col": 4, "is_visible": False},
        "title": "vim",
        "is_alternate": False,
        "first_line": 1,
        "offset": 33,
        "state": "open",
        "driver": None,
    }


async def test_all_who_follow_get_the_same_look(showing: Showing, fast: None) -> None:
    feeds = ScreenFeeds()
    with feeds.of(showing) as one, feeds.of(showing) as other:
        assert one is other
        first = await within(one.newer(None))
        assert await within(other.newer(None)) is first
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(within(feed.newer(first))) for feed in (one, other, one)]
            await asyncio.sleep(0)
            await showing.shows(b"more")
        second = {task.result() for task in waiting}
        assert len(second) == 1
        assert first_line_of(second.pop()) == "more"
    with feeds.of(showing) as later:
        assert later is not one


async def test_who_is_late_gets_the_newest_and_nothing_in_between(showing: Showing, fast: None) -> None:
    feed = ScreenFeed(showing)
    first = await within(feed.newer(None))
    for letter in (b"\ra", b"\rb", b"\rc"):
        await showing.shows(letter)
        await asyncio.sleep(0)
    last = await within(feed.newer(first))
    assert first_line_of(last) == "c"
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(feed.newer(last))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()


async def test_looks_are_taken_no_more_often_than_they_may(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, slept = 100.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("asyncio.sleep", sleep)
    feed = ScreenFeed(showing)
    look = await feed.newer(None)
    for number in range(1, screen_feed.AT_ONCE):
        await showing.shows(b"\r%d" % number)
        look = await feed.newer(look)
    assert not slept
    for number in range(3):
        await showing.shows(b"\rlater %d" % number)
        look = await feed.newer(look)
        assert first_line_of(look) == f"later {number}"
    assert slept == [pytest.approx(1 / screen_feed.MOST_A_SECOND)] * 3


async def test_an_end_is_seen_although_nothing_more_is_shown(showing: Showing, fast: None) -> None:
    feed = ScreenFeed(showing)
    await showing.shows(b"bye")
    first = await within(feed.newer(None))
    showing.console = ended(showing.console, at=MOMENT)
    last = await within(feed.newer(first))
    assert last is not None
    assert msgpack.unpackb(last.packed)["state"] == "ended"
    showing.close()
    assert await within(feed.newer(last)) is None
    assert await within(feed.newer(first)) is last


async def test_a_follower_learns_that_the_screen_is_gone(showing: Showing) -> None:
    feed = ScreenFeed(showing)
    first = await within(feed.newer(None))
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(within(feed.newer(first)))
        await asyncio.sleep(0)
        showing.close()
    assert waiting.result() is None
    assert await within(ScreenFeed(showing).newer(None)) is None


async def test_a_screen_that_is_gone_while_it_is_looked_at_is_the_end(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def close_meanwhile() -> Shown:
        showing.close()
        raise TerminalLost("closed")

    monkeypatch.setattr(showing, "look", close_meanwhile)
    assert await within(ScreenFeed(showing).newer(None)) is None


async def test_who_asks_while_a_look_is_taken_gets_that_one_also_if_who_took_it_leaves(
    showing: Showing, fast: None
) -> None:
    feed = ScreenFeed(showing)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(within(feed.newer(None))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await within(asyncio.wait(waiting))
    assert waiting[1].result() is waiting[2].result()
    # Of the one who left, and one for the others.
    assert showing.looks == 2


async def test_after_a_dear_look_there_is_none_for_a_multiple_of_what_it_took(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, slept = 100.0, []
    rest = asyncio.sleep

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds
        await rest(0)

    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("asyncio.sleep", sleep)
    feed, showing.cost_s = ScreenFeed(showing), 0.5
    look = await feed.newer(None)
    await showing.shows(b"x")
    await feed.newer(look)
    assert slept == [pytest.approx(1.5)]


async def test_the_largest_screen_of_letters_is_told_whole_and_none_is_ever_larger(
    terminals: Terminals,
) -> None:
    showing = Showing(await terminals.open(1000, 1000))
    await showing.shows(b"x" * 1_000_000)
    look = await within(ScreenFeed(showing).newer(None))
    assert look is not None
    assert msgpack.unpackb(look.packed)["lines"] == ["x" * 1000] * 1000
    await showing.shows(b"\x1b[H" + "\u20ac".encode() * 1_000_000)
    look = await within(ScreenFeed(showing).newer(None))
    assert look is not None
    assert len(look.packed) < MOST_TEXT * 1.01
    assert set(msgpack.unpackb(look.packed)["lines"]) == {"\u20ac" * 333}
