"""The SDK on real machines."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cloche import Sandbox, aio
from cloche.errors import CommandFailed, CommandNotStarted, NotFound
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


def test_the_first_program_somebody_writes(client_env: RealHub) -> None:
    with Sandbox.create() as sandbox:
        assert sandbox.run("echo hi").stdout == "hi\n"
        assert sandbox.run(["python3", "-c", "print(6 * 7)"]).stdout == "42\n"
        with sandbox.exec(["sh", "-c", "echo a; sleep 0.1; echo b >&2"]) as process:
            assert list(process) == [("stdout", b"a\n"), ("stderr", b"b\n")]
            assert process.wait().exit_code == 0
    assert [thread.name for thread in threading.enumerate() if thread.name == "cloche"] == []


async def test_a_command_is_talked_to_while_it_runs(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub:
        sandbox = await hub.sandbox("box")
        async with sandbox.exec(
            ["sh", "-c", "while read line; do echo got $line; done"], stdin=True
        ) as process:
            for word in (b"one", b"two"):
                await process.write(word + b"\n")
                assert await process.stdout.read() == b"got " + word + b"\n"
            await process.close_stdin()
            assert (await process.wait()).exit_code == 0


async def test_many_commands_side_by_side(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub:
        sandbox = await hub.sandbox("box")
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(sandbox.run(f"echo {number}; echo {number} >&2")) for number in range(8)
            ]
        assert [task.result().stdout for task in running] == [f"{number}\n" for number in range(8)]
        assert [task.result().stderr for task in running] == [f"{number}\n" for number in range(8)]


async def test_a_command_nobody_reads_waits_and_loses_nothing(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub:
        sandbox = await hub.sandbox("box")
        async with sandbox.exec(["sh", "-c", "seq 1 300000; echo end >&2"]) as process:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.5):
                    await process.stderr.read()
            received = await process.stdout.read_all()
            assert await process.stderr.read_all() == b"end\n"
    assert received == b"".join(b"%d\n" % number for number in range(1, 300001))


async def test_leaving_a_command_ends_it(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub:
        sandbox = await hub.sandbox("box")
        async with sandbox.exec(["sh", "-c", "echo $$; exec sleep 34567"]) as process:
            pid = int(await process.stdout.read())
        async with asyncio.timeout(60):
            while (await sandbox.run(f"kill -0 {pid}")).ok:
                pass


async def test_errors_are_the_documented_ones(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub:
        sandbox = await hub.sandbox("box")
        with pytest.raises(CommandFailed, match="exit code 3: bad"):
            await sandbox.run("echo bad >&2; exit 3", check=True)
        with pytest.raises(CommandNotStarted):
            await sandbox.run(["nosuch"])
        with pytest.raises(NotFound):
            await hub.sandbox("nosuch")
        late = await sandbox.run("sleep 60", timeout_s=1)
        assert (late.timed_out, late.ok) == (True, False)


async def test_the_audit_is_followed(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub, asyncio.timeout(60):
        sandbox = await hub.sandbox("box")
        seen = asyncio.Event()

        async def follow() -> None:
            async for event in hub.audit(sandbox=box, limit=1, follow=True):
                seen.set()
                if event.event == "exec.exited" and event.detail.get("exit_code") == 9:
                    return

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follow())
            await seen.wait()
            await sandbox.run("exit 9")
        assert (await hub.verify_audit()).events > 3
