"""Locks between processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cloche_hub.locks import Lock, is_held


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.lock"


def _taken(path: Path) -> Lock:
    lock = Lock.try_take(path)
    assert lock is not None
    return lock


def test_a_lock_is_for_one_at_a_time(path: Path) -> None:
    with _taken(path):
        assert Lock.try_take(path) is None
        assert is_held(path)
    assert not is_held(path)


def test_a_lock_taken_briefly_is_for_one(path: Path) -> None:
    with Lock.take_briefly(path):
        assert is_held(path)
    assert not is_held(path)


def test_a_shared_lock_is_for_many_but_keeps_out_who_wants_it_alone(path: Path) -> None:
    with Lock.share(path), Lock.share(path):
        assert Lock.try_take(path) is None
    assert not is_held(path)


def test_the_lock_of_a_folder_goes_with_it_and_none_is_made(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    assert Lock.try_take_folder(folder) is None
    assert not folder.exists()
    folder.mkdir()
    lock = Lock.try_take_folder(folder)
    assert lock is not None
    with lock:
        assert Lock.try_take_folder(folder) is None
        folder.rename(elsewhere)
        assert Lock.try_take_folder(elsewhere) is None
    again = Lock.try_take_folder(elsewhere)
    assert again is not None
    again.close()


def test_a_symbolic_link_in_the_place_of_a_lock_is_refused(tmp_path: Path, path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        Lock.try_take(path)


def test_giving_it_back_twice_closes_nobody_else_s_file(path: Path) -> None:
    lock = _taken(path)
    lock.close()
    other = os.open("/dev/null", os.O_RDONLY)

    lock.close()

    os.close(other)


def test_a_killed_process_leaves_no_lock(path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from cloche_hub.locks import Lock, is_held
lock = Lock.try_take(Path({str(path)!r}))
print("taken", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"taken\n"
            assert Lock.try_take(path) is None
        finally:
            process.kill()

    _taken(path).close()


def test_a_process_that_inherits_the_descriptor_keeps_the_lock_until_it_ends(path: Path) -> None:
    lock = Lock.share(path)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock.fileno()]) as process:
        try:
            lock.close()
            assert is_held(path)
        finally:
            process.kill()
    assert not is_held(path)


async def test_who_waits_gets_the_lock_when_it_is_given_back_and_is_asked_meanwhile(path: Path) -> None:
    held = _taken(path)
    asked = asyncio.Event()

    async def give_back() -> None:
        await asked.wait()
        held.close()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(give_back())
        (await Lock.take(path, while_waiting=asked.set)).close()

    assert asked.is_set()


async def test_a_cancelled_wait_leaves_no_lock_behind(path: Path) -> None:
    with _taken(path), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Lock.take(path)

    _taken(path).close()
