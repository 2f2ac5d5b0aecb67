"""A file's new content: all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cloche_guest.files.replacing import Replacement, make_parents
from cloche_guest.users import Account, acting_as
from cloche_wire.errors import WrongState
from tests.guest.files.folder import names

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")
SOMEBODY = Account("somebody", 4242, 4243, (4244,), "/", "/bin/sh")


@pytest.fixture(autouse=True)
def _usual_mask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def begin(path: Path, **how: bool | int) -> Replacement:
    return Replacement(os.fsencode(path), **how)  # type: ignore[arg-type]


def replace(path: Path, data: bytes, **how: bool | int) -> os.stat_result:
    """Begins, writes and commits."""
    new = begin(path, **how)
    new.write(data)
    return new.commit()


def open_files() -> list[str]:
    return names(Path("/proc/self/fd"))


def test_a_new_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    new = begin(tmp_path / "f")
    new.write(b"one ")
    new.write(b"two")
    assert names(tmp_path)[0].startswith(".cloche-")
    status = new.commit()
    assert (tmp_path / "f").read_bytes() == b"one two"
    assert (status.st_size, status.st_mode & 0o7777, names(tmp_path)) == (7, 0o644, ["f"])


def test_what_was_there_stays_until_the_new_content_is_complete(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with (tmp_path / "f").open("rb") as reader:
        new = begin(tmp_path / "f")
        new.write(b"new")
        assert (tmp_path / "f").read_bytes() == b"old"
        new.commit()
        assert reader.read() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new"


def test_what_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    before = open_files()
    new = begin(tmp_path / "f")
    new.write(bytes(100_000))
    new.abandon()
    assert (names(tmp_path), (tmp_path / "f").read_bytes()) == (["f"], b"old")
    assert open_files() == before


def test_what_is_complete_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_files()
    replace(tmp_path / "f", b"new")
    assert open_files() == before


def test_the_permissions_of_what_was_there_stay(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / "f").chmod(0o6751)
    assert replace(tmp_path / "f", b"new").st_mode & 0o7777 == 0o751


@pytest.mark.parametrize("existing", [True, False])
def test_permissions_that_are_asked_for_are_given_whatever_the_mask(tmp_path: Path, existing: bool) -> None:
    if existing:
        (tmp_path / "f").touch()
    assert replace(tmp_path / "f", b"new", mode=0o666).st_mode & 0o7777 == 0o666


def test_a_file_with_permissions_of_its_own_is_nobody_elses_before_it_has_them(tmp_path: Path) -> None:
    new = begin(tmp_path / "f", mode=0o644)
    assert next(tmp_path.iterdir()).stat().st_mode & 0o777 == 0o600
    new.abandon()


def test_a_link_stays_and_what_it_points_at_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/real").write_bytes(b"old")
    (tmp_path / "second").symlink_to("folder/../folder/real")
    (tmp_path / "first").symlink_to("second")
    replace(tmp_path / "first", b"new")
    assert (tmp_path / "folder/real").read_bytes() == b"new"
    assert (tmp_path / "first").is_symlink()
    assert names(tmp_path / "folder") == ["real"]


def test_a_link_that_leads_nowhere_yet_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    replace(tmp_path / "link", b"new")
    assert ((tmp_path / "real").read_bytes(), names(tmp_path)) == (b"new", ["link", "real"])


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        begin(tmp_path / "a")


def _file(path: Path) -> None:
    path.write_bytes(b"old")


def _link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_file, _link, Path.mkdir])
def test_what_must_be_new_may_not_be_there(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "f")
    with pytest.raises(FileExistsError):
        begin(tmp_path / "f", exclusive=True)
    assert names(tmp_path) == ["f"]


def test_what_must_be_new_replaces_nothing_that_has_come_meanwhile(tmp_path: Path) -> None:
    new = begin(tmp_path / "f", exclusive=True)
    new.write(b"new")
    (tmp_path / "f").write_bytes(b"faster")
    with pytest.raises(FileExistsError):
        new.commit()
    new.abandon()
    assert ((tmp_path / "f").read_bytes(), names(tmp_path)) == (b"faster", ["f"])


def test_what_must_be_new_and_is_has_one_name(tmp_path: Path) -> None:
    assert replace(tmp_path / "f", b"new", exclusive=True).st_nlink == 1
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "f")
    with pytest.raises(WrongState, match="f: it is"):
        begin(tmp_path / "f")
    assert names(tmp_path) == ["f"]


def test_the_root_folder_is_no_file() -> None:
    with pytest.raises(IsADirectoryError):
        Replacement(b"/")


def test_folders_above_are_made_if_asked_and_go_if_it_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        begin(tmp_path / "a/b/f")
    new = begin(tmp_path / "a/b/f", parents=True)
    assert (tmp_path / "a/b").is_dir()
    new.abandon()
    assert names(tmp_path) == []
    replace(tmp_path / "a/b/f", b"new", parents=True)
    assert (tmp_path / "a/b/f").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o7777 == 0o755


def test_folders_that_somebody_uses_by_now_stay(tmp_path: Path) -> None:
    new = begin(tmp_path / "a/b/f", parents=True)
    (tmp_path / "a/other").touch()
    new.abandon()
    assert names(tmp_path / "a") == ["other"]


def test_a_file_where_a_folder_should_be_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        begin(tmp_path / "a/b/f", parents=True)
    assert names(tmp_path) == ["a"]


def test_a_folder_that_is_renamed_meanwhile_takes_the_file_with_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    new = begin(tmp_path / "a/f")
    (tmp_path / "a").rename(tmp_path / "b")
    new.commit()
    assert names(tmp_path / "b") == ["f"]


def test_parents_that_are_made_are_told_outermost_first(tmp_path: Path) -> None:
    made: list[bytes] = []
    make_parents(os.fsencode(tmp_path / "a/b"), made)
    make_parents(os.fsencode(tmp_path / "a/b"), made)
    assert made == [os.fsencode(tmp_path / "a"), os.fsencode(tmp_path / "a/b")]


# As somebody else.


@needs_root
def test_what_its_user_may_not_write_is_not_replaced(open_folder: Path) -> None:
    (open_folder / "f").write_bytes(b"old")
    with pytest.raises(PermissionError), acting_as(SOMEBODY):
        begin(open_folder / "f")
    os.chown(open_folder / "f", SOMEBODY.uid, SOMEBODY.gid)
    (open_folder / "f").chmod(0o444)
    with pytest.raises(PermissionError), acting_as(SOMEBODY):
        begin(open_folder / "f")
    assert names(open_folder) == ["f"]


@needs_root
def test_a_new_file_is_its_users(open_folder: Path) -> None:
    with acting_as(SOMEBODY):
        status = replace(open_folder / "f", b"new")
    assert (status.st_uid, status.st_gid) == (SOMEBODY.uid, SOMEBODY.gid)


@needs_root
def test_root_leaves_a_file_to_whom_it_belongs(open_folder: Path) -> None:
    (open_folder / "f").touch()
    os.chown(open_folder / "f", SOMEBODY.uid, SOMEBODY.gid)
    status = replace(open_folder / "f", b"new")
    assert (status.st_uid, status.st_gid) == (SOMEBODY.uid, SOMEBODY.gid)


@needs_root
def test_a_user_keeps_a_files_group_but_not_its_owner(open_folder: Path) -> None:
    (open_folder / "f").touch()
    os.chown(open_folder / "f", 0, SOMEBODY.groups[0])
    (open_folder / "f").chmod(0o664)
    with acting_as(SOMEBODY):
        status = replace(open_folder / "f", b"new")
    assert (status.st_uid, status.st_gid) == (SOMEBODY.uid, SOMEBODY.groups[0])
    assert status.st_mode & 0o7777 == 0o664
