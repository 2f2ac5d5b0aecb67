"""The approvals view as a person has it before them, with keys that mean what the registry says, and a clock of its own.

    desk = Desk(apr(1), apr(2))                        # what waits, told by the test
    async with desk.run_test(size=(100, 30)) as pilot:
        await desk.rest(pilot)
        await pilot.press("a")

    async with hub_desk(tmp_path) as desk, desk.run_test() as pilot:      # a real hub on fakes
        call = desk.call("pay.send", {"amount": 3})
        await desk.until(pilot, lambda: desk.world.inbox.waiting)

Rule: what the view does with the hub's events and with keys is what the dashboard does with them, and no more.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, TextArea

from cloche import ApprovalInfo
from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.errors import CodedError
from cloche.link_news import OnLink
from cloche_tui.actions import Place, meant_by
from cloche_tui.feed.session import Session
from cloche_tui.messages import Begun, EventsArrived
from cloche_tui.model.guard import QUIET_S
from cloche_tui.model.inbox import Inbox
from cloche_tui.model.roles import Role
from cloche_tui.remembered import Remembered
from cloche_tui.views.approvals import ApprovalsView
from cloche_tui.views.view import ALL, TICK
from cloche_wire.aio import Channel
from tests.support.approvals import NOW, told
from tests.support.callbacks import ASK, answering, write_policy
from tests.support.hub import BOUND_S, RunningHub, running_hub, within
from tests.tui.support import HostApp, screen_text

Connect = Callable[[OnLink], Pending[Hub]]


class Elsewhere(Widget, can_focus=True):
    """A console: what is typed while it has the focus is its own."""

    DEFAULT_CSS = "Elsewhere { width: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.typed: list[str] = []

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.typed.append(event.key)

    def render(self) -> str:
        return ""


class Desk(HostApp):
    """See the module.

    Args:
        approvals: what waits, or has waited.
        session: the connection to a hub; without one the test tells everything.
        remembered: where reasons are.
    """

    def __init__(
        self, *approvals: ApprovalInfo, session: Any = None, remembered: Remembered | None = None
    ) -> None:
        self.now = 1000.0
        self.view = ApprovalsView(id="approvals", clock=lambda: self.now)
        self.elsewhere = Elsewhere()
        self.hub: RunningHub
        world = SimpleNamespace(inbox=Inbox(), now=NOW)
        super().__init__(
            self.view,
            world=world,
            session=session,
            remembered=remembered or Remembered(Path("/dev/null/nowhere")),
        )
        for approval in approvals:
            world.inbox.apply(told(approval))

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self.view
            yield self.elsewhere

    def on_mount(self) -> None:
        if self.session is not None:
            self.run_worker(self.session.run())
        self.view.show(self.world, ALL)
        self.view.focus_main()

    # As the dashboard does it.

    @on(Begun)
    def _begin(self) -> None:
        self.world.inbox.begin()

    @on(EventsArrived)
    def _apply(self, message: EventsArrived) -> None:
        for event in message.events:
            if event.topic == "approval":
                self.world.inbox.apply(event)
            elif event.topic == "current_end":
                self.world.inbox.end_of_current()
        self.show("approval")

    async def on_key(self, event: events.Key) -> None:
        if self.screen is not self.screen_stack[0] or isinstance(self.focused, Input | TextArea):
            return
        place = Place.CONSOLE if self.elsewhere.has_focus else Place.APPROVALS
        action = meant_by(event.character if event.is_printable else event.key, place, {})  # type: ignore[arg-type]
        if action is not None:
            self.run_worker(self._run(action.id))

    async def _run(self, action: str, argument: str = "") -> None:
        try:
            await self.view.run(action, argument)
        except CodedError as error:
            self.say(error.message, Role.BAD)

    # For tests.

    def show(self, *topics: str) -> None:
        """Has the view show what there is."""
        self.world.now = datetime.now(UTC) if self.session is not None else self.world.now
        self.view.show(self.world, frozenset(topics) or TICK)

    async def tell(self, pilot: Pilot[None], *approvals: ApprovalInfo, change: str = "changed") -> None:
        """The hub tells of them."""
        for approval in approvals:
            self.world.inbox.apply(told(approval, change))
        self.show("approval")
        await pilot.pause()

    async def rest(self, pilot: Pilot[None], seconds: float = QUIET_S) -> None:
        """Nothing is pressed for a moment."""
        await pilot.pause()
        self.now += seconds

    async def until(self, pilot: Pilot[None], condition: Callable[[], object]) -> None:
        """Waits until it holds."""

        async def wait() -> None:
            while not condition():
                await pilot.pause(0.01)

        await within(wait())
        await pilot.pause()

    def call(self, method: str, params: object = None) -> Channel:
        """A program in the sandbox calls."""
        return self.hub.machine.agent.callback(method, params)

    async def waits(self, pilot: Pilot[None], count: int = 1) -> None:
        """Waits until so many calls wait and one of them can be decided."""
        await self.until(pilot, lambda: self.world.inbox.waiting == count)
        await self.rest(pilot)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self)

    @property
    def selected(self) -> str | None:
        """The id that is selected."""
        return self.view.chosen().approval


@contextlib.asynccontextmanager
async def hub_desk(folder: Path, *, policy: str = ASK, **settings: Any) -> AsyncIterator[Desk]:
    """A desk at a real hub on fakes, with a sandbox `box` in it, and a program that answers every call with its parameters.

    Args:
        folder: for its home.
        policy: what the hub holds.
        settings: the hub's.
    """
    write_policy(folder / "home", policy)
    async with running_hub(folder / "home", **settings) as hub, hub.client() as client, answering(hub, "*"):
        await client.create(name="box")

        def connect(on_link: OnLink) -> Pending[Hub]:
            return Hub.connect(hub.address, hub.admin, reconnect_s=BOUND_S, on_link=on_link)

        desk = Desk(remembered=Remembered(folder / "remembered.json"))
        desk.session, desk.hub = Session(connect, desk.post_message), hub
        yield desk
