"""A dashboard around one view or widget, with fakes where the whole one has a hub; and a real hub for feeds.

    host = HostApp(ViewUnderTest(), world=world)
    async with host.run_test(size=(80, 24)) as pilot:
        host.tell(sandbox_event(), topics={"sandbox"})
        await pilot.press("d")
    assert host.said == ["…"]

    async with hub_on_fakes(tmp_path) as (hub, client):
        await client.create(name="box")

Rule: what a view asks of the dashboard is written down (`said`, `actions`, `opened`, `asked`) and otherwise comes to
nothing, except dialogs: those are really shown unless `answers` has something for them.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import App, ComposeResult
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget

from cloche.aio import Hub
from cloche_tui.model.roles import Role
from tests.support.hub import RunningHub, running_hub, until

if TYPE_CHECKING:
    from cloche_tui.views.view import Dashboard

T = TypeVar("T")

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
"""The time in tests that do not say another."""


class HostApp(App[None]):
    """As much of the dashboard as a view or a widget needs.

    Args:
        widgets: what is shown.
        session, world, terminals, remembered: what the dashboard has of these; a test gives what it needs.
        is_readonly: whether nothing may be changed.
        css: style rules besides those of the widgets.
        textual: what every Textual app can be made with.

    Attributes:
        said: each line for the person, as (text, role).
        actions: each action that was wanted, as (id, argument).
        opened: each console that was to be opened, as (sandbox, console).
        asked: each dialog that was to be shown.
        answers: what dialogs answer, in order, without being shown; while it is empty they are shown.
        heard: every message that reached the app, of the classes in `listens_to`.
    """

    def __init__(
        self,
        *widgets: Widget,
        session: Any = None,
        world: Any = None,
        terminals: Any = None,
        remembered: Any = None,
        is_readonly: bool = False,
        css: str = "",
        **textual: Any,
    ) -> None:
        super().__init__(**textual)
        self.session, self.world, self.terminals, self.remembered = session, world, terminals, remembered
        self.is_readonly = is_readonly
        self.keys: Mapping[str, tuple[str, ...]] = {}
        self.said: list[tuple[str, Role]] = []
        self.actions: list[tuple[str, str]] = []
        self.opened: list[tuple[str, str | None]] = []
        self.asked: list[ModalScreen[Any]] = []
        self.answers: deque[Any] = deque()
        self.listens_to: tuple[type[Message], ...] = ()
        self.heard: list[Message] = []
        self._widgets = widgets
        if css:
            self.stylesheet.add_source(css)

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield from self._widgets

    async def _on_message(self, message: Message) -> None:
        if isinstance(message, self.listens_to):
            self.heard.append(message)
        await super()._on_message(message)

    # What the dashboard does for views.

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """Writes a line down."""
        self.said.append((text, role))

    async def run_action_by_id(self, action_id: str, argument: str = "") -> None:
        """Writes an action down."""
        self.actions.append((action_id, argument))

    async def ask(self, dialog: ModalScreen[T]) -> T | None:
        """The next of `answers`, else what is answered to the dialog itself."""
        self.asked.append(dialog)
        if self.answers:
            answer: T | None = self.answers.popleft()
            return answer
        return await self.push_screen(dialog, wait_for_dismiss=True)

    def open_console(self, sandbox: str, console: str | None = None) -> None:
        """Writes down what was to be opened."""
        self.opened.append((sandbox, console))


def screen_text(app: App[Any]) -> str:
    """What is on the screen, without its colours; spaces at the ends of lines are left out."""
    screen = app.screen
    width, height = screen.size
    lines = screen._compositor.render_strips()
    rows = ["".join(segment.text for segment in strip) for strip in lines[:height]]
    return "\n".join(row[:width].rstrip() for row in rows)


async def until_seen(app: App[Any], *texts: str) -> None:
    """Waits until all of these are on the screen."""
    try:
        await until(lambda: all(text in screen_text(app) for text in texts))
    except TimeoutError:
        raise AssertionError(f"never seen: {texts}\n{screen_text(app)}") from None


@contextlib.asynccontextmanager
async def hub_on_fakes(folder: Path, **options: Any) -> AsyncIterator[tuple[RunningHub, Hub]]:
    """A real hub on fakes, and a connection of the administrator's to it.

    Args:
        folder: for its home.
        options: see `tests.support.hub.running_hub`.
    """
    async with (
        running_hub(folder / "home", **options) as hub,
        Hub.connect(hub.address, hub.admin, reconnect_s=10) as client,
    ):
        yield hub, client


if TYPE_CHECKING:

    def _is_a_dashboard(host: HostApp) -> Dashboard:
        """The type checker's proof that the host has all that views ask for."""
        return host
