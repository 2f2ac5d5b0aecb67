"""The consoles beside a list, on the screen, at a real hub on fakes whose sandboxes each have a console."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import Container
from textual.pilot import Pilot

from cloche import ConsoleInfo, Event
from cloche.aio import Hub
from cloche.filters import Filter
from cloche_term.apart.terminals import Terminals
from cloche_tui.messages import ChoiceChanged
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.link import Connecting
from cloche_tui.model.world import World
from cloche_tui.remembered import Remembered
from cloche_tui.views.consoles import ConsolesArea
from cloche_tui.views.view import ALL, View
from cloche_tui.widgets.console_pane import ConsolePane
from tests.support.hub import RunningHub
from tests.tui.feed.console_links import Desk, dashboard, shell
from tests.tui.support import HostApp, hub_on_fakes, screen_text, until_seen


class TheList(View, can_focus=True):
    """A view beside the consoles."""

    DEFAULT_CSS = "TheList { width: 1fr; height: 1fr; }"

    def render(self) -> str:
        return "THE LIST"

    def focus_main(self) -> None:
        self.focus()

    def show(self, world: World, topics: Any) -> None: ...

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        return 0, 0

    def chosen(self) -> Chosen:
        return Chosen()

    async def run(self, action: str, argument: str) -> bool:
        return False


class Host(HostApp):
    """The list and the area, as the app has them."""

    def __init__(self, **parts: Any) -> None:
        self.the_list, self.area = TheList(), ConsolesArea(id="consoles")
        super().__init__(**parts, css="#main { layout: horizontal; } #main.-full TheList { display: none; }")
        self.listens_to = (ChoiceChanged,)

    def compose(self) -> ComposeResult:
        with Container(id="main"):
            yield self.the_list
            yield self.area

    def on_mount(self) -> None:
        self.the_list.focus()


class Bench:
    """An area on the screen, and its hub with the sandboxes `a`, `b`, …, each with a console."""

    def __init__(self, hub: RunningHub, client: Hub, host: Host, infos: dict[str, ConsoleInfo]) -> None:
        self.hub, self.client, self.host, self.infos = hub, client, host, infos
        self.area = host.area
        self.pilot: Pilot[None]

    def sandbox(self, name: str) -> str:
        return self.infos[name].sandbox

    def open(self, *names: str) -> None:
        for name in names:
            self.area.open(self.sandbox(name))

    async def tell_of_consoles(self) -> None:
        """The hub tells which consoles there are."""
        for info in await self.client.consoles(ended=True):
            self.host.world.consoles.apply(Event("console", "changed", info))
        self.area.show(self.host.world, frozenset({"console"}))

    async def run(self, action: str, argument: str = "") -> None:
        assert await self.area.run(f"console.{action}", argument)
        await self.pilot.pause()

    @property
    def seen(self) -> str:
        """The sandboxes whose consoles are on the screen, in order."""
        shown = [pane for pane in self.host.query(ConsolePane) if pane.display]
        return " ".join(self.names[pane.sandbox] for pane in shown)

    @property
    def names(self) -> dict[str, str]:
        return {info.sandbox: name for name, info in self.infos.items()}

    @property
    def focused(self) -> str:
        """The sandbox whose pane has the focus."""
        if self.host.the_list.has_focus:
            return "list"
        return " ".join(
            self.names[pane.sandbox] for pane in self.host.query(ConsolePane) if pane.has_focus_within
        )

    @property
    def screen(self) -> str:
        return screen_text(self.host)

    async def until_seen(self, *texts: str) -> None:
        await until_seen(self.host, *texts)


@contextlib.asynccontextmanager
async def console_bench(
    hub: RunningHub, client: Hub, desk: Desk, terminals: Terminals, folder: Path, *names: str, **options: Any
) -> AsyncIterator[Bench]:
    world = World(Connecting(), now=datetime.now(UTC))
    infos = {}
    for name in names:
        sandbox = await client.sandbox(name)
        world.fleet.apply(Event("sandbox", "changed", sandbox.info))
        infos[name] = await shell(client, name)
    for info in await client.consoles():
        world.consoles.apply(Event("console", "changed", info))
    host = Host(
        session=desk.session,
        world=world,
        terminals=terminals,
        remembered=Remembered(folder / "remembered.json"),
        **options,
    )
    bench = Bench(hub, client, host, infos)
    async with host.run_test(size=(120, 30)) as bench.pilot:
        bench.area.show(world, ALL)
        await bench.pilot.pause()
        yield bench


@contextlib.asynccontextmanager
async def own_bench(folder: Path, terminals: Terminals, *names: str) -> AsyncIterator[Bench]:
    """The same at a hub of its own, with sandboxes of these names."""
    async with hub_on_fakes(folder) as (hub, client), dashboard(hub, terminals) as desk:
        for name in names:
            await client.create(name=name)
        async with console_bench(hub, client, desk, terminals, folder, *names) as bench:
            yield bench
