"""The hub's home: private, and one hub's at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cloche_hub.errors import HomeInUse, StoreFailed
from cloche_hub.store.home import LOCK_FILE, HomeLock, make_private_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    with HomeLock(home):
        assert mode(home) == 0o700
        assert mode(home / LOCK_FILE) == 0o600


def test_a_second_hub_is_told_who_has_the_home(tmp_path: Path) -> None:
    with (
        HomeLock(tmp_path),
        pytest.raises(HomeInUse, match=f"another hub \\(pid {os.getpid()}\\) has {tmp_path} open") as refusal,
    ):
        HomeLock(tmp_path)
    assert refusal.value.pid == os.getpid()


def test_a_holder_that_left_no_pid_is_still_a_holder(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        (tmp_path / LOCK_FILE).write_text("")
        with pytest.raises(HomeInUse, match="pid unknown") as refusal:
            HomeLock(tmp_path)
    assert refusal.value.pid is None


def test_a_released_home_can_be_locked_again_and_names_nobody(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    lock.release()
    lock.release()
    assert (tmp_path / LOCK_FILE).read_text() == ""
    with HomeLock(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_home_others_may_write_in_is_refused_and_left_as_it_is(tmp_path: Path, bits: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o700 | bits)
    with pytest.raises(StoreFailed, match=f"chmod go-w {home}"):
        HomeLock(home)
    assert mode(home) == 0o700 | bits


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_home_that_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, -1)
    with pytest.raises(StoreFailed, match="belongs to user 12345"):
        HomeLock(home)


def test_a_home_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(StoreFailed, match="is not a folder"):
        HomeLock(tmp_path / "home")


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreFailed, match=r"cannot use .* as the hub's home: Not a directory"):
        HomeLock(tmp_path / "file" / "home")


def test_a_lock_that_is_a_link_to_another_file_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / LOCK_FILE).symlink_to(victim)
    with pytest.raises(StoreFailed, match="cannot use"):
        HomeLock(tmp_path)
    assert victim.read_text() == "precious"


def test_a_private_file_is_made_so_or_becomes_so(tmp_path: Path) -> None:
    made, found = tmp_path / "made", tmp_path / "found"
    found.write_text("kept")
    found.chmod(0o644)
    make_private_file(made)
    make_private_file(found)
    assert (mode(made), mode(found), found.read_text()) == (0o600, 0o600, "kept")


def test_a_private_file_is_never_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match=r"symbolic links"):
        make_private_file(tmp_path / "link")
    assert not (tmp_path / "victim").exists()
