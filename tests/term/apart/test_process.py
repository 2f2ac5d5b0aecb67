"""Processes that are watched: killed by their pidfd, waited for with a bound."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest

from cloche_term.apart.process import WatchedProcess


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, for long."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait(10)


async def test_a_killed_process_is_seen_to_end(sleeper: subprocess.Popen[bytes]) -> None:
    pidfd = os.pidfd_open(sleeper.pid)
    process = WatchedProcess(sleeper.pid, pidfd)
    assert not await process.wait(within_s=0.01)
    process.kill()
    assert await process.wait(within_s=10)
    assert process.has_ended
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(pidfd)


async def test_a_process_can_be_killed_and_waited_for_again(sleeper: subprocess.Popen[bytes]) -> None:
    process = WatchedProcess(sleeper.pid, os.pidfd_open(sleeper.pid))
    process.kill()
    process.kill()
    assert await process.wait(within_s=10)
    process.kill()
    assert await process.wait(within_s=10)


async def test_what_it_has_used_is_known_while_it_runs_and_when_it_has_been_killed() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        process = WatchedProcess(busy.pid, os.pidfd_open(busy.pid))
        async with asyncio.timeout(10):
            while (used_s := process.cpu_s) is None or used_s < 0.02:
                await asyncio.sleep(0)
        process.kill()
        assert await process.wait(within_s=10)
    assert process.cpu_s is not None
    assert process.cpu_s >= used_s


async def test_what_one_has_used_that_ended_by_itself_is_not_known() -> None:
    with subprocess.Popen(["true"]) as brief:
        process = WatchedProcess(brief.pid, os.pidfd_open(brief.pid))
    # It has been reaped, and nobody here has seen it yet.
    assert process.cpu_s is None
    assert await process.wait(within_s=10)
    assert process.cpu_s is None
