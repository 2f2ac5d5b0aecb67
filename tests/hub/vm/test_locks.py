"""Locks that outlast the process that took them."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from cloche_hub.vm.locks import Lock, is_held

BOUND_S = 10.0


def test_a_lock_is_for_one(tmp_path: Path) -> None:
    first = Lock.try_take(tmp_path / "lock")
    assert first is not None
    assert Lock.try_take(tmp_path / "lock") is None
    assert is_held(tmp_path / "lock")
    first.close()
    first.close()
    assert not is_held(tmp_path / "lock")


def test_a_shared_lock_is_for_many_and_keeps_out_who_wants_it_alone(tmp_path: Path) -> None:
    with Lock.share(tmp_path / "lock"), Lock.share(tmp_path / "lock"):
        assert Lock.try_take(tmp_path / "lock") is None
    assert not is_held(tmp_path / "lock")


def test_a_process_that_inherited_a_lock_holds_it_until_it_ends(tmp_path: Path) -> None:
    with Lock.share(tmp_path / "lock") as lock:
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fileno()])
    try:
        assert is_held(tmp_path / "lock")
    finally:
        heir.communicate(timeout=BOUND_S)
    assert not is_held(tmp_path / "lock")


async def test_who_waits_is_told_so_and_gets_it_when_it_is_free(tmp_path: Path) -> None:
    first = Lock.try_take(tmp_path / "lock")
    assert first is not None
    waits: list[bool] = []

    def waiting() -> None:
        waits.append(True)
        first.close()

    async with asyncio.timeout(BOUND_S):
        second = await Lock.take(tmp_path / "lock", while_waiting=waiting)
    assert waits == [True]
    second.close()


async def test_who_gives_up_waiting_leaves_nothing_behind(tmp_path: Path) -> None:
    first = Lock.try_take(tmp_path / "lock")
    assert first is not None
    async with asyncio.TaskGroup() as tasks:
        waiter = tasks.create_task(Lock.take(tmp_path / "lock"))
        await asyncio.sleep(0)
        waiter.cancel()
    first.close()
    assert not is_held(tmp_path / "lock")
