"""The files view on the screen, at a real hub on fakes, and what a person does there.

    async with file_desk(tmp_path) as desk, desk.run_test(size=(120, 30)) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "space", "f5")
        await desk.copied(pilot)

Rule: an action is done in a worker, and what it says when it fails is said, as the dashboard does it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from textual import events, on
from textual.pilot import Pilot
from textual.widgets import Input

from cloche import SandboxInfo
from cloche.errors import CodedError
from cloche_tui.feed.folder_sizes import amount_here, amount_there
from cloche_tui.messages import RunAction
from cloche_tui.model.file_panes import Pane
from cloche_tui.model.fleet import Fleet
from cloche_tui.model.roles import Role
from cloche_tui.model.transfers import State
from cloche_tui.remembered import Remembered
from cloche_tui.views.files import FilesView
from cloche_tui.views.view import ALL, TICK
from tests.support.fake_files import FakeFiles, Node
from tests.support.hub import BOUND_S, within
from tests.tui.sandbox_values import NOW, has_changed, is_gone, is_now
from tests.tui.support import HostApp, hub_on_fakes, screen_text

HOME = "/home/user"
KEYS: Mapping[str, str] = MappingProxyType(
    {
        "enter": "files.enter",
        "backspace": "files.up",
        "o": "files.other_pane",
        "space": "files.mark",
        "*": "files.mark_all",
        "u": "files.clear_marks",
        "f5": "files.copy",
        "x": "files.cancel",
        "f7": "files.mkdir",
        "ctrl+d": "files.delete",
        "ctrl+r": "files.refresh",
        "s": "table.sort",
        "S": "table.reverse",
    }
)


class FileDesk(HostApp):
    """See the module.

    Args:
        folder: what is shown of this host.
        info: a sandbox; None: there is none.
        hub: the connection.
        files: what is behind the sandbox's files.
        options: see `HostApp`.
    """

    def __init__(
        self, folder: Path, info: SandboxInfo | None, hub: Any, files: FakeFiles | None, **options: Any
    ) -> None:
        self.view = FilesView(folder=str(folder), id="files")
        self.folder, self.info, self.fake = folder, info, files or FakeFiles()
        self.guest = self.fake.tree
        world = SimpleNamespace(fleet=Fleet(), now=NOW)
        session = SimpleNamespace(hub=hub, is_up=True)
        options.setdefault("remembered", Remembered(folder.parent / "remembered.json"))
        super().__init__(self.view, world=world, session=session, **options)
        world.fleet.begin()
        if info is not None:
            world.fleet.apply(is_now(info))
        world.fleet.end_of_current()

    # As the dashboard does it.

    def on_mount(self) -> None:
        self.view.show(self.world, ALL)
        self.view.focus_main()

    def on_key(self, event: events.Key) -> None:
        if self.screen is not self.screen_stack[0] or isinstance(self.focused, Input):
            return
        key = event.character if event.is_printable and event.character not in (None, " ") else event.key
        if (action := KEYS.get(str(key))) is not None:
            self.do(action)

    @on(RunAction)
    def _wanted(self, message: RunAction) -> None:
        self.do(message.id, message.argument)

    def do(self, action: str, argument: str = "") -> None:
        """Has an action done."""
        self.run_worker(self._done(action, argument), group="actions")

    async def _done(self, action: str, argument: str) -> None:
        try:
            assert await self.view.run(action, argument)
        except CodedError as error:
            self.say(error.message, Role.BAD)

    # For tests.

    def put(self, path: str, data: bytes = b"", kind: str = "file", **more: Any) -> None:
        """Has something be in the sandbox."""
        self.guest[path] = Node(kind, data, **more)

    def tell(self, info: SandboxInfo, *, gone: bool = False) -> None:
        """The hub tells of the sandbox."""
        self.tell_of(info, gone=gone)
        self.view.show(self.world, frozenset({"sandbox"}))

    def tell_of(self, info: SandboxInfo, *, gone: bool = False) -> None:
        """The hub tells of a sandbox while nobody looks."""
        self.world.fleet.apply(is_gone(info) if gone else has_changed(info))

    def tick(self) -> None:
        """A second has passed."""
        self.view.show(self.world, TICK)

    async def until(self, pilot: Pilot[None], condition: Callable[[], object]) -> None:
        """Waits until it holds."""

        async def wait() -> None:
            while not condition():
                await pilot.pause(0.01)

        await within(wait())
        await pilot.pause()

    async def ready(self, pilot: Pilot[None]) -> None:
        """Waits until both folders are shown."""
        await self.until(pilot, lambda: self.here.folder and (self.info is None or self.there.folder))

    async def press(self, pilot: Pilot[None], *keys: str) -> None:
        """Presses keys, each once the one before has been heard."""
        for key in keys:
            await pilot.press(key)
            await pilot.pause()

    async def copied(self, pilot: Pilot[None]) -> list[State]:
        """Waits until nothing is copied any more; how each copy ended, the newest first."""
        transfers = self.view.copies.transfers
        await self.until(pilot, lambda: len(transfers) and not transfers.under_way())
        await pilot.pause()
        return [one.state for one in map(transfers.get, transfers.order) if one is not None]

    @property
    def here(self) -> Pane:
        """The folder of this host."""
        return self.view.panes.here

    @property
    def there(self) -> Pane:
        """The sandbox's."""
        return self.view.panes.sandbox

    def names(self, pane: Pane) -> list[str]:
        """What is shown of it."""
        return [pane.row(key).name for key in pane.order]

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self)


@contextlib.asynccontextmanager
async def file_desk(folder: Path, **options: Any) -> AsyncIterator[FileDesk]:
    """The view at a hub with a sandbox `box`: here `a.txt` and a folder `src`, there `x.txt` and a folder `data`.

    Args:
        folder: for the hub's home and what is here.
        options: see `HostApp`.
    """
    here = folder / "here"
    (here / "src").mkdir(parents=True)
    (here / "a.txt").write_text("from here")
    (here / "src/main.py").write_text("print()")
    async with hub_on_fakes(folder) as (hub, client):
        sandbox = await client.create(name="box")
        desk = FileDesk(here, sandbox.info, client, hub.machine.agent.files, **options)
        desk.put(f"{HOME}/x.txt", b"from there")
        desk.put(f"{HOME}/data", kind="dir", mode=0o755)
        desk.put(f"{HOME}/data/deep.txt", b"deep")
        with pytest.MonkeyPatch.context() as patch:
            # What is in folders is counted to its end, however long that takes here.
            for counting in (amount_here, amount_there):
                counts = partial(counting, patience_s=BOUND_S)
                patch.setattr(f"cloche_tui.views.file_work.{counting.__name__}", counts)
            yield desk
