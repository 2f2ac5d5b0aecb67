"""The consoles of a hub, through a whole hub on fakes: opened, listed, named, closed, shown when they have ended."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import (
    BadRequest,
    Cancelled,
    Conflict,
    NoSpace,
    NotFound,
    TooLarge,
    WrongState,
)
from cloche_hub.ports import StoredScreen
from cloche_hub.services.consoles.ended import EndedConsoles
from cloche_term import TerminalLost
from cloche_term.apart.terminals import Terminals
from cloche_wire.aio import Channel
from tests.support.callbacks import ASK, answering, pending, result_of, write_policy
from tests.support.consoles import attach, create, terminals
from tests.support.fake_screens import FakeScreens
from tests.support.hub import BOUND_S, Client, RunningHub, Time, running_hub, until


async def names(client: Client, **params: Any) -> list[str]:
    """The names of the consoles listed, newest first."""
    return [console["name"] for console in await terminals(client, **params)]


def running(hub: RunningHub) -> int:
    return hub.machine.agent.running


async def end(client: Client, console: str) -> dict[str, Any]:
    """Ends a console's program by what is typed."""
    viewer = await attach(client, console=console)
    await viewer.type(b"\x04")
    return await viewer.result()


async def test_a_console_outlives_the_client_that_made_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        async with hub.client() as client:
            await client.create(name="a")
            made = await create(client, argv=["vim", "x"], rows=30, cols=100)
        assert (made["name"], made["state"], made["command"]) == ("1", "open", ["vim", "x"])
        async with hub.client() as client:
            assert await terminals(client) == [made]
            assert running(hub) == 1
            (asked,) = hub.machine.agent.consoles
            assert (asked["console"], asked["argv"], asked["rows"]) == (made["id"], ["vim", "x"], 30)
            assert asked["env"] == {"TERM": "xterm-256color"}


async def test_consoles_are_called_by_the_lowest_free_number_or_as_asked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        for name in (None, "build", None):
            await create(client, name=name)
        assert await names(client) == ["2", "build", "1"]
        with pytest.raises(Conflict, match="has an open console 'build'"):
            await create(client, name="build")
        with pytest.raises(BadRequest, match="the machine's own"):
            await create(client, name="boot")
        await end(client, "1")
        assert (await create(client))["name"] == "1"
        await end(client, "build")
        assert (await create(client, name="build"))["name"] == "build"
        assert await names(client, sandbox="a") == ["build", "1", "2"]
        assert await names(client, sandbox="a", ended=True) == ["build", "1", "2", "build", "1"]


