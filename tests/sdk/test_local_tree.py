"""This host's side of a copy."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche.errors import NoSpace, WrongState
from cloche.local_tree import LocalTree

THEN = 1_000_000_000_000_000_000


def names(folder: Path) -> list[str]:
    """Of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(root: Path) -> Iterator[LocalTree]:
    before = set(names(Path("/proc/self/fd")))
    with LocalTree(root) as opened:
        yield opened
    assert set(names(Path("/proc/self/fd"))) <= before, "every descriptor is closed"


def put(tree: LocalTree, *parts: str, data: bytes = b"x", mode: int = 0o644) -> None:
    file = tree.new_file(parts, mode, len(data))
    file.write(data)
    file.commit(THEN)


def test_a_file_appears_when_it_is_complete_with_its_time_and_mode(tree: LocalTree, root: Path) -> None:
    file = tree.new_file(("a",), 0o754, 5)
    file.write(b"he")
    file.write(b"llo")
    assert not (root / "a").exists()
    assert file.sha256 == hashlib.sha256(b"hello").hexdigest()
    file.commit(THEN)
    file.abandon()
    status = (root / "a").stat()
    assert ((root / "a").read_bytes(), status.st_mtime_ns) == (b"hello", THEN)
    assert stat.S_IMODE(status.st_mode) == 0o754 & ~_umask()
    assert names(root) == ["a"]


def _umask() -> int:
    before = os.umask(0o22)
    os.umask(before)
    return before


def test_an_abandoned_file_leaves_what_was_there(tree: LocalTree, root: Path) -> None:
    (root / "a").write_text("before")
    file = tree.new_file(("a",), 0o644, 1)
    file.write(b"x")
    file.abandon()
    file.abandon()
    assert {path.name: path.read_text() for path in root.iterdir()} == {"a": "before"}


def test_times_no_file_system_has_do_not_matter(tree: LocalTree, root: Path) -> None:
    file = tree.new_file(("a",), 0o644, 0)
    file.commit(1 << 70)
    assert (root / "a").exists()


def test_a_link_in_a_file_s_place_is_replaced_not_followed(
    tree: LocalTree, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("safe")
    (root / "a").symlink_to(outside)
    put(tree, "a")
    assert (outside.read_text(), (root / "a").is_symlink()) == ("safe", False)


def test_nothing_is_made_through_a_link(tree: LocalTree, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "d").symlink_to(outside)
    for attempt in (
        lambda: tree.new_file(("d", "a"), 0o644, 0),
        lambda: tree.make_folder(("d", "a"), 0o755),
        lambda: tree.make_folder(("d",), 0o755),
        lambda: tree.make_link(("d", "a"), "b"),
        lambda: tree.finish_folder(("d",), 0o700, 0),
        lambda: tree.open_file(("d", "a")),
    ):
        with pytest.raises(NotADirectoryError) as raised:
            attempt()
        assert str(raised.value.filename).startswith(str(root / "d"))
    assert names(outside) == []


def test_nothing_but_files_and_links_is_replaced(tree: LocalTree, root: Path) -> None:
    (root / "d").mkdir()
    os.mkfifo(root / "f")
    with pytest.raises(IsADirectoryError, match="a folder is there"):
        put(tree, "d")
    with pytest.raises(IsADirectoryError):
        tree.make_link(("d",), "a")
    with pytest.raises(FileExistsError, match="no file"):
        put(tree, "f")
    assert names(root) == ["d", "f"]


def test_a_file_the_disk_has_no_room_for_is_not_begun(tree: LocalTree, root: Path) -> None:
    with pytest.raises(NoSpace, match="the disk has room for"):
        tree.new_file(("a",), 0o644, 1 << 60)
    assert names(root) == []


def test_a_folder_can_be_filled_before_it_gets_its_mode_and_time(tree: LocalTree, root: Path) -> None:
    assert tree.make_folder(("d",), 0o500)
    put(tree, "d", "a")
    tree.finish_folder(("d",), 0o500, THEN)
    status = (root / "d").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o500, THEN)
    assert not tree.make_folder(("d",), 0o777)
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o500
    (root / "d").chmod(0o700)


def test_a_folder_s_mode_is_never_widened(tree: LocalTree, root: Path) -> None:
    tree.make_folder(("d",), 0o700)
    tree.finish_folder(("d",), 0o777, THEN)
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o700


def test_a_file_is_no_folder(tree: LocalTree, root: Path) -> None:
    (root / "d").write_text("")
    with pytest.raises(NotADirectoryError, match="no folder"):
        tree.make_folder(("d",), 0o755)


def test_links_are_made_as_they_are_and_replace_files(tree: LocalTree, root: Path) -> None:
    (root / "l").write_text("before")
    tree.make_link(("l",), "./a//b/")
    assert os.readlink(root / "l") == "./a//b/"  # noqa: PTH115 - a Path would not keep every letter
    assert names(root) == ["l"]


def test_a_source_is_read_to_the_size_it_had(tree: LocalTree, root: Path) -> None:
    (root / "a").write_bytes(b"hello")
    source = tree.open_file(("a",))
    assert (source.read(2), source.is_read) == (b"he", False)
    with (root / "a").open("ab") as more:
        more.write(b" and more")
    assert (source.read(100), source.is_read, source.read(100)) == (b"llo", True, b"")
    assert source.sha256 == hashlib.sha256(b"hello").hexdigest()
    source.close()


def test_what_became_no_regular_file_is_not_read(tree: LocalTree, root: Path) -> None:
    os.mkfifo(root / "f")
    (root / "l").symlink_to("f")
    with pytest.raises(WrongState, match="no regular file"):
        tree.open_file(("f",))
    with pytest.raises(OSError, match="symbolic links"):
        tree.open_file(("l",))


def test_a_folder_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        LocalTree(tmp_path / "nowhere")
    assert raised.value.filename == str(tmp_path / "nowhere")
