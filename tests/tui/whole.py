"""The whole dashboard in a test, on a real hub on fakes: keys in, screen out.

async with whole_dashboard(tmp_path) as desk:
    await desk.press("/", "b", "o")
    await desk.until("1/2")
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from cloche import Event
from cloche.aio import Hub
from cloche_tui.actions import ACTIONS
from cloche_tui.app import DashboardApp
from cloche_tui.frame import Options
from cloche_tui.keymap import read_keymap
from cloche_tui.messages import EventsArrived
from cloche_tui.remembered import Remembered
from cloche_tui.themes import dress
from tests.support.hub import BOUND_S, RunningHub
from tests.tui.support import hub_on_fakes, screen_text

GUARD_S = 0.6
"""Longer than keys that decide are held back."""


class Whole:
    """The dashboard, its hub, and somebody in front of it."""

    def __init__(self, app: DashboardApp, pilot: Pilot[None], hub: RunningHub, client: Hub) -> None:
        self.app, self.pilot, self.hub, self.client = app, pilot, hub, client

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self.app)

    @property
    def last_line(self) -> str:
        """The line with the keys, or with what is said."""
        return self.text.splitlines()[-1]

    async def press(self, *keys: str) -> None:
        """Presses keys, one behind the other as fast as they can be read: nobody waits for what comes of one."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 else key
            driver.send_message(events.Key(name, " " if key == "space" else key if len(key) == 1 else None))
        await self.pilot.pause()

    async def until(self, *wanted: str) -> None:
        """Returns when all of this is on the screen."""
        await self.until_so(lambda: all(text in self.text for text in wanted), f"{wanted} is not shown")

    async def until_gone(self, text: str) -> None:
        """Returns when this is not on the screen any more."""
        await self.until_so(lambda: text not in self.text, f"{text!r} is still shown")

    async def until_so(self, condition: Callable[[], object], what: str) -> None:
        """Returns when the condition holds."""
        try:
            async with asyncio.timeout(BOUND_S):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{what}:\n{self.text}") from None

    def tell(self, *events: Event) -> None:
        """The hub tells something."""
        self.app.post_message(EventsArrived(events))


@contextlib.asynccontextmanager
async def whole_dashboard(
    folder: Path,
    *,
    sandboxes: Sequence[str] = ("box", "web"),
    size: tuple[int, int] = (100, 30),
    options: Options | None = None,
    keymap: str = "",
    view_text: str = "",
    **hub_options: Any,
) -> AsyncIterator[Whole]:
    """The dashboard in front of a hub with these sandboxes, as soon as it shows them, or what it is to show instead."""
    async with hub_on_fakes(folder, **hub_options) as (hub, client):
        for name in sandboxes:
            await client.create(name=name)
        app = DashboardApp(
            lambda on_link: Hub.connect(hub.address, hub.admin, reconnect_s=1, on_link=on_link),
            Remembered(folder / "remembered.json"),
            read_keymap(keymap, ACTIONS).keys,
            options,
        )
        dress(app, app.theme_folder, {"COLORTERM": "truecolor"}, wanted="", remembered="")
        async with app.run_test(size=size) as pilot:
            whole = Whole(app, pilot, hub, client)
            await whole.until_so(
                lambda: (
                    view_text in whole.text
                    if view_text
                    else all(f"● running  {name}" in whole.text for name in sandboxes)
                ),
                "not all are shown",
            )
            yield whole
            app.leave()
