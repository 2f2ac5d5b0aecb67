"""Processes that are watched: killed by their pidfd, waited for with a bound."""

from __future__ import annotations

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
