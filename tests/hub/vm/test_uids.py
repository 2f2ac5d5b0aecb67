"""User ids for machines."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.vm.uids import UserIds, running_uids


def test_two_hubs_of_a_host_never_give_out_the_same_id(tmp_path: Path) -> None:
    one, other = UserIds(5000, 5003, tmp_path), UserIds(5000, 5003, tmp_path)
    taken = [hub.take() for hub in (one, other, other, one)]
    assert sorted(uid for uid, _ in taken) == [5000, 5001, 5002, 5003]
    for _, lock in taken:
        lock.close()


def test_an_id_is_free_again_when_its_lock_is(tmp_path: Path) -> None:
    uids = UserIds(5000, 5000, tmp_path)
    _, lock = uids.take()
    with pytest.raises(TooLarge, match="all 1 user ids"):
        uids.take()
    lock.close()
    uid, lock = uids.take()
    assert uid == 5000
    lock.close()


def test_an_id_is_not_given_out_again_as_long_as_there_are_others(tmp_path: Path) -> None:
    uids = UserIds(5000, 5002, tmp_path)
    given = []
    for _ in range(4):
        uid, lock = uids.take()
        given.append(uid)
        lock.close()
    assert given == [5000, 5001, 5002, 5000]


def test_only_root_may_touch_the_locks(tmp_path: Path) -> None:
    _, lock = UserIds(5000, 5000, tmp_path / "uids").take()
    lock.close()
    assert (tmp_path / "uids").stat().st_mode & 0o777 == 0o700


def test_an_id_that_somebody_elses_process_runs_as_is_passed_over(tmp_path: Path) -> None:
    busy = {5000, 5002}
    uids = UserIds(5000, 5002, tmp_path, running=lambda: busy)
    uid, lock = uids.take()
    assert uid == 5001
    with pytest.raises(TooLarge, match="all 3 user ids"):
        uids.take()
    lock.close()
    busy.clear()
    uid, lock = uids.take()
    assert uid == 5002
    lock.close()


def test_the_ids_that_processes_run_as_are_read_from_their_status(tmp_path: Path) -> None:
    for name, uids in (("1", b"0\t0\t0\t0"), ("77", b"1000\t1001\t1002\t1003")):
        (tmp_path / name).mkdir()
        # The name is the process's own choice, with its newlines escaped by the kernel.
        status = b"Name:\t\\nUid:\t7\nPid:\t" + name.encode() + b"\nUid:\t" + uids + b"\nGid:\t8\n"
        (tmp_path / name / "status").write_bytes(status)
    (tmp_path / "78").mkdir()  # has ended meanwhile
    (tmp_path / "cpuinfo").write_bytes(b"\nUid:\t9\n")
    assert running_uids(tmp_path) == {0, 1000, 1001, 1002, 1003}


def test_a_process_of_this_host_is_seen_while_it_runs(tmp_path: Path) -> None:
    assert os.geteuid() in running_uids()
    if os.geteuid() != 0:
        pytest.skip("only root can run as somebody else")
    uid = 1_999_999_999
    with subprocess.Popen(["/bin/sleep", "60"], user=uid) as process:
        try:
            assert uid in running_uids()
        finally:
            process.kill()
    assert uid not in running_uids()
