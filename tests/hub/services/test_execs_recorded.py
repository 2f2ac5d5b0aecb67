"""What the audit and the client are told of a command, and what they are not, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    CommandNotStarted,
    InternalError,
    LinkSilent,
    MachineFailed,
    NoSpace,
    SenselessAnswer,
    StoreFailed,
    Unauthenticated,
)
from cloche_wire.aio import Channel
from tests.support.hub import finish, running_hub, until, within
from tests.support.links import outcome

MIB = 1 << 20

# What is recorded, and when.


async def test_the_guest_hears_of_a_command_only_when_its_start_is_durable(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.gate.clear()
        echo = client.open("exec", sandbox="a", argv=["echo", "hi"])
        await until(lambda: hub.store.waiting)
        for _ in range(5):
            await client.call("sandbox.list")
        assert hub.machine.agent.execs == []
        hub.store.gate.set()
        assert (await within(finish(echo))).stdout == b"hi\n"


async def test_the_client_hears_of_the_end_only_when_it_is_durable(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", stdin=True)
        hub.store.gate.clear()
        cat.end(1)
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(within(cat.result()))
            await until(lambda: hub.store.waiting)
            for _ in range(5):
                await client.call("sandbox.list")
            assert not ended.done()
            hub.store.gate.set()
        assert ended.result()["exit_code"] == 0


async def test_the_audit_has_the_command_line_but_no_variables_value(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.run("a", "echo", "hi", env={"KEY": "hunter2"}, timeout_s=2)
        (started,) = await hub.events(AuditName.EXEC_STARTED)
        assert started.detail["argv"] == ["echo", "hi"]
        assert (started.detail["env_names"], started.detail["timeout_ms"]) == (["KEY"], 2000)
        assert "hunter2" not in str([await hub.events(), hub.logs])


@pytest.mark.parametrize("refusal", [NoSpace("the disk is full"), StoreFailed("the database is locked")])
async def test_a_command_whose_start_cannot_be_recorded_never_reaches_the_guest(
    tmp_path: Path, refusal: NoSpace | StoreFailed
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.refuses = refusal
        with pytest.raises(NoSpace if isinstance(refusal, NoSpace) else InternalError):
            await client.run("a", "true")
        assert hub.machine.agent.execs == []
        hub.store.refuses = None
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_an_end_that_cannot_be_recorded_now_is_told_as_that_and_recorded_later(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", stdin=True)
        hub.store.refuses = NoSpace("the disk is full")
        cat.end(1)
        with pytest.raises(NoSpace, match="has ended, but the hub cannot record it") as raised:
            await within(cat.result())
        assert raised.value.details["exit_code"] == 0
        hub.store.refuses = None
        await hub.happened(AuditName.EXEC_EXITED)
        assert await hub.events(AuditName.EXEC_FAILED) == []


async def test_the_client_hears_of_a_failure_only_when_it_is_durable(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:

        async def refuse(_channel: Channel) -> None:
            # Its start is recorded by now.
            hub.store.gate.clear()
            raise CommandNotStarted("no such file")

        await client.create(name="a")
        hub.machine.agent.overrides["exec"] = refuse
        command = client.open("exec", sandbox="a", argv=["nope"])
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(within(outcome(command.result())))
            await until(lambda: hub.store.waiting or ended.done())
            try:
                for _ in range(5):
                    await client.call("sandbox.list")
                assert not ended.done()
                assert await hub.events(AuditName.EXEC_FAILED) == []
            finally:
                hub.store.gate.set()
        assert isinstance(ended.result(), CommandNotStarted)
        assert len(await hub.events(AuditName.EXEC_FAILED)) == 1


async def test_a_failure_that_cannot_be_recorded_now_is_told_all_the_same(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        waiting = await client.exec("a", "wait")
        hub.store.refuses = NoSpace("the disk is full")
        hub.machine.agent.drop_link()
        hub.machine.crash()
        with pytest.raises(MachineFailed):
            await within(waiting.result())
        hub.store.refuses = None
        await hub.happened(AuditName.EXEC_FAILED)


# Guests that lie.


async def test_an_error_only_the_hub_has_is_not_the_guests_to_name(tmp_path: Path) -> None:
    async def lie(channel: Channel) -> None:
        raise Unauthenticated("log in again at \x1b[2Jevil.example", token="x" * 1000)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["exec"] = lie
        with pytest.raises(SenselessAnswer, match=r"unauthenticated.*again at  \[2Jevil") as raised:
            await client.run("a", "true")
        assert raised.value.details == {}
        failed = await hub.happened(AuditName.EXEC_FAILED)
        assert failed.detail["code"] == "senseless_answer"


async def test_a_start_is_told_with_the_hubs_own_name_for_it(tmp_path: Path) -> None:
    async def boast(channel: Channel) -> None:
        channel.accept({"pid": 7, "motd": "x" * 100_000})
        channel.close({"exit_code": 0, "timed_out": False, "duration_s": 1.0, "motd": "x" * 100_000})

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["exec"] = boast
        command = client.open("exec", sandbox="a", argv=["true"])
        info = await within(command.wait_accepted())
        (started,) = await hub.events(AuditName.EXEC_STARTED)
        assert info == {"exec": started.detail["exec"], "pid": 7}
        assert await within(command.result()) == {"exit_code": 0, "timed_out": False, "duration_s": 1.0}


@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"exit_code": True, "timed_out": False, "duration_s": 1.0},
        {"exit_code": 1 << 62, "timed_out": False, "duration_s": 1.0},
        {"signal": ["KILL"], "timed_out": False, "duration_s": 1.0},
        {"signal": "\x1b[2J", "timed_out": False, "duration_s": 1.0},
        {"exit_code": 0, "timed_out": False, "duration_s": float("nan")},
        {"exit_code": 0, "signal": "K" * 200_000, "timed_out": False, "duration_s": 1.0},
        {"exit_code": {"a": [{}] * 1000}, "timed_out": None, "duration_s": "x"},
    ],
)
async def test_a_senseless_result_is_an_error_for_the_caller_and_nobody_else(
    tmp_path: Path, claim: dict[str, Any]
) -> None:
    async def lie(channel: Channel) -> None:
        channel.accept({"pid": 1})
        channel.close(claim)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["exec"] = lie
        with pytest.raises(SenselessAnswer, match="makes no sense"):
            await client.run("a", "true")
        await hub.happened(AuditName.EXEC_FAILED)
        hub.machine.agent.overrides.clear()
        assert (await client.run("a", "true")).result["exit_code"] == 0
        assert len(await hub.events(AuditName.EXEC_FAILED)) == 1
        assert (await client.call("audit.verify"))["events"] == len(await hub.events())


async def test_a_guest_that_neither_takes_nor_refuses_a_command_is_not_waited_for_for_ever(
    tmp_path: Path,
) -> None:
    async def ignore(channel: Channel) -> None:
        await channel.wait_confirmed()

    async with (
        running_hub(tmp_path / "home", heartbeat_interval_s=0.05, silent_after_s=0.2) as hub,
        hub.client() as client,
    ):
        await client.create(name="a")
        hub.machine.agent.overrides["exec"] = ignore
        with pytest.raises(LinkSilent, match="does not answer"):
            await client.run("a", "true")
        hub.machine.agent.overrides.clear()
        # A command that was taken may run for as long as it likes.
        waiting = await client.exec("a", "wait")
        await asyncio.sleep(0.3)
        assert waiting.is_live
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_a_guest_that_sends_more_than_it_may_is_cut_off_and_takes_nobody_with_it(
    tmp_path: Path,
) -> None:
    async def flood(channel: Channel) -> None:
        channel.accept({})
        stream = channel._connection.channels[channel.number]
        stream.peer_window = 1 << 40  # it gives itself credit
        await channel.write(1, bytes(8 * MIB))
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hostile = hub.machine
        await client.create(name="b")
        hostile.agent.overrides["exec"] = flood
        with pytest.raises(MachineFailed, match="broke the protocol"):
            await client.run("a", "true")
        assert (await hub.happened(AuditName.EXEC_FAILED)).detail["code"] == "machine_failed"
        await hub.happened(AuditName.SANDBOX_FAILED)
        assert (await client.run("b", "true")).result["exit_code"] == 0
