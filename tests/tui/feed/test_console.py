"""A console in the dashboard, on a real hub on fakes: looked into, driven, let go, lost and found again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from cloche.aio import Console, Hub
from cloche_hub.domain.audit_events import AuditName
from cloche_term.apart.terminals import open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_tui.feed.console_outgoing import MOST_TYPED
from cloche_tui.feed.console_screen import MOST_WAITING
from cloche_tui.model.console_status import Phase, Size
from cloche_wire.aio import Channel
from cloche_wire.errors import CodedError
from tests.support.hub import RunningHub, until, within
from tests.tui.feed.console_links import SIZE, Desk, dashboard, shell

# Looking on.


async def test_a_console_is_watched_first_with_the_screen_it_has(client: Hub, desk: Desk) -> None:
    info = await shell(client)
    async with (await client.sandbox("box")).attach(info.id) as other:
        await other.write("what was there")
        await other.until("what was there")
        mine = desk.look_into(info)
        await mine.until_shown("what was there")
        assert mine.phase is Phase.LIVE
        assert not mine.link.is_driving
        assert (mine.link.status.driver, mine.link.status.has_keys) == ("first admin", False)
        await other.write(" and what comes")
        await mine.until_shown("what was there and what comes")
        await other.resize(12, 44)
        await until(lambda: (mine.link.terminal.state.rows, mine.link.terminal.state.cols) == (12, 44))  # type: ignore[union-attr]
    assert mine.said == []


async def test_what_is_typed_by_who_watches_goes_nowhere_and_that_is_said(client: Hub, desk: Desk) -> None:
    mine = desk.look_into(await shell(client))
    await mine.until_phase(Phase.LIVE)
    mine.link.type(b"lost")
    assert mine.said == ["you only watch: what you type goes nowhere"]


async def test_leaving_a_pane_detaches_and_the_console_goes_on(
    client: Hub, desk: Desk, hub: RunningHub
) -> None:
    mine = desk.look_into(await shell(client))
    await mine.until_phase(Phase.LIVE)
    await mine.leave()
    assert mine.link.terminal is None
    await hub.happened(AuditName.CONSOLE_DETACHED, times=2)
    assert [console.is_open for console in await client.consoles() if console.kind == "pty"] == [True]


# Driving.


async def test_who_drives_has_the_console_in_its_own_size_and_types_into_it(
    client: Hub, desk: Desk, hub: RunningHub
) -> None:
    mine = desk.look_into(await shell(client), size=Size(20, 60))
    await mine.until_phase(Phase.LIVE)
    mine.link.drive()
    assert mine.link.status.has_keys
    mine.link.type(b"typed before the wheel was there")
    await mine.until_driving()
    await mine.until_shown("typed before the wheel was there")
    assert hub.machine.agent.sizes == [(20, 60)]
    mine.link.resize(Size(25, 70))
    await until(lambda: hub.machine.agent.sizes[1:] == [(25, 70)])
    await until(lambda: mine.link.terminal.state.cols == 70)  # type: ignore[union-attr]
    assert mine.said == []


async def test_a_size_that_no_console_has_is_the_nearest_one(
    client: Hub, desk: Desk, hub: RunningHub
) -> None:
    mine = desk.look_into(await shell(client))
    await mine.until_phase(Phase.LIVE)
    mine.link.drive()
    await mine.until_driving()
    mine.link.resize(Size(0, 5000))
    await until(lambda: hub.machine.agent.sizes == [(1, 1000)])
    mine.link.resize(Size(1, 1000))
    mine.link.resize(Size(100, 1000))
    await until(lambda: hub.machine.agent.sizes == [(1, 1000), (50, 1000)])


async def test_letting_the_wheel_go_leaves_it_to_others_and_goes_on_watching(
    client: Hub, desk: Desk, hub: RunningHub
) -> None:
    info = await shell(client)
    mine = desk.look_into(info)
    await mine.until_phase(Phase.LIVE)
    mine.link.leave()  # nothing to let go
    mine.link.drive()
    await mine.until_driving()
    mine.link.type(b"mine")
    await mine.until_shown("mine")
    mine.link.leave()
    assert not mine.link.status.has_keys
    async with (await client.sandbox("box")).attach(info.id, mode="watch") as other:
        async for _ in other.events():
            if other.info.viewers and other.info.driver is None:
                break
        await other.ask()
        async for _ in other.events():
            if other.is_driving:
                break
        await other.write(", theirs")
        await mine.until_shown("mine, theirs")
    assert not mine.link.is_driving


async def test_nobody_is_driven_over_by_a_plain_wish_to_drive(client: Hub, desk: Desk) -> None:
    info = await shell(client)
    async with (await client.sandbox("box")).attach(info.id) as other:
        mine = desk.look_into(info)
        await until(lambda: mine.link.status.driver == "first admin")
        mine.said.clear()
        mine.link.drive()
        assert mine.said == ["first admin drives: ask, or take over"]
        assert not mine.link.status.has_keys
        mine.link.ask()
        async for event in other.events():
            if type(event).__name__ == "Asked":
                break
        assert mine.said[1:] == ["asked first admin to let you drive"]
        await other.give(mine.link.status.viewer or "")
        await mine.until_driving()


async def test_taking_over_and_being_taken_over_from_are_told_and_end_typing_at_once(
    client: Hub, desk: Desk
) -> None:
    info = await shell(client)
    async with (await client.sandbox("box")).attach(info.id) as other:
        mine = desk.look_into(info)
        await until(lambda: mine.link.status.driver == "first admin")
        mine.link.take()
        await mine.until_driving()
        await until(lambda: mine.said[-1:] == ["you drive now (taken)"])
        mine.said.clear()
        mine.link.take()  # changes nothing
        await other.take()
        await until(lambda: not mine.link.status.has_keys)
        await until(lambda: mine.said == ["first admin drives: you watch", "first admin drives now (taken)"])
        mine.link.type(b"lost")
        assert mine.said[2:] == ["you only watch: what you type goes nowhere"]


async def test_who_asks_is_told_and_can_be_given_the_wheel_also_by_who_has_let_it_go(
    client: Hub, desk: Desk
) -> None:
    info = await shell(client)
    mine = desk.look_into(info)
    await mine.until_phase(Phase.LIVE)
    mine.link.give()
    mine.link.ask()
    assert mine.said == ["nobody asks you to drive", "nobody else drives"]
    mine.link.drive()
    await mine.until_driving()
    async with (await client.sandbox("box")).attach(info.id, mode="watch") as other:
        await other.ask()
        await until(lambda: mine.link.status.asking == "first admin")
        mine.link.leave()
        await until(lambda: mine.link.status.driver is None and mine.phase is Phase.LIVE)
        mine.link.give()
        async with asyncio.timeout(10):
            async for _ in other.events():
                if other.is_driving:
                    break
        await until(lambda: mine.link.status.driver == "first admin")
        assert (mine.link.status.asking, mine.link.status.has_keys) == (None, False)


async def test_who_asks_and_leaves_asks_no_more(client: Hub, desk: Desk) -> None:
    info = await shell(client)
    mine = desk.look_into(info)
    await mine.until_phase(Phase.LIVE)
    mine.link.drive()
    await mine.until_driving()
    async with (await client.sandbox("box")).attach(info.id, mode="watch") as other:
        await other.ask()
        await until(lambda: mine.link.status.asking == "first admin")
    await until(lambda: mine.link.status.asking is None)


async def test_the_machines_own_console_is_only_watched(client: Hub, desk: Desk) -> None:
    (boot,) = await client.consoles(sandbox="box")
    mine = desk.look_into(boot)
    await mine.until_phase(Phase.LIVE)
    for wish in (mine.link.drive, mine.link.take, mine.link.ask):
        wish()
    assert mine.said == ["what the machine says can only be watched"] * 3


async def test_a_dashboard_that_only_looks_on_drives_nothing(client: Hub, desk: Desk) -> None:
    mine = desk.look_into(await shell(client), can_drive=False)
    await mine.until_phase(Phase.LIVE)
    for wish in (mine.link.drive, mine.link.take, mine.link.ask, mine.link.give):
        wish()
    assert set(mine.said) == {"this dashboard only looks on: it was started with --readonly"}
    assert not mine.link.status.has_keys


async def test_a_flood_in_one_console_keeps_no_keys_from_another(
    client: Hub, desk: Desk, hub: RunningHub
) -> None:
    mine = desk.open_shell("box")
    await mine.until_driving()
    hub.machine.agent.overrides["pty"] = _flood
    flooded = desk.open_shell("box")
    await flooded.until_shown("y")
    for number in range(20):
        mine.link.type(b"x")
        await mine.until_shown("x" * (number + 1))
    assert flooded.link.screen._waiting_bytes <= 2 * MOST_WAITING
    assert flooded.phase is Phase.LIVE


async def _flood(channel: Channel) -> None:
    """A terminal in which a program never stops writing."""
    channel.accept({"console": channel.params["console"], "pid": 1})
    with contextlib.suppress(CodedError):
        while True:
            await channel.write(1, b"y\r\n" * 10_000)


# Its beginning and its end.


async def test_a_new_shell_is_driven_from_the_first_key_on(desk: Desk, hub: RunningHub) -> None:
    mine = desk.open_shell("box", size=Size(20, 60))
    assert (mine.phase, mine.link.status.has_keys) == (Phase.OPENING, True)
    mine.link.type(b"typed ahead")
    await mine.until_shown("typed ahead")
    assert mine.link.is_driving
    assert hub.machine.agent.consoles[-1]["rows"] == 20
    assert mine.link.id == mine.link.status.info.id  # type: ignore[union-attr]


async def test_there_is_a_bound_to_what_is_typed_ahead(desk: Desk, hub: RunningHub) -> None:
    hub.machine.agent.silence()
    mine = desk.open_shell("box")
    mine.link.type(b"x" * MOST_TYPED)
    mine.link.type(b"y")
    assert mine.said == ["what you type goes nowhere: the program does not read it"]
    hub.machine.agent.speak()


async def test_a_window_that_grows_while_its_shell_is_opened_has_the_shell_grow_too(
    desk: Desk, hub: RunningHub
) -> None:
    agent = hub.machine.agent
    asked, allowed = asyncio.Event(), asyncio.Event()

    async def open_slowly(channel: Channel) -> None:
        asked.set()
        await allowed.wait()
        await agent._pty(channel)

    agent.overrides["pty"] = open_slowly
    mine = desk.open_shell("box")
    await within(asked.wait())
    mine.link.resize(Size(30, 90))
    allowed.set()
    await until(lambda: agent.sizes == [(30, 90)])
    assert agent.consoles[-1]["rows"] == SIZE.rows


async def test_a_console_that_ends_says_how_and_keeps_what_it_has_shown(desk: Desk) -> None:
    mine = desk.open_shell("box")
    mine.link.type(b"the last words\x04")
    await mine.until_phase(Phase.ENDED)
    assert mine.reason == "its program has ended with 0"
    assert "the last words" in await mine.text()
    await within(asyncio.wait({mine.running}))
    mine.link.type(b"lost")
    mine.link.drive()
    assert mine.said[-2:] == ["you only watch: what you type goes nowhere", "its program has ended with 0"]


async def test_a_console_that_had_ended_before_shows_its_last_screen(client: Hub, desk: Desk) -> None:
    info = await shell(client)
    sandbox = await client.sandbox("box")
    async with sandbox.attach(info.id) as other:
        await other.write("what was there")
        await other.until("what was there")
    await sandbox.close_console(info.id)
    mine = desk.look_into(info)
    await mine.until_phase(Phase.ENDED)
    assert "what was there" in await mine.text()
    assert mine.reason


async def test_a_sandbox_that_is_removed_ends_its_consoles_with_the_reason(client: Hub, desk: Desk) -> None:
    mine = desk.look_into(await shell(client))
    await mine.until_phase(Phase.LIVE)
    await (await client.sandbox("box")).remove()
    await until(lambda: mine.link.is_over)
    assert mine.reason


async def test_what_is_not_there_says_so(client: Hub, desk: Desk) -> None:
    info = await shell(client)
    await (await client.sandbox("box")).remove()
    mine = desk.look_into(info)
    await mine.until_phase(Phase.FAILED)
    assert mine.reason.startswith("its sandbox was removed: ")
    another = desk.open_shell("nowhere")
    await another.until_phase(Phase.FAILED)
    assert not another.link.status.has_keys


# What goes wrong here.


async def test_an_emulator_that_is_lost_is_opened_anew_and_shows_the_same(client: Hub, desk: Desk) -> None:
    mine = desk.open_shell("box")
    mine.link.type(b"before")
    await mine.until_shown("before")
    assert mine.link.terminal is not None
    os.kill(mine.link.terminal.pid, signal.SIGKILL)
    await until(lambda: mine.link.terminal is not None and mine.link.terminal.is_lost)
    mine.link.look_after()
    await mine.until_shown("before")
    mine.link.type(b", after")
    await mine.until_shown("before, after")


async def test_a_console_whose_emulator_can_never_be_had_says_so(
    hub: RunningHub, zygote: Zygote, client: Hub
) -> None:
    info = await shell(client)
    async with open_terminals(zygote=zygote) as terminals:
        await terminals.close()
        async with dashboard(hub, terminals) as desk:
            mine = desk.look_into(info)
            await mine.until_phase(Phase.FAILED)
            assert mine.reason == "what it shows ends the terminal emulator again and again"


async def test_a_wheel_that_nobody_gives_is_not_waited_for(
    client: Hub, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche_tui.feed.console._COMING_S", 0.01)
    mine = desk.look_into(await shell(client))
    await mine.until_phase(Phase.LIVE)
    monkeypatch.setattr("cloche.aio.Console.ask", _say_nothing)
    mine.link.drive()
    await until(lambda: not mine.link.status.has_keys)
    assert mine.said == ["the hub does not say who drives: you watch"]
    await until(lambda: mine.phase is Phase.LIVE)


async def _say_nothing(_console: Console) -> None:
    """What a hub says that is stuck."""


async def test_who_lets_the_wheel_go_before_it_came_does_not_get_it(client: Hub, desk: Desk) -> None:
    mine = desk.open_shell("box")
    mine.link.leave()
    await until(lambda: mine.link.status.info is not None and mine.link.status.info.driver is None)
    await mine.until_phase(Phase.LIVE)
    assert not mine.link.status.has_keys


async def test_a_defect_ends_its_own_console_and_says_so(
    client: Hub, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = await shell(client)
    monkeypatch.setattr("cloche_tui.feed.console.told", lambda *_: 1 / 0)
    mine = desk.look_into(info)
    await mine.until_phase(Phase.LIVE)
    mine.link.drive()
    await mine.until_phase(Phase.FAILED)
    assert "ZeroDivisionError" in mine.reason


def test_the_size_of_these_tests_is_a_console_s() -> None:
    assert SIZE.bounded() == SIZE
