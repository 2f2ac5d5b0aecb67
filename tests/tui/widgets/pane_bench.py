"""A pane with a console on the screen, as a person has it before them: on a real hub on fakes.

async with pane_bench(tmp_path, terminals) as bench, bench.showing(info.id) as pane:
    await bench.until_seen("○ watching")
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from cloche.aio import Hub
from cloche_term.apart.terminals import Terminals
from cloche_tui.widgets.console_pane import ConsolePane
from tests.support.hub import RunningHub, until
from tests.tui.feed.console_links import Desk, dashboard
from tests.tui.support import HostApp, hub_on_fakes, screen_text, until_seen

WAY_OUT = "ctrl+right_square_bracket"


class _Host(HostApp):
    """Hears the keys that nobody else has taken."""

    heard_keys: ClassVar[list[str]] = []

    def on_key(self, event: events.Key) -> None:
        self.heard_keys.append(event.key)


class PaneBench:
    """A pane on the screen, its hub, and another client of that."""

    def __init__(self, hub: RunningHub, client: Hub, desk: Desk, terminals: Terminals) -> None:
        self.hub, self.client, self._desk, self._terminals = hub, client, desk, terminals
        self.elsewhere = Input()
        self.pane: ConsolePane
        self.host: _Host
        self.pilot: Pilot[None]

    @asynccontextmanager
    async def showing(
        self, console: str | None, *, sandbox: str = "box", **options: Any
    ) -> AsyncIterator[ConsolePane]:
        """A pane with this console."""
        self.pane = ConsolePane(self._desk.session, self._terminals, sandbox, console, title="box", **options)
        self.host = _Host(self.elsewhere, self.pane)
        self._desk.on_link_changed.append(self.pane.link_changed)
        async with self.host.run_test(size=(80, 16)) as self.pilot:
            yield self.pane
            self._desk.on_link_changed.clear()

    @property
    def screen(self) -> str:
        return screen_text(self.host)

    async def until_seen(self, *texts: str) -> None:
        """Waits until all of these are on the screen."""
        await until_seen(self.host, *texts)

    async def drive(self) -> None:
        """Has the pane driven."""
        self.pane.focus()
        self.pane.drive()
        await self.until_seen("▶ DRIVING")
        # Here keys are encoded by the terminal, which has to be there for that.
        await until(lambda: self.pane.view.terminal is not None)

    async def type(self, text: str) -> None:
        """Presses keys."""
        await self.pilot.press(*text)


@asynccontextmanager
async def pane_bench(tmp_path: Path, terminals: Terminals) -> AsyncIterator[PaneBench]:
    """A bench, and a sandbox `box`."""
    async with hub_on_fakes(tmp_path) as (hub, client), dashboard(hub, terminals) as desk:
        await client.create(name="box")
        yield PaneBench(hub, client, desk, terminals)
