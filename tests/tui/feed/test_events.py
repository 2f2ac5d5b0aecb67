"""How what the hub tells reaches the app: whole at first, at once after a quiet while, never too often."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from textual.message import Message

from cloche import Event
from cloche_tui.feed import events as module
from cloche_tui.feed.events import INTERVAL_S, Gathering, follow_events
from cloche_tui.messages import Begun, EventsArrived
from tests.support.hub import until
from tests.tui.support import hub_on_fakes

END = Event("current_end", None, None)


def _event(number: int) -> Event:
    return Event(f"topic-{number}", "changed", None)


class _Source:
    """A subscription that a test feeds."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self.taken = 0

    def tell(self, *events: Event) -> None:
        for event in events:
            self._events.put_nowait(event)

    async def read(self) -> AsyncIterator[Event]:
        while True:
            event = await self._events.get()
            self.taken += 1
            yield event


class _Pauses:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._over.clear()
        await self._over.wait()

    def pass_on(self) -> None:
        self._over.set()


class _Stage:
    """A gathering at work, with its ends in the test's hands."""

    def __init__(self) -> None:
        self.source, self.pauses = _Source(), _Pauses()
        self.posted: list[Message] = []
        self.gathering = Gathering(self.posted.append, self.pauses)

    @property
    def batches(self) -> list[list[Event]]:
        return [list(message.events) for message in self.posted if isinstance(message, EventsArrived)]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            work = [
                tasks.create_task(self.gathering.tell_for_ever()),
                tasks.create_task(self.gathering.gather(self.source.read())),
            ]
            yield
            for task in work:
                task.cancel()


async def test_what_there_is_comes_as_a_whole_behind_the_word_that_it_begins() -> None:
    stage = _Stage()
    async with stage.running():
        stage.source.tell(_event(1), _event(2))
        await until(lambda: stage.source.taken == 2)
        assert stage.posted == []
        stage.source.tell(END)
        await until(lambda: len(stage.posted) == 2)
    assert isinstance(stage.posted[0], Begun)
    assert stage.batches == [[_event(1), _event(2), END]]


async def test_what_comes_after_a_quiet_while_is_told_at_once_and_what_follows_is_gathered() -> None:
    stage = _Stage()
    async with stage.running():
        stage.source.tell(END)
        await until(lambda: stage.pauses.asked == [INTERVAL_S])
        stage.pauses.pass_on()
        stage.source.tell(_event(1))
        await until(lambda: len(stage.batches) == 2)
        stage.source.tell(_event(2), _event(3))
        await until(lambda: stage.source.taken == 4)
        assert len(stage.batches) == 2, "not before the pause is over"
        stage.pauses.pass_on()
        await until(lambda: len(stage.batches) == 3)
    assert stage.batches[1:] == [[_event(1)], [_event(2), _event(3)]]
    assert sum(isinstance(message, Begun) for message in stage.posted) == 1


async def test_who_tells_faster_than_the_app_is_told_is_not_read_any_more() -> None:
    stage = _Stage()
    async with stage.running():
        stage.source.tell(END)
        await until(lambda: len(stage.batches) == 1)
        stage.source.tell(*(_event(number) for number in range(module._MOST_AT_ONCE + 5)))
        await until(lambda: stage.source.taken == module._MOST_AT_ONCE + 1)
        stage.pauses.pass_on()
        await until(lambda: len(stage.batches) == 2)
        await until(lambda: stage.source.taken == module._MOST_AT_ONCE + 6)
    assert len(stage.batches[1]) == module._MOST_AT_ONCE


async def test_a_fleet_that_is_large_is_told_in_parts(tmp_path: Path) -> None:
    stage = _Stage()
    async with stage.running():
        stage.source.tell(*(_event(number) for number in range(module._MOST_AT_ONCE)))
        await until(lambda: len(stage.batches) == 1)
    assert isinstance(stage.posted[0], Begun)


async def test_a_hub_s_sandboxes_are_told_as_they_are_and_as_they_change(tmp_path: Path) -> None:
    posted: list[Message] = []

    def seen() -> list[tuple[str, str | None]]:
        batches = [message.events for message in posted if isinstance(message, EventsArrived)]
        return [(event.topic, event.change) for events in batches for event in events]

    async with hub_on_fakes(tmp_path) as (_hub, client), asyncio.TaskGroup() as tasks:
        await client.create(name="box")
        following = tasks.create_task(follow_events(client, posted.append))
        await until(lambda: ("current_end", None) in seen())
        assert ("sandbox", "current") in seen()
        other = await client.create(name="other")
        await until(lambda: ("sandbox", "changed") in seen())
        await other.remove()
        await until(lambda: ("sandbox", "gone") in seen())
        following.cancel()
