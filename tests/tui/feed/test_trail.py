"""How the audit comes from a hub to the list: what is wanted, the rows that are looked at, and what comes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message

from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.errors import NotFound
from cloche.filters import parse_filter
from cloche.link_news import OnLink
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.services.records import noting
from cloche_tui.feed.session import NotConnected, Patience, Session
from cloche_tui.feed.trail import TrailFeed
from cloche_tui.model.trail import MOST_ROWS, Trail
from cloche_wire.aio import Channel
from tests.support.hub import RunningHub, running_hub, until
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import TOKEN, answer, refuse
from tests.tui.trail_values import write_many

QUICK = Patience(first_s=0.01, longest_s=0.02, refused_s=0.03)


class Reader:
    """A feed at work.

    Attributes:
        changes: how often something has changed.
    """

    def __init__(self, address: str, token: str) -> None:
        def connect(on_link: OnLink) -> Pending[Hub]:
            return Hub.connect(address, token, reconnect_s=5, on_link=on_link)

        self.session = Session(connect, _ignore, patience=QUICK)
        self.trail, self.changes = Trail(), 0
        self.feed = TrailFeed(self.session, self.trail, self._changed, pause=_a_moment)

    def _changed(self) -> None:
        self.changes += 1

    @property
    def numbers(self) -> list[int]:
        return [self.trail.number_at(index) for index in range(len(self.trail))]

    async def look_at(self, first: int, count: int) -> None:
        """Has the rows in these places here."""
        self.feed.look_at(first, count)
        places = range(first, min(first + count, len(self.trail)))
        await until(lambda: all(self.trail.row(place) for place in places))

    async def until_first(self, event: str, count: int) -> None:
        """Waits until there are so many, and the first of them is this one."""
        self.feed.look_at(0, count)
        await until(lambda: len(self.trail) == count and self._first == event)

    @property
    def _first(self) -> str | None:
        row = self.trail.row(0)
        return None if row is None else row.event


def _ignore(_message: Message) -> None:
    pass


async def _a_moment(_seconds: float) -> None:
    await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def reading(hub: RunningHub | LocalHub, token: str = TOKEN) -> AsyncIterator[Reader]:
    reader = Reader(hub.address, hub.admin if isinstance(hub, RunningHub) and token == TOKEN else token)
    async with asyncio.TaskGroup() as tasks:
        working = [tasks.create_task(reader.session.run()), tasks.create_task(reader.feed.run())]
        try:
            yield reader
        finally:
            for one in working:
                one.cancel()


@contextlib.asynccontextmanager
async def local_hub(socket: Path) -> AsyncIterator[LocalHub]:
    """A hub whose answers a test can change."""

    async def tell_nothing(channel: Channel) -> None:
        channel.accept()
        await channel.wait_confirmed()

    async with LocalHub(socket) as hub:
        hub.handlers["events"] = tell_nothing
        yield hub


def reads(hub: LocalHub) -> list[list[int]]:
    """The numbers of the events that were asked for, request by request."""
    return [params["numbers"] for kind, params in hub.asked if kind == "audit.read"]


async def note(hub: RunningHub, *details: dict[str, Any]) -> None:
    def change(transaction: Any) -> None:
        for detail in details:
            noting(AuditName.CACHE_PRUNED, actor="hub", detail=detail)(transaction)

    await hub.store.write(change)


async def test_a_hundred_thousand_events_are_scrolled_from_end_to_end_a_screen_at_a_time(
    tmp_path: Path,
) -> None:
    count, screen = 100_000, 200
    write_many(tmp_path / "home", count)
    async with running_hub(tmp_path / "home") as hub, reading(hub) as reader:
        await until(lambda: len(reader.trail) > count)
        seen = 0
        for first in range(0, count, screen):
            await reader.look_at(first, screen)
            for place in range(first, first + screen):
                row = reader.trail.row(place)
                assert row is not None
                assert row.about == f'argv: ["print", "{place + 1}"]'
                seen += 1
        assert seen == count
        assert sum(reader.trail.kept(number) is not None for number in range(1, count + 1)) <= MOST_ROWS


async def test_a_filter_leaves_what_is_wanted_of_a_hundred_thousand_events(tmp_path: Path) -> None:
    write_many(tmp_path / "home", 100_000)
    async with running_hub(tmp_path / "home") as hub, reading(hub) as reader:
        reader.feed.want(parse_filter("event=exec.failed"))
        await until(lambda: len(reader.trail) == 1000 and not reader.trail.is_searching)
        assert reader.numbers == list(range(100, 100_001, 100))
        await reader.look_at(500, 40)
        # An expression is put to what the hub finds by the text in it.
        reader.feed.want(parse_filter(r"event=exec.failed /print.*77\d00/"))
        await until(lambda: 0 < len(reader.trail) < 1000 and not reader.trail.is_searching)
        assert reader.numbers == [77_000 + 100 * digit for digit in range(10)]


async def test_what_happens_is_there_at_once_also_behind_a_filter(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, reading(hub) as reader:
        await until(lambda: len(reader.trail))
        before = len(reader.trail)
        await note(hub, {"kind": "tea"}, {"kind": "milk"})
        await until(lambda: len(reader.trail) == before + 2)
        reader.feed.want(parse_filter("kind=milk"))
        await until(lambda: reader.numbers == [before + 2])
        await note(hub, {"kind": "tea"}, {"kind": "milk"})
        await until(lambda: reader.numbers == [before + 2, before + 4])


async def test_an_owner_sees_what_is_about_its_own_sandboxes(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as admin:
        token = await hub.mint("alice")
        async with hub.client(token) as alice, reading(hub, token) as reader:
            await admin.create(name="theirs")
            await alice.create(name="mine")
            await until(lambda: len(reader.trail) == 2 and not reader.trail.is_searching)
            await reader.look_at(0, 2)
            assert [(row.event, row.sandbox_name) for row in map(reader.trail.row, (0, 1)) if row] == [
                ("sandbox.created", "mine"),
                ("sandbox.started", "mine"),
            ]
            theirs = next(n for n in range(1, 99) if n not in reader.numbers)
            with pytest.raises(NotFound, match="no event"):
                await reader.feed.event(theirs)


async def test_an_event_is_read_in_full_with_names(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, reading(hub) as reader:
        made = await client.create(name="box")
        await until(lambda: reader.session.is_up)
        number = hub.store.audit.head.seq
        page = await reader.feed.event(number)
        assert (page.events[0].seq, page.names[made["id"]]) == (number, "box")


async def test_without_a_hub_nothing_is_asked(tmp_path: Path) -> None:
    reader = Reader(f"unix://{tmp_path}/hub.sock", TOKEN)
    with pytest.raises(NotConnected):
        await reader.feed.event(1)


async def test_what_is_typed_on_is_searched_for_once_it_stays(tmp_path: Path) -> None:
    async with local_hub(tmp_path / "hub.sock") as hub, reading(hub) as reader:
        for number in range(3):
            await hub.note("test.happened", None, {"number": f"n{number}"})
        await until(lambda: len(reader.trail) == 3)
        for text in ("n", "n1", "n2", "n1"):
            reader.feed.want(parse_filter(text))
        await until(lambda: reader.numbers == [2])
        reader.feed.want(None)
        await until(lambda: len(reader.trail) == 3)


async def test_what_the_hub_does_not_have_is_asked_for_once(tmp_path: Path) -> None:
    async with local_hub(tmp_path / "hub.sock") as hub:
        for _ in range(3):
            await hub.note("test.happened", None, {})
        hub.handlers["audit.read"] = answer({"names": {}})
        async with reading(hub) as reader:
            await until(lambda: len(reader.trail) == 3)
            reader.feed.look_at(0, 3)
            await until(lambda: reads(hub))
            await hub.note("test.happened", None, {})
            await until(lambda: len(reader.trail) == 4)
            reader.feed.look_at(0, 4)
            await until(lambda: len(reads(hub)) > 1)
            assert reads(hub) == [[1, 2, 3], [4]]


async def test_rows_that_do_not_come_are_asked_for_again_and_the_trouble_is_told(tmp_path: Path) -> None:
    async with local_hub(tmp_path / "hub.sock") as hub:
        read = hub.handlers["audit.read"]
        hub.handlers["audit.read"] = refuse(NotFound("the disk is away"))
        await hub.note("test.happened", None, {})
        async with reading(hub) as reader:
            await until(lambda: len(reader.trail))
            reader.feed.look_at(0, 10)
            await until(lambda: reader.feed.trouble == "the disk is away")
            hub.handlers["audit.read"] = read
            await until(lambda: reader.trail.row(0))
            assert reader.feed.trouble is None


async def test_a_search_that_fails_says_why_and_is_begun_again(tmp_path: Path) -> None:
    async with local_hub(tmp_path / "hub.sock") as hub:
        search = hub.handlers["audit.search"]
        hub.handlers["audit.search"] = refuse(NotFound("not now"))
        await hub.note("test.happened", None, {})
        async with reading(hub) as reader:
            await until(lambda: reader.feed.trouble == "not now")
            hub.handlers["audit.search"] = search
            await until(lambda: len(reader.trail) == 1)
            assert reader.feed.trouble is None


async def test_after_a_lost_hub_another_ones_events_are_shown(tmp_path: Path) -> None:
    socket = tmp_path / "hub.sock"
    async with asyncio.TaskGroup() as tasks:
        reader = Reader(f"unix://{socket}", TOKEN)
        working = [tasks.create_task(reader.session.run()), tasks.create_task(reader.feed.run())]
        for name, count in (("first", 3), ("second", 1)):
            async with local_hub(socket) as hub:
                for _ in range(count):
                    await hub.note(f"{name}.happened", None, {})
                await reader.until_first(f"{name}.happened", count)
        for one in working:
            one.cancel()
