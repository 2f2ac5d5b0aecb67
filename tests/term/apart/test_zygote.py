"""The process that workers come from, as its owner handles it: without an event loop, started when needed."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from pathlib import Path

import pytest

from cloche_term.apart.frames import SIZE, Kind, frame, pack_lines
from cloche_term.apart.zygote import Zygote
from cloche_term.errors import TerminalLost
from tests.term.apart.processes import all_end, descriptors_of, watch


def worker_of(zygote: Zygote) -> int:
    """A descriptor of a new worker's process."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(20)
        with theirs:
            zygote.send(theirs)
        _, (pidfd,), _, _ = socket.recv_fds(ours, 4, 1)
    return int(pidfd)


def test_it_is_started_once_and_forks_workers() -> None:
    zygote = Zygote()
    try:
        assert zygote.pid is None
        zygote.start()
        first = zygote.pid
        zygote.start()
        assert zygote.pid == first
        assert all_end([worker_of(zygote), worker_of(zygote)])
    finally:
        zygote.close()


def test_it_is_started_again_when_it_has_ended_and_leaves_nothing_open() -> None:
    before = descriptors_of(os.getpid())
    zygote = Zygote()
    try:
        zygote.start()
        first = zygote.pid
        assert first is not None
        ended = zygote.watch()
        os.kill(first, signal.SIGKILL)
        assert all_end([ended])
        zygote.start()
        assert zygote.pid not in (None, first)
        assert all_end([worker_of(zygote)])
    finally:
        zygote.close()
    assert descriptors_of(os.getpid()) == before


def test_closing_ends_it_for_good_also_when_it_has_not_begun() -> None:
    zygote = Zygote()
    zygote.start()
    ended = zygote.watch()
    zygote.close()
    zygote.close()
    assert all_end([ended])
    with pytest.raises(TerminalLost):
        zygote.start()
    with pytest.raises(OSError, match="not been started"):
        worker_of(zygote)
    with pytest.raises(OSError, match="Bad file"):
        zygote.watch()


def test_closing_ends_it_also_where_it_does_not_hear_any_more() -> None:
    zygote = Zygote()
    zygote.start()
    ended = zygote.watch()
    assert zygote.pid is not None
    os.kill(zygote.pid, signal.SIGSTOP)
    zygote.close()
    assert all_end([ended])


def test_it_is_known_to_be_stopped_and_goes_on_where_it_was() -> None:
    zygote = Zygote()
    assert not is_stopped(zygote)
    zygote.wake()
    zygote.start()
    try:
        assert zygote.pid is not None
        assert all_end([worker_of(zygote)])
        assert not is_stopped(zygote)
        os.kill(zygote.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, zygote.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_stopped(zygote)
        zygote.wake()
        assert not is_stopped(zygote)
        assert all_end([worker_of(zygote)])
    finally:
        zygote.close()
    assert not is_stopped(zygote)


def test_one_that_was_ended_can_be_started_again() -> None:
    zygote = Zygote()
    try:
        zygote.start()
        ended = zygote.watch()
        zygote.end()
        assert all_end([ended])
        assert zygote.pid is None
        zygote.start()
        assert all_end([worker_of(zygote)])
    finally:
        zygote.close()


def test_it_outlives_the_thread_that_started_it() -> None:
    zygote = Zygote()
    try:
        starter = threading.Thread(target=zygote.start)
        starter.start()
        starter.join(20)
        assert all_end([worker_of(zygote)])
        poll = select.poll()
        ended = zygote.watch()
        poll.register(ended, select.POLLIN)
        assert not poll.poll(0)
        os.close(ended)
    finally:
        zygote.close()


def test_it_has_no_environment_and_no_descriptor_of_ours(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    secret = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(secret, True)
    zygote = Zygote()
    try:
        zygote.start()
        assert all_end([worker_of(zygote)])
        assert zygote.pid is not None
        assert str(tmp_path / "secret") not in descriptors_of(zygote.pid).values()
        environment = Path(f"/proc/{zygote.pid}/environ").read_bytes().rstrip(b"\0")
        assert environment.startswith(b"PYTHONPATH=")
        assert environment.count(b"\0") == 0
    finally:
        zygote.close()
        os.close(secret)


def test_its_workers_end_with_it() -> None:
    zygote = Zygote()
    zygote.start()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        zygote.send(theirs)
        hello, (pidfd,), _, _ = socket.recv_fds(ours, 4, 1)
        running = watch([int.from_bytes(hello, "big")])
        zygote.close()
        assert all_end([*running, pidfd])


@pytest.mark.parametrize("is_quiet", [True, False])
def test_one_whose_owner_paints_a_screen_does_not_complain_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *, is_quiet: bool
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho it cannot start >&2\n")
    broken.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(broken))
    zygote = Zygote(is_quiet=is_quiet)
    zygote.start()
    try:
        ended = zygote.watch()
        assert select.select([ended], [], [], 20)[0]
        os.close(ended)
    finally:
        zygote.close()
    assert capfd.readouterr().err == ("" if is_quiet else "it cannot start\n")


@pytest.mark.parametrize("nice", [0, 5])
def test_workers_stand_as_far_behind_us_as_their_owner_says(nice: int) -> None:
    zygote = Zygote(nice=nice)
    ours, theirs = socket.socketpair()
    try:
        zygote.start()
        with theirs:
            zygote.send(theirs)
        ours.settimeout(20)
        hello, (pidfd,), _, _ = socket.recv_fds(ours, 4, 1)
        # Asked something, it is confined by then.
        ours.sendall(frame(Kind.OPEN, SIZE.pack(2, 10) + pack_lines(0)))
        assert ours.recv(1)
        worker = int.from_bytes(hello, "big")
        assert os.getpriority(os.PRIO_PROCESS, worker) == os.getpriority(os.PRIO_PROCESS, 0) + nice
        os.close(pidfd)
    finally:
        ours.close()
        zygote.close()


def is_stopped(zygote: Zygote) -> bool:
    # By a call, since a checker takes what was once asserted of an attribute to stay so.
    return zygote.is_stopped
