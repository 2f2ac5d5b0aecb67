"""Commands in sandboxes, through a whole hub on fakes: their streams, their ends, and what the audit knows of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    Cancelled,
    CommandNotStarted,
)
from cloche_wire.limits import Limits
from tests.support.fake_agent import counted
from tests.support.hub import RunningHub, finish, running_hub, until, within

MIB = 1 << 20


def running(hub: RunningHub) -> int:
    """Commands under way in the newest machine."""
    return hub.machine.agent.running


# Streams.


async def test_stdout_and_stderr_come_apart_and_the_exit_code_is_the_commands(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        said = await client.run("a", "echo", "hello", "world")
        assert (said.stdout, said.stderr, said.result["exit_code"]) == (b"hello world\n", b"", 0)
        failed = await client.run("a", "err", "no")
        assert (failed.stdout, failed.stderr, failed.result["exit_code"]) == (b"", b"no\n", 1)


async def test_stdin_reaches_the_command_and_its_end_too(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", stdin=True)
        await cat.write(1, b"one ")
        assert await within(cat.read(1)) == b"one "
        await cat.write(1, b"two")
        cat.end(1)
        assert (await within(finish(cat))).stdout == b"two"


async def test_a_signal_ends_the_command_and_is_its_result(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        waiting = await client.exec("a", "wait")
        await waiting.send_message({"signal": "INT"})
        assert (await within(waiting.result()))["signal"] == "INT"
        (exited,) = await hub.events(AuditName.EXEC_EXITED)
        assert exited.detail["signal"] == "INT"


async def test_the_guest_is_told_what_was_asked_for_and_the_command_what_it_is_called(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.run("a", "true", env={"K": "v"}, cwd="/tmp", user="root", timeout_s=5, stdin=True)
        (asked,) = hub.machine.agent.execs
        (started,) = await hub.events(AuditName.EXEC_STARTED)
        assert asked == {
            "exec": started.detail["exec"],
            "argv": ["true"],
            "env": {"K": "v"},
            "cwd": "/tmp",
            "user": "root",
            "timeout_s": 5.0,
            "stdin": True,
        }


async def test_a_command_that_cannot_be_started_fails_with_the_guests_words(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(CommandNotStarted, match="nope: no such file"):
            await client.run("a", "nope")
        failed = await hub.happened(AuditName.EXEC_FAILED)
        assert (failed.detail["code"], failed.detail["reason"]) == (
            "command_not_started",
            "nope: no such file or directory",
        )


async def test_output_nobody_reads_stays_in_the_guest_but_for_one_window(tmp_path: Path) -> None:
    window = 64 << 10
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=Limits(window=window)) as client:
        await client.create(name="a")
        flood = await client.exec("a", "count", str(2 * MIB))
        agent = hub.machine.agent
        await until(lambda: agent.written >= window)
        for _ in range(5):
            await client.call("sandbox.list")  # the link is not held up
        assert agent.written == window
        ran = await within(finish(flood))
        assert ran.stdout == counted(2 * MIB)
        assert agent.written == 2 * MIB


async def test_input_nobody_reads_stays_with_the_client_but_for_one_window(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        deaf = await client.exec("a", "wait")
        window = deaf.window
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(deaf.write(1, bytes(2 * window)))
            await until(lambda: deaf.credit(1) == 0)
            for _ in range(5):
                await client.call("sandbox.list")
            assert (writing.done(), deaf.credit(1)) == (False, 0)
            writing.cancel()


async def test_a_stalled_command_holds_up_no_other(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        stalled = await client.exec("a", "yes")
        assert (await client.run("a", "count", str(MIB))).stdout == counted(MIB)
        assert stalled.is_live


async def test_two_hundred_commands_run_at_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        waiting = await asyncio.gather(*[client.exec("a", "cat", stdin=True) for _ in range(200)])
        assert running(hub) == 200
        for number, cat in enumerate(waiting):
            await cat.write(1, str(number).encode())
            cat.end(1)
        ran = await within(asyncio.gather(*map(finish, waiting)))
        assert [one.stdout for one in ran] == [str(number).encode() for number in range(200)]
        await client.call("audit.verify")
        assert len(await hub.events(AuditName.EXEC_EXITED)) == 200


# Links that break.


async def test_output_goes_on_over_a_new_link_without_loss_or_doubling(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=Limits(window=32 << 10)) as client,
    ):
        await client.create(name="a")
        flood = await client.exec("a", "count", str(MIB))
        received = bytearray()
        for _ in range(5):
            # Cut with bytes on their way in both directions.
            received += await within(flood.read(1))
            await client.cut()
            await client.link()
        while data := await within(flood.read(1)):
            received += data
        assert received == counted(MIB)
        assert (await within(flood.result()))["exit_code"] == 0


async def test_input_goes_on_over_a_new_link_without_loss_or_doubling(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", stdin=True)
        data = counted(3 * MIB)

        async def feed() -> None:
            await cat.write(1, data)
            cat.end(1)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(feed())
            received = bytearray()
            for _ in range(4):
                received += await within(cat.read(1))
                await client.cut()
                await client.link()
            while more := await within(cat.read(1)):
                received += more
        assert received == data


async def test_output_survives_a_break_between_hub_and_guest(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home") as hub,
        hub.client(limits=Limits(window=32 << 10)) as client,
    ):
        await client.create(name="a")
        flood = await client.exec("a", "count", str(MIB))
        received = bytearray()
        for _ in range(3):
            received += await within(flood.read(1))
            hub.machine.agent.drop_link()
        while data := await within(flood.read(1)):
            received += data
        assert received == counted(MIB)


async def test_a_result_reached_while_the_client_was_away_is_there_when_it_comes_back(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", stdin=True)
        cat.end(1)
        await client.cut()
        await client.link()
        assert (await within(cat.result()))["exit_code"] == 0
        assert len(await hub.events(AuditName.EXEC_EXITED)) == 1


# Clients that go.


async def test_a_client_that_does_not_come_back_ends_its_commands_and_the_audit_says_so(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=0.05) as hub:
        async with hub.client() as client:
            await client.create(name="a")
            await client.exec("a", "wait")
            await client.cut()
            failed = await hub.happened(AuditName.EXEC_FAILED)
            await until(lambda: running(hub) == 0)
        assert failed.detail["code"] in ("link_lost", "cancelled")
        async with hub.client() as other:
            assert (await other.run("a", "true")).result["exit_code"] == 0


async def test_a_client_that_gives_a_command_up_ends_it_and_keeps_its_others(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        dropped, kept = await client.exec("a", "wait"), await client.exec("a", "cat")
        dropped.reset(Cancelled("enough"))
        failed = await hub.happened(AuditName.EXEC_FAILED)
        assert (failed.detail["code"], failed.detail["reason"]) == ("cancelled", "enough")
        await until(lambda: running(hub) == 1)
        kept.end(1)
        assert (await within(kept.result()))["exit_code"] == 0


async def test_a_client_that_says_goodbye_ends_its_commands_at_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=3600) as hub:
        async with hub.client() as client:
            await client.create(name="a")
            await client.exec("a", "wait")
        await hub.happened(AuditName.EXEC_FAILED)
        await until(lambda: running(hub) == 0)


async def test_every_start_in_the_audit_has_an_end_whenever_the_client_goes(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as maker:
        await maker.create(name="a")
        for turns in range(12):
            async with hub.client() as client:
                client.open("exec", sandbox="a", argv=["echo", "x"])
                # Goes at another moment each time: before, while and after the command runs.
                for _ in range(turns * 2):
                    await asyncio.sleep(0)
        await until(lambda: running(hub) == 0)
        await hub.end()  # and with it every request that was still under way
        starts = [event.detail["exec"] for event in await hub.events(AuditName.EXEC_STARTED)]
        ends = await hub.events(AuditName.EXEC_EXITED, AuditName.EXEC_FAILED)
        assert sorted(str(event.detail["exec"]) for event in ends) == sorted(map(str, starts))


async def test_stopping_the_hub_tells_clients_and_ends_commands_in_the_audit(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.exec("a", "wait")
        await hub.end()
        assert (await within(client.ended)).code == "shutting_down"  # type: ignore[attr-defined]
        assert (await hub.names())[-3:] == ["exec.failed", "sandbox.removed", "hub.stopped"]
