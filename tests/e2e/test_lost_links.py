"""What is underway when the network, or the hub, goes away."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from cloche import aio
from tests.support.cutting_proxy import CuttingProxy
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine

_SEQ = b"".join(b"%d\n" % number for number in range(1, 300001))


async def test_output_cut_again_and_again_arrives_whole_and_once(
    real_hub: RealHub, box: str, tmp_path: Path
) -> None:
    async with (
        CuttingProxy(tmp_path / "proxy.sock", real_hub.socket) as proxy,
        aio.Hub.connect(proxy.address, real_hub.token) as hub,
    ):
        sandbox = await hub.sandbox("box")
        async with sandbox.exec(["seq", "1", "300000"]) as process:
            received = b""
            async for piece in process.stdout:
                received += piece
                if proxy.links < 5 and len(received) > proxy.links * 350_000:
                    proxy.cut()
            assert (await process.wait()).exit_code == 0
    assert received == _SEQ
    assert proxy.links == 5


async def test_input_cut_in_the_middle_arrives_whole_and_once(
    real_hub: RealHub, box: str, tmp_path: Path
) -> None:
    data = os.urandom(1 << 20)
    async with (
        CuttingProxy(tmp_path / "proxy.sock", real_hub.socket) as proxy,
        aio.Hub.connect(proxy.address, real_hub.token) as hub,
    ):
        sandbox = await hub.sandbox("box")
        async with sandbox.exec(["cat"], stdin=True) as process, asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(process.stdout.read_all())
            for part in range(4):
                await process.write(data[part << 18 : (part + 1) << 18])
                proxy.cut()
            await process.close_stdin()
        assert reading.result() == data
    assert proxy.links >= 2


async def test_the_command_line_tells_of_a_cut_and_goes_on(
    real_hub: RealHub, box: str, tmp_path: Path
) -> None:
    async with CuttingProxy(tmp_path / "proxy.sock", real_hub.socket) as proxy:
        env = {**real_hub.env, "CLOCHE_HUB": proxy.address, "CLOCHE_TOKEN": real_hub.token}
        process = await asyncio.create_subprocess_exec(
            *real_hub.command("exec", "box", "--", "sh", "-c", "echo ready; read go; seq 1 300000"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
        )  # fmt: skip
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"ready\n"
            proxy.cut()
            out, err = await process.communicate(b"\n")
    assert (process.returncode, out == _SEQ) == (0, True)
    assert err.decode().splitlines()[-1] == "cloche: the hub is back; what was underway goes on"


async def test_a_killed_hub_is_told_and_the_next_one_has_everything_on_record(own_hub: RealHub) -> None:
    own_hub.start()
    assert own_hub.cloche("create", "--name", "box").status == 0
    process = await asyncio.create_subprocess_exec(
        *own_hub.command("exec", "box", "--", "sh", "-c", "echo ready; sleep 600"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**own_hub.env, "CLOCHE_RECONNECT_S": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"ready\n"
        own_hub.kill()
        _, err = await process.communicate()
    assert process.returncode == 125
    assert "did not come back within 1 s" in err.decode().splitlines()[-1]

    own_hub.start()
    assert json.loads(own_hub.cloche("hub", "status", "--json").out)["machines"] == 0
    (box,) = json.loads(own_hub.cloche("ls", "--all", "--json").out)
    assert (box["name"], box["state"]) == ("box", "failed")
    assert json.loads(own_hub.cloche("audit", "verify", "--json").out)["events"] > 3
    assert "machine.stray_ended" in own_hub.cloche("audit", "tail").text
    assert own_hub.cloche("rm", "box").status == 0
    own_hub.stop()
