"""The life of one console, through a whole hub on fakes: what starts it, what ends it, and what goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    Cancelled,
    CommandNotStarted,
    InternalError,
    MachineFailed,
    NotFound,
    SenselessAnswer,
    StoreFailed,
)
from cloche_hub.services.consoles import keeper, life
from cloche_hub.services.consoles.display import Display
from cloche_hub.services.consoles.keeper import FULL, ON_AGAIN
from cloche_hub.services.consoles.life import WINDOW
from cloche_wire.aio import Channel
from tests.support.consoles import attach, create, terminals
from tests.support.fake_screens import FakeScreenLog
from tests.support.hub import running_hub, until, within

ENDED = {"exit_code": 0, "duration_s": 0.0}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk to have space."""
    monkeypatch.setattr(keeper, "RETRY_S", 0.01)


async def test_a_program_that_cannot_be_started_is_an_error_and_no_console(tmp_path: Path) -> None:
    async def refuse(_channel: Channel) -> None:
        raise CommandNotStarted("nope: no such file or directory")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = refuse
        with pytest.raises(CommandNotStarted, match="nope"):
            await create(client, argv=["nope"])
        (failed,) = await hub.events(AuditName.CONSOLE_FAILED)
        assert (failed.detail["code"], failed.detail["name"]) == ("command_not_started", "1")
        assert await terminals(client, ended=True) == []
        await until(lambda: not hub.screens.kept)
        (recording,) = hub.recordings.made.values()
        assert recording.row.ended_at is not None
        # Its name is free again.
        del hub.machine.agent.overrides["pty"]
        assert (await create(client))["name"] == "1"


@pytest.mark.parametrize("claim", [{"console": "con_other"}, {"pid": -1}])
async def test_a_start_that_makes_no_sense_is_not_believed(tmp_path: Path, claim: dict[str, Any]) -> None:
    async def lie(channel: Channel) -> None:
        channel.accept({"console": channel.params["console"], **claim})
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        with pytest.raises(SenselessAnswer):
            await create(client)


async def test_an_end_without_a_start_is_not_believed(tmp_path: Path) -> None:
    async def lie(channel: Channel) -> None:
        channel.close({"exit_code": 0, "duration_s": 0.0})

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        with pytest.raises(SenselessAnswer, match="not that it began"):
            await create(client)
        assert await terminals(client, ended=True) == []


async def test_a_guest_cannot_say_that_the_sandbox_is_not_there(tmp_path: Path) -> None:
    async def lie(_channel: Channel) -> None:
        raise NotFound("no sandbox 'a'")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        with pytest.raises(SenselessAnswer, match="not_found"):
            await create(client)


async def test_an_end_that_makes_no_sense_loses_the_console_for_its_viewers(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def lie(channel: Channel) -> None:
        channel.accept({})
        await channel.write(1, b"last words")
        await go.wait()
        channel.close({"exit_code": 999})

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        await create(client)
        viewer = await attach(client)
        await viewer.until_shown("last words")
        go.set()
        with pytest.raises(SenselessAnswer, match="exit_code"):
            await viewer.result()
        (lost,) = await terminals(client, ended=True)
        assert (lost["state"], lost["exit_code"], lost["viewers"]) == ("ended", None, [])
        assert "makes no sense" in lost["end_reason"]
        later = await attach(client, console="1", is_read=False)
        with pytest.raises(Cancelled, match="makes no sense"):
            await later.result()
        assert later.text == ["last words"]


async def test_the_guest_may_forget_a_console_whose_end_is_known(tmp_path: Path) -> None:
    confirmed = asyncio.Event()

    async def end(channel: Channel) -> None:
        channel.accept({})
        channel.close(ENDED)
        await channel.wait_confirmed()
        confirmed.set()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = end
        await create(client)
        await within(confirmed.wait())


async def test_a_program_that_will_not_go_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "HANGUP_S", 0.01)
    served: list[Channel] = []

    async def stay(channel: Channel) -> None:
        served.append(channel)
        channel.accept({})
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = stay
        await create(client)
        viewer = await attach(client)
        closed = await client.call("console.close", sandbox="a")
        assert (closed["state"], closed["exit_code"], closed["signal"]) == ("ended", None, None)
        assert closed["end_reason"].startswith("closed by tok_")
        with pytest.raises(Cancelled, match="closed by"):
            await viewer.result()
        await until(lambda: not served[0].is_live)
        (event,) = await hub.events(AuditName.CONSOLE_CLOSED)
        assert event.detail["code"] == "cancelled"


