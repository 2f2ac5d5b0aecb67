"""A command while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from cloche.aio import Process, Sandbox
from cloche.errors import BadRequest, LinkLost, TooLarge, WrongState
from tests.support.local_hub import LocalHub
from tests.support.processes import runs

_WAIT_FOR_EVER = ["sh", "-c", "echo ready; while :; do sleep 60; done"]


async def test_output_comes_while_the_command_runs(sandbox: Sandbox) -> None:
    async with sandbox.exec(_WAIT_FOR_EVER) as process:
        assert await process.stdout.read() == b"ready\n"


async def test_both_outputs_come_as_they_are_written_and_say_which_they_are(sandbox: Sandbox) -> None:
    script = "read go; echo one; read go; echo two >&2; read go; echo three"
    seen = []
    async with sandbox.exec(["sh", "-c", script], stdin=True) as process:
        await process.write(b"\n")
        async for stream, piece in process:
            seen.append((stream, piece))
            if len(seen) < 3:
                await process.write(b"\n")
    assert seen == [("stdout", b"one\n"), ("stderr", b"two\n"), ("stdout", b"three\n")]


async def test_a_flood_on_one_output_does_not_hide_the_other() -> None:
    class BothFlood:
        async def read_any(self, *streams: int) -> tuple[int, bytes]:
            return streams[0], b"x"

    seen = []
    process = Process(BothFlood(), {"exec": "ex_1", "pid": 1})  # type: ignore[arg-type]
    async for stream, _piece in process:
        seen.append(stream)
        if len(seen) == 4:
            break
    assert seen == ["stdout", "stderr", "stdout", "stderr"]


async def test_each_output_can_be_read_on_its_own_to_its_end(sandbox: Sandbox) -> None:
    async with sandbox.exec(["sh", "-c", "echo out; echo err >&2"]) as process:
        assert await process.stdout.read_all() == b"out\n"
        assert await process.stderr.read_all() == b"err\n"
        assert await process.stdout.read() == b""


async def test_pieces_of_one_output_can_be_iterated(sandbox: Sandbox) -> None:
    async with sandbox.exec(["sh", "-c", "echo a; echo b"]) as process:
        assert b"".join([piece async for piece in process.stdout]) == b"a\nb\n"


async def test_lines_come_whole_whatever_the_pieces(sandbox: Sandbox) -> None:
    script = "printf 'a\\nb'; read go; printf 'c\\n\\nlast'"
    async with sandbox.exec(["sh", "-c", script], stdin=True) as process:
        lines = []
        async for line in process.stdout.lines():
            lines.append(line)
            if line == b"a\n":
                await process.write(b"\n")
    assert lines == [b"a\n", b"bc\n", b"\n", b"last"]


async def test_a_line_without_end_does_not_fill_the_memory(sandbox: Sandbox) -> None:
    async with sandbox.exec(["sh", "-c", "yes | tr -d '\\n'"]) as process:
        with pytest.raises(TooLarge, match="a line of more than 1000 bytes"):
            async for _line in process.stdout.lines(max_bytes=1000):
                pass


async def test_reading_all_stops_at_its_bound(sandbox: Sandbox) -> None:
    async with sandbox.exec(["yes"]) as process:
        with pytest.raises(TooLarge, match="more than 1000 bytes to its stdout"):
            await process.stdout.read_all(max_bytes=1000)


async def test_input_arrives_and_ends(sandbox: Sandbox) -> None:
    async with sandbox.exec(["cat"], stdin=True) as process:
        await process.write(b"hello ")
        await process.feed(b"world")
        assert await process.stdout.read_all() == b"hello world"
        assert (await process.wait()).exit_code == 0


async def test_without_input_a_command_reads_nothing(sandbox: Sandbox) -> None:
    async with sandbox.exec(["cat"]) as process:
        assert await process.stdout.read_all() == b""


async def test_writing_to_a_command_that_has_ended_says_so(sandbox: Sandbox) -> None:
    async with sandbox.exec(["true"], stdin=True) as process:
        await process.wait()
        with pytest.raises(WrongState, match="has ended"):
            await process.write(b"too late")
        await process.feed(b"which is all the same to feed")
        await process.close_stdin()


async def test_a_writer_waits_for_a_command_that_does_not_read(sandbox: Sandbox) -> None:
    async with sandbox.exec(["sh", "-c", "read go; exec cat >/dev/null"], stdin=True) as process:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await process.write(b"x" * (8 << 20))


@pytest.mark.parametrize(
    ("send", "signal"),
    [
        (lambda process: process.signal("TERM"), "TERM"),
        # Not SIGINT: a shell's background commands ignore it.
        (lambda process: process.signal(10), "USR1"),
        (lambda process: process.kill(), "KILL"),
    ],
    ids=["name", "number", "kill"],
)
async def test_a_signal_ends_the_command_and_everything_it_started(
    sandbox: Sandbox, send: Callable[[Process], object], signal: str
) -> None:
    async with sandbox.exec(["sh", "-c", "sleep 60 & echo $!; wait"]) as process:
        child = int(await process.stdout.read())
        await send(process)  # type: ignore[misc]
        ended = await process.wait()
    assert (ended.exit_code, ended.signal, ended.timed_out) == (None, signal, False)
    await _gone(child)


async def test_a_signal_nobody_has_is_refused_here(sandbox: Sandbox) -> None:
    async with sandbox.exec(_WAIT_FOR_EVER) as process:
        with pytest.raises(BadRequest, match="no signal 'NOPE'"):
            await process.signal("NOPE")


async def test_a_signal_to_a_command_that_has_ended_does_nothing(sandbox: Sandbox) -> None:
    async with sandbox.exec(["true"]) as process:
        await process.wait()
        await process.kill()


async def test_leaving_ends_a_command_that_still_runs(sandbox: Sandbox) -> None:
    async with sandbox.exec(_WAIT_FOR_EVER) as process:
        await process.stdout.read()
    await _gone(process.pid)


async def test_a_command_can_be_held_without_a_block(sandbox: Sandbox) -> None:
    process = await sandbox.exec(["sh", "-c", "exit 4"])
    assert (await process.wait()).exit_code == 4
    assert process.id.startswith("ex_")


async def test_a_cut_in_the_middle_of_the_output_is_not_seen(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.exec(["sh", "-c", "seq 1 200000"]) as process:
        received = b""
        cuts = 0
        async for piece in process.stdout:
            received += piece
            if cuts < 3 and len(received) > 300_000 * cuts:
                hub.cut()
                cuts += 1
        assert (await process.wait()).exit_code == 0
    assert cuts == 3
    assert received == b"".join(b"%d\n" % number for number in range(1, 200001))


async def test_a_hub_that_forgets_loses_the_command(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.exec(_WAIT_FOR_EVER) as process:
        await process.stdout.read()
        hub.forget()
        hub.cut()
        with pytest.raises(LinkLost):
            await process.wait()
        with pytest.raises(LinkLost):
            await process.stdout.read()


async def _gone(pid: int) -> None:
    """Waits until a process has ended; whether somebody has reaped it is not its matter."""
    async with asyncio.timeout(10):
        while runs(pid):
            await asyncio.sleep(0.01)
