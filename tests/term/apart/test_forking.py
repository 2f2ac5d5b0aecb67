"""The process that forks workers, asked as its parent does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cloche_term.apart.forking import HELLO
from cloche_term.apart.frames import HEAD, SIZE, Kind, Status, frame, pack_lines
from tests.term.apart.processes import all_end, children_of, descriptors_of, watch


@contextmanager
def forker() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """The process and its control socket; it has ended by itself when this ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", "-m", "cloche_term.apart.forking"]
    process = subprocess.Popen(
        [*command, str(theirs.fileno()), str(os.getpid()), str(1 << 28), "5"],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()
    try:
        with ours:
            ours.settimeout(20)
            yield process, ours
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(20)


def worker(control: socket.socket) -> tuple[int, int, socket.socket]:
    """A worker: its process id, its pidfd and its socket."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    with theirs:
        socket.send_fds(control, [b"w"], [theirs.fileno()])
    hello, (pidfd,), _, _ = socket.recv_fds(ours, HELLO.size, 1)
    return HELLO.unpack(hello)[0], pidfd, ours


def test_a_worker_is_a_process_of_its_own_that_answers() -> None:
    with forker() as (process, control):
        pid, pidfd, ours = worker(control)
        with ours:
            assert children_of(process.pid) == [pid]
            ours.sendall(frame(Kind.OPEN, SIZE.pack(3, 20) + pack_lines(10)))
            assert HEAD.unpack_from(ours.recv(1000))[0] == Status.DONE
        os.close(pidfd)


def test_ended_workers_are_reaped_before_the_next_begins_and_leave_nothing_open() -> None:
    with forker() as (process, control):
        first, pidfd, ours = worker(control)
        before = descriptors_of(process.pid)
        for _ in range(20):
            _, one, connection = worker(control)
            connection.close()
            assert all_end([one])
        last, last_pidfd, connection = worker(control)
        assert children_of(process.pid) == [first, last]
        # Its answer comes before the end of what it has done, so it is asked once more.
        assert len(descriptors_of(process.pid)) <= len(before) + 3
        connection.close()
        ours.close()
        assert all_end([last_pidfd, pidfd])


@pytest.mark.parametrize("number", [2, 15, 1])
def test_signals_that_ask_people_to_end_are_left_to_its_parent(number: int) -> None:
    with forker() as (process, control):
        first = worker(control)
        process.send_signal(number)
        second = worker(control)
        for _, pidfd, ours in (first, second):
            ours.close()
            assert all_end([pidfd])


def test_its_workers_end_with_it() -> None:
    with forker() as (_, control):
        workers = [worker(control) for _ in range(3)]
        pids = watch(pid for pid, _, _ in workers)
    assert all_end(pids)
    for _, pidfd, ours in workers:
        ours.close()
        os.close(pidfd)


_PARENT = """
import os, subprocess, sys
command = [sys.executable, "-P", "-m", "cloche_term.apart.forking", sys.argv[1], str(os.getpid()), str(1 << 28), "5"]
print(subprocess.Popen(command, pass_fds=[int(sys.argv[1])]).pid, flush=True)
sys.stdin.read()
"""


def test_it_ends_with_its_parent_also_where_somebody_else_has_the_control_socket() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(20)
        parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with parent:
            assert parent.stdout is not None
            forking = watch([int(parent.stdout.readline())])
            try:
                _, pidfd, connection = worker(ours)
            finally:
                parent.kill()
        connection.close()
        assert all_end([*forking, pidfd])
