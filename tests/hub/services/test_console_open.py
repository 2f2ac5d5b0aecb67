"""Consoles that belong to whoever opened them (`console.open`): their bytes, their ends, and what the audit knows of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    Cancelled,
    CommandNotStarted,
    NoSpace,
    NotFound,
    SenselessAnswer,
)
from cloche_wire.aio import Channel
from cloche_wire.limits import Limits
from tests.support.fake_agent import counted
from tests.support.hub import Client, RunningHub, running_hub, until, within

MIB = 1 << 20
KEYS = 1


async def open_console(client: Client, **params: Any) -> Channel:
    """A console that has been opened in the sandbox `a`."""
    channel = client.open("console.open", sandbox="a", **params)
    await within(channel.wait_accepted())
    return channel


def running(hub: RunningHub) -> int:
    return hub.machine.agent.running


async def test_keys_reach_the_terminal_and_what_it_shows_comes_back(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        console = await open_console(client, rows=30, cols=100)
        await console.write(KEYS, b"ls\r\x1b[A\xff")
        assert await within(console.read(KEYS)) == b"ls\r\x1b[A\xff"
        await console.send_message({"resize": {"rows": 50, "cols": 200}})
        await until(lambda: hub.machine.agent.sizes)
        assert hub.machine.agent.sizes == [(50, 200)]
        await console.write(KEYS, b"\x04")
        assert await within(console.result()) == {"exit_code": 0, "duration_s": 0.0}


async def test_the_guest_is_told_what_was_asked_for_and_what_the_console_is_called(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        for params in ({}, {"argv": ["vim"], "env": {"K": "v"}, "cwd": "/", "user": "root", "term": "vt100"}):
            console = client.open("console.open", sandbox="a", rows=5, cols=6, **params)
            info = await within(console.wait_accepted())
            opened = (await hub.events(AuditName.CONSOLE_OPENED))[-1]
            assert info == {"console": opened.detail["console"], "pid": 100 + len(hub.machine.agent.consoles)}
            assert str(info["console"]).startswith("con_")
        plain, full = hub.machine.agent.consoles
        size = {"rows": 5, "cols": 6}
        assert {**plain, "console": ""} == {
            "console": "", "argv": None, "env": {"TERM": "xterm-256color"}, "cwd": None, "user": None, **size
        }  # fmt: skip
        assert {**full, "console": ""} == {
            "console": "",
            "argv": ["vim"],
            "env": {"TERM": "vt100", "K": "v"},
            "cwd": "/",
            "user": "root",
            **size,
        }


async def test_a_signal_that_ends_the_program_is_the_result(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        console = await open_console(client)
        await console.send_message({"signal": "KILL"})
        assert (await within(console.result()))["signal"] == "KILL"
        (closed,) = await hub.events(AuditName.CONSOLE_CLOSED)
        assert closed.detail["signal"] == "KILL"


async def test_whoever_leaves_a_console_closes_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        console = await open_console(client)
        console.reset(Cancelled("detached"))
        closed = await hub.happened(AuditName.CONSOLE_CLOSED)
        assert (closed.detail["code"], closed.detail["reason"]) == ("cancelled", "detached")
        await until(lambda: running(hub) == 0)
        assert await hub.events(AuditName.CONSOLE_FAILED) == []


async def test_the_audit_has_neither_keys_nor_output_nor_a_variables_value(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        console = await open_console(client, env={"KEY": "hunter2"})
        await console.write(KEYS, b"hunter3\x04")
        await within(console.result())
        (opened,) = await hub.events(AuditName.CONSOLE_OPENED)
        assert opened.detail["env_names"] == ["KEY", "TERM"]
        assert "hunter" not in str([await hub.events(), hub.logs])


async def test_what_nobody_reads_stalls_the_terminal_and_nobody_else(tmp_path: Path) -> None:
    window = 32 << 10
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=Limits(window=window)) as client:
        await client.create(name="a")
        console = await open_console(client)
        data = counted(MIB).replace(b"\x04", b"\x05")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(console.write(KEYS, data))
            agent = hub.machine.agent
            await until(lambda: console.credit(KEYS) == 0)
            assert (await client.run("a", "echo", "hi")).stdout == b"hi\n"
            assert agent.written <= 4 * window
            shown = bytearray()
            while len(shown) < len(data):
                shown += await within(console.read(KEYS))
        assert shown == data


async def test_a_console_goes_on_over_new_links_without_loss_or_doubling(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=Limits(window=32 << 10)) as client,
    ):
        await client.create(name="a")
        console = await open_console(client)
        data = counted(MIB).replace(b"\x04", b"\x05")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(console.write(KEYS, data))
            shown = bytearray()
            for _ in range(3):
                shown += await within(console.read(KEYS))
                await client.cut()
                await client.link()
                shown += await within(console.read(KEYS))
                hub.machine.agent.drop_link()
            while len(shown) < len(data):
                shown += await within(console.read(KEYS))
        assert shown == data


async def test_a_program_that_cannot_be_started_fails_with_the_guests_words(tmp_path: Path) -> None:
    async def refuse(_channel: Channel) -> None:
        raise CommandNotStarted("nope: no such file or directory")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = refuse
        with pytest.raises(CommandNotStarted, match="nope"):
            await client.call("console.open", sandbox="a")
        (failed,) = await hub.events(AuditName.CONSOLE_FAILED)
        assert failed.detail["code"] == "command_not_started"


@pytest.mark.parametrize("kind", ["exec", "console.open"])
async def test_a_guest_cannot_say_that_the_sandbox_is_not_there(tmp_path: Path, kind: str) -> None:
    async def lie(_channel: Channel) -> None:
        raise NotFound("no sandbox 'a'")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides |= {"exec": lie, "pty": lie}
        with pytest.raises(SenselessAnswer, match="not_found"):
            await client.call(kind, sandbox="a", argv=["true"])
        (failed,) = await hub.events(AuditName.EXEC_FAILED, AuditName.CONSOLE_FAILED)
        assert failed.detail["code"] == "senseless_answer"


@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"exit_code": 256, "duration_s": 1.0},
        {"exit_code": 0, "signal": "KILL", "duration_s": 1.0},
        {"signal": "\x1b[2J", "duration_s": 1.0},
        {"exit_code": 0, "duration_s": -1},
        {"exit_code": 0},
    ],
)
async def test_a_senseless_result_is_an_error_for_the_caller(tmp_path: Path, claim: dict[str, Any]) -> None:
    async def lie(channel: Channel) -> None:
        channel.accept({"pid": 1})
        channel.close(claim)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        with pytest.raises(SenselessAnswer, match="makes no sense"):
            await client.call("console.open", sandbox="a")
        (failed,) = await hub.events(AuditName.CONSOLE_FAILED)
        assert failed.detail["code"] == "senseless_answer"


async def test_a_guest_that_calls_the_console_something_else_is_not_believed(tmp_path: Path) -> None:
    async def lie(channel: Channel) -> None:
        channel.accept({"console": "con_other", "pid": 1})
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = lie
        with pytest.raises(SenselessAnswer, match="console"):
            await client.call("console.open", sandbox="a")


async def test_a_console_whose_start_cannot_be_recorded_never_reaches_the_guest(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await client.call("console.open", sandbox="a")
        assert hub.machine.agent.consoles == []


async def test_the_client_hears_of_the_end_only_when_it_is_durable(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        console = await open_console(client)
        hub.store.gate.clear()
        await console.write(KEYS, b"\x04")
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(within(console.result()))
            await until(lambda: hub.store.waiting)
            for _ in range(5):
                await client.call("sandbox.list")
            assert not ended.done()
            hub.store.gate.set()
        assert ended.result()["exit_code"] == 0
