"""`cloche exec`: streams, signals, endings, as a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest

from tests.sdk.cli.conftest import CLOCHE, Cloche, start
from tests.support.local_hub import LocalHub, out_of_time


@pytest.fixture(autouse=True)
async def _box(hub: LocalHub, cloche: Cloche) -> AsyncIterator[None]:
    """There is a sandbox `box`."""
    await cloche("create", "--name", "box")
    async with asyncio.timeout(50):
        yield


async def _begun(process: asyncio.subprocess.Process) -> None:
    """Waits until the command has said something."""
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"


async def test_output_and_error_stay_apart_and_the_status_is_the_command_s_own(program: Cloche) -> None:
    ran = await program("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert ran == (7, "out\n", "err\n")


async def test_variables_folder_and_user_reach_the_command(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche(
        "exec", "box", "-e", "A=1", "--cwd", "/", "--user", "root", "--", "sh", "-c", "echo $A; pwd"
    )
    assert ran == (0, "1\n/\n", "")
    assert hub.asked[-1][1]["user"] == "root"


async def test_a_command_is_recorded_on_request(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("exec", "box", "--record", "--", "true")
    await cloche("exec", "box", "--", "true")
    assert [params.get("record") for kind, params in hub.asked if kind == "exec"] == [True, None]


async def test_options_of_the_command_behind_the_dashes_are_its_own(cloche: Cloche) -> None:
    assert (await cloche("exec", "box", "--", "echo", "--user", "-n", "--")).out == "--user -n --\n"


async def test_input_is_passed_on_to_its_end(program: Cloche) -> None:
    ran = await program("exec", "box", "--", "sh", "-c", "cat; echo end", stdin=b"hello\n")
    assert ran == (0, "hello\nend\n", "")


async def test_bytes_pass_both_ways_untouched(hub: LocalHub) -> None:
    data = os.urandom(3 << 20)
    process = await start("exec", "box", "--", "cat", stdin=True)
    out, _ = await process.communicate(data)
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()
    assert process.returncode == 0


async def test_a_command_that_reads_none_of_its_input_ends_all_the_same(program: Cloche) -> None:
    assert (await program("exec", "box", "--", "true", stdin=b"x" * (2 << 20))).status == 0


async def test_input_that_never_ends_does_not_hold_the_end(hub: LocalHub) -> None:
    process = await start("exec", "box", "--", "echo", "done", stdin=True)
    assert process.stdout is not None
    assert await process.stdout.read() == b"done\n"
    assert await process.wait() == 0
    await process.communicate()


async def test_no_input_is_passed_on_when_it_is_not_wanted(program: Cloche) -> None:
    assert (await program("exec", "box", "-n", "--", "cat", stdin=b"hello")).out == ""


async def test_a_closed_input_is_an_empty_one() -> None:
    line = " ".join([*CLOCHE, "exec", "box", "--", "cat", "<&-"])
    process = await asyncio.create_subprocess_shell(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert await process.communicate() == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_signal_goes_to_the_command(number: signal.Signals, status: int) -> None:
    process = await start("exec", "box", "--", "sh", "-c", "echo ready; exec sleep 60")
    await _begun(process)
    process.send_signal(number)
    assert await process.communicate() == (b"", b"")
    assert process.returncode == status


async def test_a_command_that_handles_a_signal_ends_as_it_likes() -> None:
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done"
    process = await start("exec", "box", "--", "sh", "-c", script)
    await _begun(process)
    process.send_signal(signal.SIGINT)
    out, _ = await process.communicate()
    assert (out, process.returncode) == (b"caught\n", 5)


async def test_the_second_signal_gives_up_on_a_command_that_ignores_the_first(hub: LocalHub) -> None:
    script = "trap 'echo ready' INT; echo ready; while :; do sleep 0.01; done"
    process = await start("exec", "box", "--", "sh", "-c", script)
    await _begun(process)
    process.send_signal(signal.SIGINT)
    await _begun(process)
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (err, process.returncode) == (b"", 130)


async def test_a_reader_who_leaves_ends_the_command() -> None:
    process = await start("exec", "box", "--", "yes")
    assert process.stdout is not None
    await process.stdout.readline()
    process.stdout._transport.close()  # type: ignore[attr-defined]
    assert process.stderr is not None
    assert await process.stderr.read() == b""
    assert await process.wait() == 141


async def test_a_slow_reader_slows_the_command_and_not_the_heartbeat(hub: LocalHub) -> None:
    process = await start("exec", "box", "--", "sh", "-c", "head -c 8000000 /dev/zero; echo end >&2")
    assert process.stderr is not None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            # The command cannot end before somebody has read what it wrote.
            await process.stderr.readline()
    out, err = await process.communicate()
    assert (len(out), err, process.returncode) == (8000000, b"end\n", 0)


async def test_a_command_that_runs_out_of_time_is_status_124(program: Cloche, hub: LocalHub) -> None:
    hub.handlers["exec"] = out_of_time
    ran = await program("exec", "box", "--timeout", "200ms", "--", "sh", "-c", "echo begun; sleep 60")
    assert ran == (124, "begun\n", "cloche: ended after its timeout of 0.2 s\n")


async def test_a_command_killed_in_the_sandbox_is_128_and_the_signal(cloche: Cloche) -> None:
    assert (await cloche("exec", "box", "--", "sh", "-c", "kill -9 $$")).status == 137


async def test_a_command_there_is_not_is_status_127(cloche: Cloche) -> None:
    ran = await cloche("exec", "box", "--", "nosuch")
    assert (ran.status, ran.out) == (127, "")
    assert ran.err.startswith("cloche: cannot run 'nosuch'")


async def test_a_command_that_may_not_run_is_status_126(cloche: Cloche) -> None:
    assert (await cloche("exec", "box", "--", "/etc/passwd")).status == 126


async def test_a_sandbox_there_is_not_is_status_125(cloche: Cloche) -> None:
    assert (await cloche("exec", "nosuch", "--", "true")).status == 125


async def test_a_cut_in_the_middle_of_the_output_is_said_and_costs_nothing(hub: LocalHub) -> None:
    process = await start("exec", "box", "--", "sh", "-c", "echo ready; read go; seq 1 300000", stdin=True)
    await _begun(process)
    links = len(hub.hellos)
    hub.cut()
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await hub.wait_links(links + 1)
    hub.cut()
    out, err = await process.communicate()
    assert process.returncode == 0
    assert out == b"".join(b"%d\n" % number for number in range(1, 300001))
    lines = err.decode().splitlines()
    assert lines[0].startswith("cloche: lost the hub (")
    assert lines[1] == "cloche: the hub is back; what was underway goes on"


async def test_a_hub_that_dies_in_the_middle_is_one_line_and_status_125(hub: LocalHub) -> None:
    process = await start(
        "exec", "box", "--", "sh", "-c", "echo ready; sleep 60", env={"CLOCHE_RECONNECT_S": "0.3"}
    )
    await _begun(process)
    await hub.vanish()
    out, err = await process.communicate()
    assert (out, process.returncode) == (b"", 125)
    lost, gave_up = err.decode().splitlines()
    assert lost.startswith("cloche: lost the hub")
    assert gave_up.endswith(
        "did not come back within 0.3 s; whether unfinished requests were carried out is not known"
    )


async def test_a_hub_that_was_started_again_has_lost_the_command(hub: LocalHub) -> None:
    process = await start("exec", "box", "--", "sh", "-c", "echo ready; sleep 60")
    await _begun(process)
    hub.forget()
    hub.cut()
    _, err = await process.communicate()
    assert process.returncode == 125
    assert "has forgotten what was underway" in err.decode()