async def test_a_sandbox_that_fails_loses_its_consoles(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        for _ in range(3):
            await create(client)
        viewer = await attach(client)
        hub.machine.crash()
        with pytest.raises(MachineFailed, match="qemu died"):
            await viewer.result()
        await hub.happened(AuditName.CONSOLE_FAILED, times=3)
        await until(lambda: all(made.row.ended_at for made in hub.recordings.made.values()))


async def test_a_sandbox_that_is_removed_closes_its_consoles(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        await client.call("sandbox.remove", sandbox="a")
        with pytest.raises(Cancelled, match="removed by"):
            await viewer.result()
        await hub.happened(AuditName.CONSOLE_CLOSED)
        await until(lambda: not hub.screens.kept)


async def test_a_full_disk_freezes_the_console_and_nobody_else(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        hub.screens.is_full = True
        async with asyncio.TaskGroup() as tasks:
            typing = tasks.create_task(viewer.channel.write(1, b"x" * (6 * WINDOW)))
            await viewer.until(lambda: FULL in viewer.notices)
            await until(lambda: hub.machine.agent.written >= WINDOW)
            assert (await client.run("a", "echo", "hi")).stdout == b"hi\n"
            assert hub.machine.agent.written <= 2 * WINDOW
            assert not typing.done()
            hub.screens.is_full = False
            await viewer.until(lambda: ON_AGAIN in viewer.notices)
            await viewer.until(typing.done)
        await viewer.type(b"\x04")
        await viewer.result()


async def test_a_console_ends_on_a_full_disk_and_its_recording_is_finished_later(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        hub.screens.is_full = hub.recordings.is_full = True
        await viewer.type(b"bye\x04")
        assert (await viewer.result())["exit_code"] == 0
        (recording,) = hub.recordings.made.values()
        assert recording.row.ended_at is None
        hub.recordings.is_full = False
        await until(lambda: recording.row.ended_at)


async def test_a_broken_disk_closes_the_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise StoreFailed("broken")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        monkeypatch.setattr(FakeScreenLog, "append", fail)
        await viewer.type(b"x")
        assert (await viewer.result())["signal"] == "HUP"
        (ended,) = await terminals(client, ended=True)
        assert "cannot be stored" in ended["end_reason"]


async def test_a_defect_costs_its_console_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        await create(client)
        victim, other = await attach(client, console="1"), await attach(client, console="2")

        async def break_down(display: Display) -> float:
            if display._pending[0].entry == b"boom":
                raise ZeroDivisionError
            return await feed(display)

        feed = Display._feed_one
        monkeypatch.setattr(Display, "_feed_one", break_down)
        await victim.type(b"boom")
        with pytest.raises(InternalError, match="its log has the cause"):
            await victim.result()
        await other.type(b"goes on")
        await other.until_shown("goes on")
        assert [log["event"] for log in hub.logs if log["log_level"] == "error"] == ["console_defect"]
        assert len(await hub.events(AuditName.CONSOLE_CLOSED, AuditName.CONSOLE_FAILED)) == 1


async def test_what_hides_in_an_end_is_masked(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def tell(channel: Channel) -> None:
        channel.accept({})
        await channel.write(1, b"the key is hunter2\r\n")
        await go.wait()
        raise CommandNotStarted("cannot read hunter2")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a", secrets={"KEY": "hunter2"})
        hub.machine.agent.overrides["pty"] = tell
        await create(client)
        viewer = await attach(client)
        await viewer.until_shown("hunter2")
        go.set()
        with pytest.raises(CommandNotStarted):
            await viewer.result()
        (ended,) = await terminals(client, ended=True)
        assert ended["end_reason"] == "cannot read *******"
        (recording,) = hub.recordings.made.values()
        assert b"the key is *******" in recording.text
        assert "hunter2" not in str([await hub.events(), hub.logs, ended])
