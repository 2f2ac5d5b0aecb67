"""`cloche callbacks serve`."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.errors import BadRequest, CallbackFailed, Cancelled
from tests.sdk.cli.conftest import Cloche, start
from tests.support.fifo import fifo_at
from tests.support.local_hub import LocalHub


class Serving:
    """A `cloche callbacks serve` of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        """The next line it says."""
        assert self.process.stderr is not None
        async with asyncio.timeout(30):
            return (await self.process.stderr.readline()).decode().rstrip()

    async def end(self) -> tuple[int | None, bytes]:
        """Ends it as Ctrl-C does; its status and all it wrote to standard output."""
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            out, _ = await self.process.communicate()
        return self.process.returncode, out


@contextlib.asynccontextmanager
async def serving(hub: LocalHub, *words: str) -> AsyncIterator[Serving]:
    process = await start("callbacks", "serve", *words)
    try:
        served = Serving(process)
        assert re.match(r"cloche: answering .*; Ctrl-C ends it$", await served.line())
        await hub.callbacks.wait_registered(1)
        yield served
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_a_command_answers_and_each_call_is_a_line(hub: LocalHub) -> None:
    async with serving(hub, "pay.*", "sum", "--sandbox", "box", "--", "cat") as served:
        kind, params = hub.asked[-1]
        assert (kind, params["methods"], params["sandbox"]) == ("callback.serve", ["pay.*", "sum"], "box")
        assert await hub.callbacks.call("pay.send", {"é": 1}, sandbox_name="b\x1b") == {"é": 1}
        assert re.fullmatch(
            r"cloche: pay\.send of b\\x1b \(cb_1\): answered, after \d\.\d\d s", await served.line()
        )
        assert await served.end() == (130, b"")


async def test_options_behind_the_dashes_are_the_commands(hub: LocalHub) -> None:
    async with serving(hub, "a", "--", "sh", "-c", 'echo "\\"$*\\""', "--", "--sandbox", "--"):
        assert await hub.callbacks.call("a") == "--sandbox --"


async def test_a_failure_is_told_to_both_sides(hub: LocalHub) -> None:
    async with serving(hub, "a", "--", "sh", "-c", "echo no such account >&2; exit 1") as served:
        with pytest.raises(CallbackFailed, match=r"^no such account$"):
            await hub.callbacks.call("a")
        assert "(cb_1): failed: no such account, after" in await served.line()


async def test_a_command_that_cannot_be_run_is_told_here_and_not_there(hub: LocalHub) -> None:
    async with serving(hub, "a", "--", "/nowhere/command") as served:
        with pytest.raises(CallbackFailed) as failed:
            await hub.callbacks.call("a")
        assert failed.value.message == "the command that answers it cannot be run"
        assert "cannot run '/nowhere/command': No such file or directory" in await served.line()


async def test_a_call_that_nobody_waits_for_ends_its_command(hub: LocalHub) -> None:
    async with serving(
        hub, "a", "--at-once", "1", "--", "sh", "-c", "read -r n; [ $n = 1 ] && exec sleep 1000; echo 2"
    ) as served:
        call = hub.callbacks.open("a", 1)
        second = hub.callbacks.open("a", 2)
        call.reset(Cancelled("the guest gave up"))
        async with asyncio.timeout(30):
            assert (await second.result())["result"] == b"2"
        lines = [await served.line()]
        while "answered" not in lines[-1]:
            lines.append(await served.line())
        assert [line for line in lines if "called off, as nobody waits for it any more" in line] == lines[:-1]


async def test_a_call_that_ends_with_the_serving_is_not_blamed_on_its_caller(
    hub: LocalHub, tmp_path: Path
) -> None:
    script = f"echo > {tmp_path}/began; exec sleep 1000"
    async with (
        fifo_at(tmp_path / "began") as began,
        serving(hub, "a", "--", "sh", "-c", script) as served,
        asyncio.timeout(50),
    ):
        hub.callbacks.open("a")
        assert await began.readline() == b"\n"
        served.process.send_signal(signal.SIGINT)
        assert "a of box (cb_1): called off, as this command ends, after" in await served.line()
        await served.process.communicate()
        assert served.process.returncode == 130


@pytest.mark.parametrize("words", [["a"], ["a", "--"], ["--", "cat"], ["a", "--at-once", "0", "--", "cat"]])
async def test_used_wrongly_it_asks_nobody(cloche: Cloche, hub: LocalHub, words: list[str]) -> None:
    ran = await cloche("callbacks", "serve", *words)
    assert (ran.status, ran.out) == (2, "")
    assert hub.asked == []


async def test_what_the_hub_refuses_is_one_line(program: Cloche, hub: LocalHub) -> None:
    hub.callbacks.refuses = BadRequest("methods must be up to 100 letters")
    ran = await program("callbacks", "serve", "a b", "--", "cat")
    assert (ran.status, ran.out, ran.err) == (
        125,
        "",
        "cloche: METHOD must be up to 100 letters\n",
    )
