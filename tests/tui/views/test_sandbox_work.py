"""Making and ending sandboxes on a real hub: what is asked, what comes of it, and what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from textual.pilot import Pilot

from cloche.aio import Hub
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.dialogs.outcomes import Outcomes
from cloche_tui.feed.session import NotConnected
from cloche_tui.model.roles import Role
from cloche_tui.model.sandbox_rows import Row
from cloche_tui.views.sandbox_work import create_sandbox, destroy_sandboxes
from tests.support.hub import until
from tests.tui.sandbox_values import sandbox
from tests.tui.support import HostApp, hub_on_fakes, screen_text


class Away:
    """A session whose hub is away."""

    @property
    def hub(self) -> Hub:
        raise NotConnected("the hub is away")


@asynccontextmanager
async def _dashboard(folder: Path) -> AsyncIterator[tuple[HostApp, Pilot[None], Hub]]:
    async with hub_on_fakes(folder) as (_, hub):
        app = HostApp(session=SimpleNamespace(hub=hub))
        async with app.run_test(size=(100, 30)) as pilot:
            yield app, pilot, hub


async def _rows(hub: Hub) -> list[Row]:
    found = [Row(each.info) for each in await hub.sandboxes()]
    return sorted(found, key=lambda row: row.info.name)


async def _names(hub: Hub) -> list[str]:
    return [row.info.name for row in await _rows(hub)]


async def test_a_sandbox_is_made_as_the_form_says(tmp_path: Path) -> None:
    async with _dashboard(tmp_path) as (app, pilot, hub):
        making = app.run_worker(create_sandbox(app, ""))
        await until(lambda: app.asked and app.screen is app.asked[0])
        await pilot.pause()
        await pilot.press("tab", "tab", *"web", "tab", *"team=blue", "enter")
        await until(lambda: making.is_finished)
        made = making.result
        assert made is not None
        assert (made.name, made.labels, made.state) == ("web", {"team": "blue"}, "running")
        assert await _names(hub) == ["web"]
        [(said, role)] = app.said
        assert said.startswith("web runs")
        assert role is Role.GOOD


async def test_nobody_wanted_one_after_all(tmp_path: Path) -> None:
    async with _dashboard(tmp_path) as (app, _, hub):
        app.answers.append(None)
        assert await create_sandbox(app, "python") is None
        assert await _names(hub) == []
        assert app.said == []


async def test_one_is_destroyed_when_somebody_means_it(tmp_path: Path) -> None:
    async with _dashboard(tmp_path) as (app, _, hub):
        await hub.create("minimal", name="web")
        await hub.create("minimal", name="db")
        app.answers += [None]
        await destroy_sandboxes(app, (await _rows(hub))[:1])
        assert await _names(hub) == ["db", "web"]
        app.answers += [True]
        await destroy_sandboxes(app, (await _rows(hub))[:1])
        assert await _names(hub) == ["web"]
        assert app.said == [("db destroyed", Role.GOOD)]
        question = app.asked[0]
        assert isinstance(question, Confirm)
        assert question.heading == "Destroy db?"


async def test_nothing_is_asked_where_nothing_is_to_be_destroyed() -> None:
    app = HostApp(session=Away())
    await destroy_sandboxes(app, [])
    assert app.asked == []


async def test_of_several_their_number_is_asked_and_each_is_told(tmp_path: Path) -> None:
    async with _dashboard(tmp_path) as (app, pilot, hub):
        for name in ("a", "b", "c"):
            await hub.create("minimal", name=name)
        doomed = await _rows(hub)
        # Somebody else was faster with one of them.
        await (await hub.sandbox("b")).remove()
        app.answers += [True]
        destroying = app.run_worker(destroy_sandboxes(app, doomed))
        await until(lambda: isinstance(app.screen, Outcomes))
        await until(lambda: "2 of 3 done" in screen_text(app))
        shown = screen_text(app)
        assert "✓ a  destroyed" in shown
        assert "✗ b  " in shown
        assert "✓ c  destroyed" in shown
        await pilot.press("escape")
        await until(lambda: destroying.is_finished)
        assert await _names(hub) == []
        question: Any = app.asked[0]
        assert question.heading == "Destroy 3 sandboxes?"
        assert app.said == []


async def test_what_the_hub_cannot_do_is_said() -> None:
    app = HostApp(session=Away())
    app.answers += [True]
    await destroy_sandboxes(app, [Row(sandbox("web"))])
    assert app.said == [("web: the hub is away", Role.BAD)]
