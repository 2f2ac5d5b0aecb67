"""Children that outlive us by design, on real small programs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from cloche_hub.errors import MachineFailed
from cloche_hub.vm.process import Process, RunAs, cpu_seconds, pss_bytes, start_ticks
from tests.hub.vm.world import open_descriptors

BOUND_S = 10.0
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def _spawn(*argv: str, **options: object) -> Process:
    return Process.spawn(argv, **{"pass_fds": (), "environment": ENVIRONMENT, **options})  # type: ignore[arg-type]


async def _end(process: Process) -> int | None:
    async with asyncio.timeout(BOUND_S):
        status = await process.wait()
    process.close()
    return status


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM)])
async def test_its_exit_status_or_signal_is_learnt(script: str, status: int) -> None:
    assert await _end(_spawn("sh", "-c", script)) == status


async def test_any_number_may_wait_and_one_that_gives_up_takes_nothing_from_the_others() -> None:
    process = _spawn("sleep", "60")
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(process.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        process.kill()
    assert [one.result() for one in waiting[1:]] == [-9, -9]
    assert process.has_ended
    process.close()


async def test_its_first_words_are_kept_and_a_flood_of_them_does_not_stop_it() -> None:
    process = _spawn("sh", "-c", "echo trouble >&2; head -c 1000000 /dev/zero 2>/dev/null; exit 3")
    assert await _end(process) == 3
    assert process.words().startswith("trouble\n")
    assert len(process.words()) <= 64 << 10


async def test_a_program_that_is_missing_is_an_error_that_names_it() -> None:
    before = open_descriptors()
    with pytest.raises(MachineFailed, match="no-such-program"):
        _spawn("no-such-program")
    assert open_descriptors() == before


async def test_letting_go_of_it_lets_it_run_on() -> None:
    before = open_descriptors()
    process = _spawn("sleep", "60")
    process.close()
    process.close()
    try:
        assert open_descriptors() == before
        assert start_ticks(process.pid) > 0
    finally:
        os.kill(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)


async def test_one_that_was_killed_is_reaped_even_if_we_let_go_of_it_at_once() -> None:
    before = open_descriptors()
    process = _spawn("sleep", "60")
    process.kill()
    process.close()
    async with asyncio.timeout(BOUND_S):
        while Path(f"/proc/{process.pid}").exists():
            await asyncio.sleep(0.001)
    assert open_descriptors() == before


async def test_waiting_for_its_end_is_bounded() -> None:
    process = _spawn("sleep", "60")
    assert not await process.ended_within(0)
    process.kill()
    assert await process.ended_within(BOUND_S)
    process.close()


async def test_from_its_first_instruction_it_has_a_session_limits_and_the_first_call_on_the_memory_killer() -> (
    None
):
    script = """
import os, resource
from pathlib import Path
print(os.getsid(0) == os.getpid(), resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_FSIZE))
print(Path("/proc/self/oom_score_adj").read_text())
"""
    process = _spawn(sys.executable, "-c", script, largest_file=1 << 20)
    assert await _end(process) == 0
    assert process.words().split("\n")[:2] == ["True (0, 0) (1048576, 1048576)", "500"]


async def test_it_inherits_the_descriptors_it_is_given_and_no_other() -> None:
    given, kept = os.pipe()
    script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    process = _spawn(sys.executable, "-c", script, pass_fds=[given])
    assert await _end(process) == 0
    inherited = {int(word) for word in process.words().strip("[]\n").split(", ")}
    # One more is the listing's own.
    assert inherited > {0, 1, 2, given}
    assert len(inherited) == 5
    assert kept not in inherited
    os.close(given)
    os.close(kept)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_as_another_user_it_has_no_rights_left() -> None:
    process = _spawn(
        "sh", "-c", "id -u; id -G; grep -E 'Cap(Prm|Bnd)|NoNewPrivs' /proc/self/status", run_as=RunAs(54321)
    )
    assert await _end(process) == 0
    words = process.words().split()
    assert words == [
        "54321", "54321", "CapPrm:", "0000000000000000", "CapBnd:", "0000000000000000", "NoNewPrivs:", "1",
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_it_gets_the_groups_it_needs_besides_its_own() -> None:
    process = _spawn("id", "-G", run_as=RunAs(54321, (777,)))
    assert await _end(process) == 0
    assert process.words().split() == ["54321", "777"]


def test_what_a_process_costs_is_read_from_the_host() -> None:
    assert cpu_seconds(os.getpid()) > 0
    assert pss_bytes(os.getpid()) > 1 << 20


def test_a_process_that_is_gone_is_told_apart() -> None:
    for ask in (start_ticks, cpu_seconds, pss_bytes):
        with pytest.raises(ProcessLookupError):
            ask(2**22 + 1)
