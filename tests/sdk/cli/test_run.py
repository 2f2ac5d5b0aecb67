"""`cloche run`: a sandbox, a command, and the sandbox gone again."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from cloche.errors import RecipeNotBuilt
from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import refuse


async def test_a_command_runs_in_a_sandbox_that_is_gone_afterwards(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ran.status, ran.out) == (7, "out\n")
    assert ran.err == "cloche: making packages\ncloche: making template\nerr\n"
    assert hub.sandboxes == {}
    assert [event["event"] for event in hub.events] == ["sandbox.created", "sandbox.removed"]


async def test_input_is_passed_on(program: Cloche, hub: LocalHub) -> None:
    assert (await program("run", "--", "cat", stdin=b"hello\n")).out == "hello\n"


async def test_everything_that_is_said_reaches_the_hub(cloche: Cloche, hub: LocalHub) -> None:
    words = ["--recipe", "minimal", "--flavor", "large", "--name", "box", "--env", "A=1", "--label", "b=2"]
    ran = await cloche(
        "run", *words, "--lease", "2h", "--timeout", "90s", "--cwd", "/", "--user", "1000", "--", "env"
    )
    assert "A=1\n" in ran.out
    (_, created), (_, executed) = hub.asked[:2]
    assert created == {
        "recipe": "minimal",
        "flavor": "large",
        "name": "box",
        "env": {"A": "1"},
        "labels": {"b": "2"},
        "lease_s": 7200.0,
        "build": True,
    }
    assert (executed["timeout_s"], executed["cwd"], executed["user"]) == (90.0, "/", "1000")


async def test_it_can_be_kept(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("run", "--keep", "--name", "box", "--", "true")
    assert ran.status == 0
    assert ran.err.splitlines()[-1] == "cloche: kept sandbox box (sb_0001); to remove it: cloche rm box"
    assert [sandbox["name"] for sandbox in hub.sandboxes.values()] == ["box"]


async def test_in_json_it_is_one_object(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("run", "--json", "--", "echo", "hi")
    told = json.loads(ran.out)
    assert (told["sandbox"], told["exit_code"], told["stdout"]) == ("sb_0001", 0, "hi\n")


@pytest.mark.parametrize(
    "words", [("nosuch",), ("sh", "-c", "kill -9 $$"), ("--timeout", "100ms", "--", "sleep", "9")]
)
async def test_however_it_ends_the_sandbox_is_gone(
    cloche: Cloche, hub: LocalHub, words: tuple[str, ...]
) -> None:
    dashes = () if "--" in words else ("--",)
    assert (await cloche("run", *dashes, *words)).status in (124, 127, 137)
    assert hub.sandboxes == {}


async def test_a_sandbox_that_cannot_be_made_is_one_line(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["sandbox.create"] = refuse(
        RecipeNotBuilt("no image yet; build it with: cloche image build python")
    )
    assert await cloche("run", "--", "true") == (
        125,
        "",
        "cloche: no image yet; build it with: cloche image build python\n",
    )


async def test_the_second_interrupt_removes_the_sandbox_on_the_way_out(hub: LocalHub) -> None:
    script = "trap 'echo ready' INT; echo ready; while :; do sleep 0.01; done"
    process = await start("run", "--", "sh", "-c", script)
    assert process.stdout is not None
    async with asyncio.timeout(30):
        for _ in range(2):
            assert await process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 130
    assert hub.sandboxes == {}


async def test_an_interrupt_while_the_sandbox_is_made_calls_it_off(hub: LocalHub) -> None:
    begun = asyncio.Event()

    async def create(channel: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    hub.handlers["sandbox.create"] = create
    process = await start("run", "--", "true")
    async with asyncio.timeout(30):
        await begun.wait()
        process.send_signal(signal.SIGTERM)
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 143


async def test_a_reader_who_leaves_ends_it_and_removes_the_sandbox(hub: LocalHub) -> None:
    process = await start("run", "--", "yes")
    assert process.stdout is not None
    async with asyncio.timeout(30):
        await process.stdout.readline()
        process.stdout._transport.close()  # type: ignore[attr-defined]
        assert await process.wait() == 141
        await process.communicate()
    assert hub.sandboxes == {}
