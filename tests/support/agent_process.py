"""The real agent as a process on this host: it listens on a Unix socket, where a hub may come, go and come again.

It runs as whoever runs the tests, touches nothing of the host's, and has control groups only where the tests may
make them.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_END_S = 5.0


@dataclass(frozen=True, slots=True)
class AgentProcess:
    """A running agent."""

    pid: int
    socket: Path
    process: subprocess.Popen[bytes]

    def processor_s(self) -> float:
        """Processor time it has used."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def open_files(self) -> int:
        """Descriptors it has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def wait_end(self) -> int:
        """Its exit code."""
        return self.process.wait(_END_S)


@contextlib.contextmanager
def running_agent(folder: Path, *options: str) -> Iterator[AgentProcess]:
    """An agent that listens in this folder; ended afterwards.

    Args:
        folder: an existing one, for its socket.
        options: of `python -m cloche_guest`.
    """
    path = folder / "agent.sock"
    # SAFETY: the program and its arguments are the tests' own.
    process = subprocess.Popen(
        [sys.executable, "-m", "cloche_guest", "--listen", str(path), *options], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"listening\n"
        yield AgentProcess(process.pid, path, process)
    finally:
        process.kill()
        process.wait(_END_S)
        if process.stdout is not None:
            process.stdout.close()


def wait_gone(pid: int) -> None:
    """Waits until a process has ended; a zombie has."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 5.0)[0], f"{pid} still runs"
    finally:
        os.close(handle)


@contextlib.contextmanager
def control_group() -> Iterator[Path | None]:
    """A cgroup2 directory of this test's own, or None where the tests may make none."""
    mounted = _mounted_cgroup2()
    if mounted is None:
        yield None
        return
    group = mounted / f"cloche-test-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        (group / "cgroup.kill").write_text("1")
        for folder, _, _ in os.walk(group, topdown=False):
            _remove(Path(folder))


def _remove(group: Path) -> None:
    """Removes a group once the processes killed in it are gone."""
    for _ in range(1000):
        try:
            group.rmdir()
        except OSError:
            os.sched_yield()
        else:
            return


def _mounted_cgroup2() -> Path | None:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, target, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(target, os.W_OK):
            return Path(target)
    return None
