"""Terminals in real machines, driven from Python by what their screens show."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche import aio
from cloche.errors import TimedOut
from cloche_hub.ports import Image
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine

SECRET = "hunter22"


@pytest.fixture
async def hub(client_env: RealHub, tools_image: Image) -> AsyncIterator[aio.Hub]:
    async with aio.Hub.connect() as connected:
        yield connected


@pytest.fixture
async def desk(hub: aio.Hub) -> AsyncIterator[aio.Sandbox]:
    async with hub.create("tools", secrets={"KEY": SECRET}) as sandbox:
        yield sandbox


async def test_a_shell_is_driven_prompt_by_prompt_and_keeps_its_place(desk: aio.Sandbox) -> None:
    async with desk.console(keep=True) as console:
        await console.until("$ ")
        for number in range(30):
            await console.write(f"echo $((1000 + {number}))\r")
            assert f"\n{1000 + number}\n" in (await console.until("$ ")).text
        await console.write("clear\r")
        await console.until("$ ")
        await console.write("seq 500 | less\r")
        assert (await console.until(re.compile(r"^20$", re.MULTILINE))).is_alternate
        await console.write("G")
        await console.until("(END)")
        await console.write("q")
        assert not (await console.until("$ ")).is_alternate
    async with desk.attach(scrollback=1000) as console:
        assert console.is_driving
        shown = b""
        while b"seq 500" not in shown:
            shown += await console.read()
        await console.until("$ ")
        await console.write("exit 7\r")
        assert (await console.wait()).exit_code == 7


async def test_programs_of_people_are_waited_for(desk: aio.Sandbox) -> None:
    async with desk.console(["python3", "-q"]) as console:
        await console.until(">>> ")
        await console.write("for n in range(3):\r")
        await console.until("... ")
        await console.write("    print(n * 7)\r\r")
        await console.until(re.compile(r"^14$", re.MULTILINE))
        await console.until(">>> ")
        with pytest.raises(TimedOut, match=r"ends with\n  \| >>> for n in range\(3\):"):
            await console.until(">>> ", timeout_s=0.2)
        await console.write("exit()\r")
        assert (await console.wait()).ok
    async with desk.console(["vim", "-u", "NONE", "-N", "note"]) as console:
        await console.until(re.compile(r"^~$", re.MULTILINE))
        await console.write("ihello from vim\x1b")
        await console.until("hello from vim")
        await console.write(":wq\r")
        assert (await console.wait()).ok
    assert await desk.files.read_text("note") == "hello from vim\n"
    async with desk.console(["htop"], rows=30, cols=100) as console:
        assert (await console.until("Load average")).is_alternate
        await console.write("q")
        assert (await console.wait()).ok


async def test_what_was_shown_is_recorded_without_its_secrets(
    hub: aio.Hub, desk: aio.Sandbox, tmp_path: Path
) -> None:
    async with desk.console() as console:
        await console.until("$ ")
        await console.write("echo the key is $KEY\r")
        await console.until(SECRET)
    ran = await desk.run("echo of a command: $KEY", record=True)
    assert ran.stdout.endswith(f"{SECRET}\n")
    command, shell = await hub.recordings.list(sandbox=desk.id)
    assert command.id == ran.recording
    assert (command.kind, shell.kind, shell.of) == ("exec", "console", console.id)
    (hit,) = await hub.recordings.search("the key is *", sandbox=desk.id)
    assert (hit.recording, hit.line.endswith("the key is ********")) == (shell.id, True)
    for recording in (command, shell):
        target = tmp_path / "a.cast"
        assert await hub.recordings.save(recording.id, target) == recording.text_bytes
        header, *events = target.read_text().splitlines()
        assert json.loads(header)["version"] == 2
        assert events
        assert SECRET not in target.read_text()
