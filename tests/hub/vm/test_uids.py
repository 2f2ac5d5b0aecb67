"""User ids for machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.vm.uids import UserIds


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
