"""The boot consoles of machines, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.plain_text import GAP
from cloche_hub.errors import InternalError, NotFound, WrongState
from cloche_hub.ports import BootOutput, MachineExit
from cloche_hub.services.fair import FairTurns, Turn
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals
from tests.support.consoles import Viewing, attach
from tests.support.fake_hypervisor import BOOT_LOG, FakeMachine
from tests.support.hub import Client, Time, running_hub, until, within

BOOTED = BOOT_LOG.decode().strip()


async def watch(client: Client, sandbox: str = "a", **params: Any) -> Viewing:
    """A viewer of a sandbox's boot console, with what it has shown so far."""
    return await attach(client, sandbox, console="boot", **params)


async def listed(client: Client, **params: Any) -> list[tuple[str, str, str]]:
    answer = await client.call("console.list", **params)
    return [(one["sandbox_name"], one["name"], one["state"]) for one in answer["consoles"]]


# What there is.


async def test_every_machine_has_a_console_that_nobody_opened(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a", labels={"team": "x"})
        await client.create(name="b")
        assert await listed(client) == [("b", "boot", "open"), ("a", "boot", "open")]
        (boot,) = (await client.call("console.list", sandbox="a"))["consoles"]
        assert (boot["kind"], boot["command"], boot["created_by"], boot["recording"]) == (
            "boot",
            None,
            "hub",
            None,
        )
        assert (boot["sandbox"], boot["labels"], boot["driver"]) == (made["id"], {"team": "x"}, None)
        await client.call("sandbox.remove", sandbox="a")
        assert await listed(client, ended=True) == [("b", "boot", "open")]


async def test_a_sandbox_without_a_machine_has_none_yet(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        creating = client.open("sandbox.create", name="a")
        await until(lambda: hub.hypervisor.starting)
        assert await listed(client, ended=True) == []
        with pytest.raises(NotFound):
            await client.call("console.screen", sandbox="a", console="boot")
        hub.hypervisor.start_gate.set()
        await within(creating.result())
        assert await listed(client) == [("a", "boot", "open")]


async def test_it_is_the_newest_console_for_nobody_and_cannot_be_closed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(NotFound, match="no open console"):
            await attach(client)
        with pytest.raises(WrongState, match="cannot be closed"):
            await client.call("console.close", sandbox="a", console="boot")


async def test_who_follows_events_hears_of_its_beginning_its_viewers_and_its_end(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        events = client.open("events", topics=["console"]).messages()
        assert await within(anext(events)) == {"topic": "current_end"}
        await client.create(name="a")
        begun = await within(anext(events))
        assert (begun["value"]["name"], begun["value"]["state"]) == ("boot", "open")
        viewer = await watch(client)
        assert len((await within(anext(events)))["value"]["viewers"]) == 1
        viewer.close()
        hub.machine.crash()
        while (told := await within(anext(events)))["value"]["state"] == "open":
            assert told["value"]["id"] == begun["value"]["id"]
        assert told["value"]["id"] == begun["value"]["id"]


# Watching.


async def test_a_viewer_sees_what_the_machine_has_said_and_then_what_it_says(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client, mode="drive")
        assert (viewer.text, viewer.driver) == ([BOOTED], None)
        hub.machine.print(b"\x1b[?7l[  1.5] usb \x1b[31mfound\x1b]0;title\x07\n")
        await viewer.until_shown("[  1.5] usb found")
        assert viewer.output == b"[  1.5] usb found\r\n"
        viewer.close()


async def test_long_lines_are_wrapped_whatever_the_firmware_says(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.print(b"\x1b[?7l" + b"x" * 100 + b"\n")
        viewer = await watch(client)
        assert viewer.text == [BOOTED, "x" * 80, "x" * 20]
        viewer.close()


async def test_nobody_drives_it_and_nothing_can_be_typed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        for said in ({"ask": True}, {"take": True}):
            await viewer.say(**said)
            assert await viewer.until_told("notice") == "a boot console can be watched only"
        await viewer.type(b"root\r")
        await viewer.until_told("notice")
        await viewer.say(resize={"rows": 50, "cols": 100})
        hub.machine.print(b"login:")
        await viewer.until_shown("login:")
        assert (viewer.terminal is not None and viewer.terminal.rows, viewer.driver) == (24, None)
        viewer.close()


async def test_many_watch_one_reading_of_the_machine_and_nobody_none(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        assert hub.machine.followers == 0
        viewers = [await watch(client) for _ in range(5)]
        await client.call("console.screen", sandbox="a", console="boot")
        assert hub.machine.followers == 1
        hub.machine.print(b"hello\n")
        for viewer in viewers:
            await viewer.until_shown("hello")
            viewer.channel.reset(NotFound("enough"))
            viewer.close()
        await until(lambda: hub.machine.followers == 0)
        again = await watch(client)
        assert again.text == [BOOTED, "hello"]
        again.close()


async def test_it_can_be_watched_although_the_agent_is_dead(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.silence()
        viewer = await watch(client)
        hub.machine.print(b"the agent was killed\n")
        await viewer.until_shown("the agent was killed")
        # It answers the hub that ends it.
        hub.machine.agent.speak()
        viewer.close()


async def test_a_viewer_hears_of_the_end_behind_the_last_words(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        hub.machine.print(b"Kernel panic\n")
        hub.machine.end(MachineExit("guest_panic", "Kernel panic"))
        ending = await viewer.result()
        assert ending.keys() == {"duration_s"}
        assert viewer.text == [BOOTED, "Kernel panic"]
        viewer.close()


async def test_what_is_left_of_a_failed_machines_can_be_seen_until_it_is_removed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.print(b"Kernel panic\n")
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        assert await listed(client) == []
        assert await listed(client, ended=True) == [("a", "boot", "ended")]
        viewer = await watch(client)
        assert (await viewer.result()).keys() == {"duration_s"}
        assert viewer.text == [BOOTED, "Kernel panic"]
        viewer.close()
        screen = client.open("console.screen", sandbox="a", console="boot", follow=True)
        (told,) = [message async for message in screen.messages()]
        assert (told["lines"][1], told["state"]) == ("Kernel panic", "ended")
        await client.call("sandbox.remove", sandbox="a")
        with pytest.raises(NotFound):
            await client.call("console.screen", sandbox="a", console="boot")


async def test_a_flood_is_shown_with_its_gaps_and_holds_up_nobody(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        for number in range(20):
            hub.machine.print(b"flood %d\n" % number * 4000, is_cut=True)
            assert (await client.run("a", "echo", "hi")).stdout == b"hi\n"
        hub.machine.print(b"the end\n")
        await viewer.until_shown("the end")
        hub.machine.print(b"half a li", is_cut=True)
        await viewer.until_shown("half a li")
        assert viewer.text[-2:] == [GAP, "half a li"]
        viewer.close()


async def test_the_machine_is_read_no_faster_than_the_screen_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        gate = asyncio.Event()

        @contextlib.asynccontextmanager
        async def turn(_fair: FairTurns, _who: str) -> AsyncIterator[Turn]:
            await gate.wait()
            yield Turn()

        monkeypatch.setattr(FairTurns, "turn", turn)
        for number in range(10):
            hub.machine.print(b"line %d\n" % number)
        for _ in range(5):
            await client.call("sandbox.list")
        assert hub.machine.followed <= 1
        gate.set()
        await viewer.until_shown("line 9")
        viewer.close()


async def test_who_watches_keeps_the_sandbox_and_its_coming_and_going_is_in_the_audit(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        await client.create(name="a", lease_s=60)
        viewer = await watch(client)
        time.passes(61)
        for _ in range(5):
            await asyncio.sleep(0.01)
        assert (await client.call("sandbox.show", sandbox="a"))["state"] == "running"
        viewer.channel.reset(NotFound("enough"))
        viewer.close()
        detached = await hub.happened(AuditName.CONSOLE_DETACHED)
        (attached,) = await hub.events(AuditName.CONSOLE_ATTACHED)
        assert attached.detail["console"] == detached.detail["console"] == viewer.console["id"]
        # Its lease begins anew.
        assert (await client.call("sandbox.show", sandbox="a"))["state"] == "running"
        time.passes(61)
        await hub.happened(AuditName.SANDBOX_EXPIRED)


async def test_another_owners_does_not_exist(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        async with hub.client(await hub.mint("bob")) as bob:
            assert await listed(bob, ended=True) == []
            with pytest.raises(NotFound):
                await watch(bob)


async def test_a_defect_in_one_is_its_end_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        follow = FakeMachine.follow_boot_log

        async def fail(_machine: FakeMachine) -> AsyncGenerator[BootOutput]:
            yield BootOutput(b"")
            raise RuntimeError("a defect")

        monkeypatch.setattr(FakeMachine, "follow_boot_log", fail)
        await client.create(name="b")
        with pytest.raises(InternalError):
            await (await watch(client, "b")).result()
        monkeypatch.setattr(FakeMachine, "follow_boot_log", follow)
        again = await watch(client, "b")
        assert again.text == [BOOTED]
        hub.hypervisor.machines[viewer.console["sandbox"]].print(b"still here\n")
        await viewer.until_shown("still here")
        again.close()
        viewer.close()
        assert [line["event"] for line in hub.logs if line["log_level"] == "error"] == ["boot_console_defect"]


async def test_one_of_a_sandbox_that_is_removed_while_its_terminal_is_opened_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, may_open, opened = asyncio.Event(), asyncio.Event(), Terminals.open

    async def open_late(terminals: Terminals, rows: int, cols: int) -> ApartTerminal:
        opening.set()
        await may_open.wait()
        return await opened(terminals, rows, cols)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        monkeypatch.setattr(Terminals, "open", open_late)
        watching = client.open("console.attach", sandbox="a", console="boot")
        await within(opening.wait())
        await client.call("sandbox.remove", sandbox="a")
        may_open.set()
        with pytest.raises(NotFound):
            await within(watching.result())
        assert [log for log in hub.logs if log["log_level"] == "error"] == []


async def test_a_hub_that_stops_leaves_no_watch_behind(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await watch(client)
        await hub.end()
        viewer.close()
        assert (hub.machine.followers, [line for line in hub.logs if line["log_level"] == "error"]) == (0, [])
