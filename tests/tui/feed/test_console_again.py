"""A console whose hub goes away: keys go nowhere, and it is found again as it was; on a real hub on fakes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche_hub.domain.tokens import Scope
from cloche_term.apart.terminals import Terminals
from cloche_tui.model.console_status import Phase
from tests.support.cutting_proxy import CuttingProxy
from tests.support.hub import RunningHub, running_hub, until
from tests.tui.feed.console_links import Desk, dashboard, shell


@contextlib.asynccontextmanager
async def _behind_proxy(
    hub: RunningHub, terminals: Terminals, folder: Path, *, reconnect_s: float = 10.0
) -> AsyncIterator[tuple[CuttingProxy, Desk]]:
    """A dashboard whose link can be cut."""
    back = Path(hub.address.removeprefix("unix://"))
    async with (
        CuttingProxy(folder / "front.sock", back) as proxy,
        dashboard(hub, terminals, address=proxy.address, reconnect_s=reconnect_s) as desk,
    ):
        yield proxy, desk


async def test_keys_go_nowhere_while_the_link_is_cut_and_everything_goes_on_when_it_is_back(
    client: Hub, hub: RunningHub, terminals: Terminals, tmp_path: Path
) -> None:
    info = await shell(client)
    async with _behind_proxy(hub, terminals, tmp_path) as (proxy, desk):
        mine = desk.look_into(info)
        await mine.until_phase(Phase.LIVE)
        mine.link.drive()
        await mine.until_driving()
        proxy.cut()
        await mine.until_phase(Phase.AWAY)
        mine.link.type(b"lost")
        assert mine.said[-1] == "not connected: what you type goes nowhere"
        assert mine.link.status.has_keys, "keys still mean nothing to the dashboard"
        await mine.until_phase(Phase.LIVE)
        mine.link.type(b"typed after")
        await mine.until_shown("typed after")
        assert "lost" not in await mine.text()


@pytest.mark.parametrize("hub_knows", [True, False])
async def test_the_console_of_a_session_that_was_given_up_is_found_again_in_the_same_role(
    client: Hub,
    hub: RunningHub,
    terminals: Terminals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hub_knows: bool,
) -> None:
    if not hub_knows:
        # It still believes in the session that was given up: its driver is who we were.
        monkeypatch.setattr("cloche_hub.services.consoles.line.Line.is_reachable", True)
    info = await shell(client)
    async with _behind_proxy(hub, terminals, tmp_path, reconnect_s=0.0) as (proxy, desk):
        driven, watched = desk.look_into(info), desk.look_into(info)
        await driven.until_phase(Phase.LIVE)
        await watched.until_phase(Phase.LIVE)
        driven.link.drive()
        await driven.until_driving()
        driven.link.type(b"before")
        await watched.until_shown("before")
        before = driven.link.status.viewer
        proxy.cut()
        await until(lambda: driven.link.status.viewer not in (before, None))
        await driven.until_driving()
        driven.link.type(b", after")
        await driven.until_shown("before, after")
        await watched.until_shown("before, after")
        assert not watched.link.is_driving


async def test_who_has_taken_the_wheel_meanwhile_keeps_it(
    client: Hub, hub: RunningHub, terminals: Terminals, tmp_path: Path
) -> None:
    info = await shell(client)
    ann = await hub.mint("ann", Scope.OPERATOR)
    async with _behind_proxy(hub, terminals, tmp_path, reconnect_s=0.0) as (proxy, desk):
        mine = desk.look_into(info)
        await mine.until_phase(Phase.LIVE)
        mine.link.drive()
        await mine.until_driving()
        async with Hub.connect(hub.address, ann) as theirs:
            proxy.cut()
            async with (await theirs.sandbox("box")).attach(info.id, mode="take"):
                await until(lambda: "test drives: you watch" in mine.said)
                assert (mine.link.status.driver, mine.link.status.has_keys) == ("test", False)


async def test_a_console_outlives_its_hub_on_the_screen(tmp_path: Path, terminals: Terminals) -> None:
    async with (
        running_hub(tmp_path / "home", on_disk=True) as first,
        dashboard(first, terminals, reconnect_s=0.0) as desk,
    ):
        client = await desk.session.wait_hub()
        await client.create(name="box")
        mine = desk.look_into(await shell(client))
        await mine.until_phase(Phase.LIVE)
        await first.end()
        await mine.until_phase(Phase.AWAY)
        mine.link.drive()
        assert mine.said[-1] == "not connected: nothing can be typed"


async def test_a_shell_that_was_being_opened_when_the_hub_went_is_not_opened_twice(
    client: Hub, hub: RunningHub, terminals: Terminals, tmp_path: Path
) -> None:
    hub.machine.agent.silence()
    async with _behind_proxy(hub, terminals, tmp_path, reconnect_s=0.0) as (proxy, desk):
        mine = desk.open_shell("box")
        await until(lambda: proxy.links)
        proxy.cut()
        await mine.until_phase(Phase.FAILED)
        assert mine.reason == "the hub went away while it was opened"
    hub.machine.agent.speak()
