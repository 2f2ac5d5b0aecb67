"""The audit view as a person has it before them: a hub that writes events, and keys that mean what the registry says.

async with audit_desk(tmp_path, events=500) as desk:
    await desk.until(lambda: "500" in desk.text)
    await desk.press("up", "enter")
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.errors import CodedError
from cloche.filters import parse_filter
from cloche.link_news import OnLink
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.services.records import noting
from cloche_hub.store.transaction import Transaction
from cloche_tui.actions import Place, meant_by
from cloche_tui.feed.session import Patience, Session
from cloche_tui.messages import Begun, EventsArrived
from cloche_tui.model.roles import Role
from cloche_tui.model.world import World
from cloche_tui.views.audit import AuditView
from cloche_tui.views.view import ALL
from tests.support.hub import BOUND_S, RunningHub, running_hub
from tests.tui.support import NOW, HostApp, screen_text
from tests.tui.trail_values import write_many

QUICK = Patience(first_s=0.01, longest_s=0.02, refused_s=0.03)


class AuditDesk(HostApp):
    """A dashboard with the audit view alone.

    Args:
        hub: what it shows.
        token: who looks.
    """

    def __init__(self, hub: RunningHub, token: str) -> None:
        def connect(on_link: OnLink) -> Pending[Hub]:
            return Hub.connect(hub.address, token, reconnect_s=5, on_link=on_link)

        session = Session(connect, self.post_message, patience=QUICK)
        self.view = AuditView()
        super().__init__(self.view, session=session, world=World(session.state, now=NOW))
        self.hub = hub
        self.pilot: Pilot[None]

    def on_mount(self) -> None:
        self.run_worker(self.session.run())
        self.view.show(self.world, ALL)
        self.view.focus_main()

    def on_begun(self, _message: Begun) -> None:
        self.world.begin()

    def on_events_arrived(self, message: EventsArrived) -> None:
        self.view.show(self.world, self.world.apply(message.events))

    async def on_key(self, event: events.Key) -> None:
        """A key that the view has not taken: what it means in the registry is done, as the dashboard does it."""
        action = meant_by(event.key, Place.AUDIT, {})
        if action is None:
            return
        try:
            assert await self.view.run(action.id, "")
        except CodedError as error:
            self.say(error.message, Role.BAD)

    @property
    def text(self) -> str:
        return screen_text(self)

    @property
    def last_line(self) -> str:
        """What the line below the list says."""
        return self.text.rstrip().splitlines()[-1].strip()

    @property
    def rows(self) -> list[int]:
        """The numbers of the events on the screen."""
        shown = [line.split() for line in self.text.splitlines()[1:-1]]
        return [int(words[0]) for words in shown if words and words[0].isdigit()]

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until it holds; fails with what is on the screen."""
        try:
            async with asyncio.timeout(BOUND_S):
                while not condition():
                    await self.pilot.pause(0.01)
        except TimeoutError:
            pytest.fail(f"it was waited for in vain:\n{self.text}\n{self.said}")

    async def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def note(self, count: int = 1, name: AuditName = AuditName.CACHE_PRUNED) -> None:
        """Something happens."""

        def change(transaction: Transaction) -> None:
            for number in range(count):
                noting(name, actor="hub", detail={"number": number})(transaction)

        await self.hub.store.write(change)

    def filter(self, text: str) -> None:
        """Filters as if it was typed."""
        self.view.set_filter(parse_filter(text))


@contextlib.asynccontextmanager
async def audit_desk(
    folder: Path, *, events: int = 0, size: tuple[int, int] = (100, 20), owner: str | None = None
) -> AsyncIterator[AuditDesk]:
    """A hub on fakes whose audit has so many events besides its own start, and somebody who looks at it."""
    if events:
        write_many(folder / "home", events)
    async with running_hub(folder / "home") as hub:
        desk = AuditDesk(hub, hub.admin if owner is None else await hub.mint(owner))
        async with desk.run_test(size=size) as pilot:
            desk.pilot = pilot
            yield desk