async def test_a_sandbox_has_so_many_consoles_and_no_more(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        for _ in range(16):
            await create(client)
        with pytest.raises(TooLarge, match="16 open consoles"):
            await create(client)
        await end(client, "7")
        assert (await create(client))["name"] == "7"


async def test_everybody_sees_its_own_and_operators_see_all(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        ann, ben = await hub.mint("ann"), await hub.mint("ben")
        operator = await hub.mint("olga", Scope.OPERATOR)
        async with hub.client(ann) as one, hub.client(ben) as two, hub.client(operator) as three:
            await one.create(name="a")
            made = await create(one)
            assert (made["owner"], made["created_by_name"]) == ("ann", "test")
            assert (await names(one), await names(two), await names(three)) == (["1"], [], ["1"])
            for kind in ("console.create", "console.close", "console.attach"):
                with pytest.raises(NotFound):
                    await two.call(kind, sandbox="a")
            with pytest.raises(NotFound):
                await two.call("console.list", sandbox="a")
            assert (await attach(three, mode="take")).driver == "v1"


async def test_a_console_that_is_closed_is_hung_up_and_its_end_awaited(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        closed = await client.call("console.close", sandbox="a", console="1")
        assert (closed["state"], closed["signal"], running(hub)) == ("ended", "HUP", 0)
        assert closed["end_reason"].startswith("closed by tok_")
        assert (await viewer.result())["signal"] == "HUP"
        again = await client.call("console.close", sandbox="a", console="1")
        assert again == closed
        (event,) = await hub.events(AuditName.CONSOLE_CLOSED)
        assert (event.detail["signal"], event.detail["reason"]) == ("HUP", closed["end_reason"])
        with pytest.raises(NotFound, match="no open console"):
            await client.call("console.close", sandbox="a")


async def test_an_ended_console_shows_its_last_screen_with_scrollback_and_its_result(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, rows=4, cols=20)
        driver = await attach(client, rows=4, cols=20)
        await driver.type(b"".join(b"line %d\r\n" % number for number in range(10)) + b"last\x04")
        result = await driver.result()
        viewer = await attach(client, console="1", scrollback=3, is_read=False)
        assert (viewer.id, viewer.console["state"]) == ("v0", "ended")
        assert await viewer.result() == result
        assert viewer.text == driver.text == ["line 7", "line 8", "line 9", "last"]
        assert viewer.terminal is not None
        assert viewer.terminal.scrollback_rows == 3
        attached = (await hub.events(AuditName.CONSOLE_ATTACHED))[-1]
        detached = (await hub.events(AuditName.CONSOLE_DETACHED))[-1]
        assert attached.detail["attachment"] == detached.detail["attachment"]


async def test_of_the_ended_ones_the_newest_are_kept_until_their_sandbox_is_removed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        ids = []
        for number in range(18):
            ids.append((await create(client, name=f"n{number}"))["id"])
            await end(client, f"n{number}")
        assert await names(client, ended=True) == [f"n{number}" for number in range(17, 1, -1)]
        await until(lambda: sorted(hub.screens.kept) == sorted(ids[2:]))
        await client.call("sandbox.remove", sandbox="a")
        assert not hub.screens.kept
        assert await names(client, ended=True) == []


class SlowScreens(FakeScreens):
    """Stored screens on a disk that takes its time to delete."""

    async def remove(self, console_id: str) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        await super().remove(console_id)


async def test_when_a_sandbox_is_removed_nothing_that_its_consoles_have_shown_is_stored(
    tmp_path: Path,
) -> None:
    screens = SlowScreens()
    async with running_hub(tmp_path / "home", screens=screens) as hub, hub.client() as client:
        for name in ("a", "b"):
            await client.create(name=name)
            for console in ("ended", "open"):
                await create(client, name, name=console)
            viewer = await attach(client, name, console="ended")
            await viewer.type(b"\x04")
            await viewer.result()
        assert len(screens.kept) == 4
        # Who asks at the same time is answered at the same time.
        await asyncio.gather(*(client.call("sandbox.remove", sandbox="a") for _ in range(2)))
        assert len(screens.kept) == 2
        await hub.end()
        assert not screens.kept


async def test_a_sandbox_that_expires_while_the_hub_looks_for_those_it_has_missed_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, may_go_on, look = Time(), asyncio.Event(), EndedConsoles.forget_removed

    async def look_slowly(ended: EndedConsoles) -> None:
        await look(ended)
        await may_go_on.wait()

    monkeypatch.setattr(EndedConsoles, "forget_removed", look_slowly)
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        await create(client)
        await client.call("console.close", sandbox="a")
        assert hub.screens.kept
        time.passes(61)
        await hub.happened(AuditName.SANDBOX_EXPIRED)
        may_go_on.set()
        await until(lambda: not hub.screens.kept)


async def test_a_client_that_is_gone_while_a_console_is_opened_leaves_none(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        opened: list[Channel] = []

        async def dawdle(channel: Channel) -> None:
            opened.append(channel)
            await channel.wait_confirmed()

        hub.machine.agent.overrides["pty"] = dawdle
        channel = client.open("console.create", sandbox="a")
        await until(lambda: opened)
        channel.reset(Cancelled("never mind"))
        closed = await hub.happened(AuditName.CONSOLE_CLOSED)
        assert closed.detail["code"] == "cancelled"
        await until(lambda: not opened[0].is_live)
        assert await names(client, ended=True) == []
        await until(lambda: not hub.screens.kept)


async def test_a_console_whose_start_cannot_be_recorded_never_reaches_the_guest(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await create(client)
        hub.store.refuses = None
        for full in (hub.screens, hub.recordings):
            full.is_full = True
            with pytest.raises(NoSpace):
                await create(client)
            full.is_full = False
        assert hub.machine.agent.consoles == []
        assert len(await hub.events(AuditName.CONSOLE_FAILED)) == 2
        assert (await create(client, record=False))["recording"] is None
        await until(lambda: len(hub.screens.kept) == 1)


async def test_only_a_sandbox_that_runs_has_consoles(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        hub.machine.crash()
        await until(lambda: running(hub) == 0)
        await hub.happened(AuditName.CONSOLE_FAILED)
        with pytest.raises(WrongState):
            await create(client)
        async with asyncio.timeout(BOUND_S):
            while (lost := (await terminals(client, ended=True))[0])["state"] == "open":
                await asyncio.sleep(0)
        assert "qemu died" in lost["end_reason"]
        viewer = await attach(client, console="1", is_read=False)
        with pytest.raises(Cancelled, match="qemu died"):
            await viewer.result()


async def test_a_console_alone_lets_its_sandbox_expire_and_a_viewer_does_not(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        await create(client)
        viewer = await attach(client)
        time.passes(100)
        await asyncio.sleep(0.05)
        assert (await client.call("sandbox.show", sandbox="a"))["state"] == "running"
        viewer.channel.reset(Cancelled("left"))
        await hub.happened(AuditName.CONSOLE_DETACHED)
        async with asyncio.timeout(BOUND_S):
            # It is in use until a moment after that.
            while not await hub.events(AuditName.SANDBOX_EXPIRED):
                time.passes(100)
        await hub.happened(AuditName.CONSOLE_CLOSED)


async def test_what_an_earlier_hub_left_of_screens_is_deleted(tmp_path: Path) -> None:
    screens = FakeScreens()
    screens.kept["con_old"] = StoredScreen(0, None, ())
    async with running_hub(tmp_path / "home", screens=screens):
        assert screens.kept == {}


async def test_calls_and_decisions_are_marked_in_the_recordings_of_their_sandbox(tmp_path: Path) -> None:
    write_policy(tmp_path / "home", ASK)
    async with running_hub(tmp_path / "home") as hub, answering(hub, "*") as shop:
        for name in ("other", "a"):
            await shop.client.create(name=name)
            await create(shop.client, name)
        called = hub.machine.agent.callback("pay.send")
        (approval,) = await pending(shop.client)
        await shop.client.call("approval.approve", approval=approval["id"])
        await result_of(called)
        unmarked, marked = hub.recordings.made.values()
        said = (
            "callback.requested pay.send",
            f"approval of pay.send asked for ({approval['id']})",
            f"approval of pay.send approved by first admin ({approval['id']})",
            "callback.answered pay.send",
        )
        await until(lambda: all(text.encode() in marked.text for text in said))
        assert b'"m"' not in unmarked.text


async def test_a_decision_is_marked_when_it_is_made_however_long_screens_take_to_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path / "home", ASK)
    may_delete, deleting = asyncio.Event(), asyncio.Event()
    remove = FakeScreens.remove

    async def remove_slowly(screens: FakeScreens, console_id: str) -> None:
        deleting.set()
        await may_delete.wait()
        await remove(screens, console_id)

    async with (
        running_hub(tmp_path / "home") as hub,
        answering(hub, "*") as shop,
        asyncio.TaskGroup() as tasks,
    ):
        for name in ("other", "a"):
            await shop.client.create(name=name)
            await create(shop.client, name)
        await shop.client.call("console.close", sandbox="other")
        monkeypatch.setattr(FakeScreens, "remove", remove_slowly)
        removing = tasks.create_task(shop.client.call("sandbox.remove", sandbox="other"))
        await deleting.wait()
        called = hub.machine.agent.callback("pay.send")
        (approval,) = await pending(shop.client)
        await shop.client.call("approval.approve", approval=approval["id"])
        await result_of(called)
        marked = list(hub.recordings.made.values())[-1]
        said = [
            f"approval of pay.send {state} ({approval['id']})"
            for state in ("asked for", "approved by first admin")
        ]
        await until(lambda: all(text.encode() in marked.text for text in said))
        assert not removing.done()
        may_delete.set()


async def test_the_hub_ends_its_consoles_in_good_order(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        await viewer.type(b"x")
        await viewer.until_shown("x")
        await hub.end()
        (recording,) = hub.recordings.made.values()
        assert recording.row.ended_at is not None
        events = await hub.names()
        for began, over in (
            (AuditName.CONSOLE_OPENED, AuditName.CONSOLE_CLOSED),
            (AuditName.CONSOLE_ATTACHED, AuditName.CONSOLE_DETACHED),
        ):
            assert (events.count(began), events.count(over)) == (1, 1)


async def test_what_terminals_come_from_is_started_with_the_first_sandbox_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Terminals] = []

    def start(terminals: Terminals) -> None:
        started.append(terminals)
        raise TerminalLost("there are no more processes")

    monkeypatch.setattr(Terminals, "start", start)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.call("sandbox.list")
        assert started == []
        # Nobody has asked for a console; who does is told.
        await client.create(name="a")
        await until(lambda: started)
        await client.create(name="b")
    assert set(started) == {hub.terminals}
    assert {log["event"] for log in hub.logs if log["log_level"] == "warning"} == {"terminals_not_started"}
