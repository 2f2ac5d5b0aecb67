"""What a confined process can still do, asked of real ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cloche_term.apart import confinement

_MEMORY = 1 << 30
_SOURCES = Path(confinement.__file__).parents[2]
_CONFINED = f"""
import os, resource, socket, sys
from cloche_term.apart.confinement import SOCKET, confine

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

confine(int(sys.argv[1]), parent=int(sys.argv[2]), most_memory={_MEMORY}, nice=5)
try:
    said = str(eval(sys.argv[3]))
except BaseException as error:
    said = f"{{type(error).__name__}}: {{error}}"
os.write(SOCKET, said.encode())
os.read(SOCKET, 1)
"""


def confined(asked: str, *, parent: int | None = None) -> str:
    """What this is in a confined process, and what its status says; nothing where there is no such process."""
    ours, theirs = socket.socketpair()
    secret = os.open("/dev/null", os.O_RDONLY)
    command = [sys.executable, "-P", "-c", _CONFINED, str(theirs.fileno()), str(parent or os.getpid()), asked]
    process = subprocess.Popen(
        command,
        pass_fds=[theirs.fileno(), secret],
        env={"PYTHONPATH": str(_SOURCES), "SECRET": "told to nobody"},
    )
    os.close(secret)
    theirs.close()
    with ours:
        ours.settimeout(30)
        said = ours.recv(10_000).decode()
        if said:
            said += "\n" + Path(f"/proc/{process.pid}/status").read_text()
    process.wait(30)
    return said


def test_it_can_open_nothing() -> None:
    assert "Too many open files" in confined("os.open('/dev/null', os.O_RDONLY)")


def test_it_can_start_nothing() -> None:
    if os.geteuid() == 0 and confined("os.getuid()").startswith("0"):
        pytest.fail("root has not become nobody here")
    assert "BlockingIOError" in confined("os.fork()")


def test_it_has_nothing_but_its_socket() -> None:
    said = confined("[number for number in range(1000) if is_open(number)]")
    assert said.startswith(str([0, 1, 2, confinement.SOCKET]))


def test_it_has_no_environment() -> None:
    assert confined("dict(os.environ)").startswith("{}")


def test_its_memory_is_bounded() -> None:
    assert confined(f"bytearray({_MEMORY})").startswith("MemoryError")
    assert confined("resource.getrlimit(resource.RLIMIT_AS)").startswith(str((_MEMORY, _MEMORY)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_becomes_nobody() -> None:
    assert confined("(os.getresuid(), os.getgroups())").startswith("((65534, 65534, 65534), [])")


def test_it_leaves_no_core_and_gains_no_rights() -> None:
    said = confined("resource.getrlimit(resource.RLIMIT_CORE)")
    assert said.startswith("(0, 0)")
    assert "NoNewPrivs:\t1" in said


def test_it_ends_at_once_if_its_parent_is_gone() -> None:
    # Any other process stands for a parent that has ended before it was asked to watch it.
    assert confined("1", parent=os.getppid()) == ""


_PARENT = """
import os, sys
from cloche_term.apart.confinement import end_with_parent

parent = os.getpid()
if not os.fork():
    end_with_parent(parent)
    os.write(1, b"%d\\n" % os.getpid())
    os.read(0, 1)
os.read(0, 1)
"""


def test_it_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(_SOURCES)},
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        pidfd = os.pidfd_open(child)
        parent.kill()
        try:
            # Its end closes the pipe that it writes to.
            assert parent.stdout.read() == b""
        finally:
            os.close(pidfd)
