"""Files and trees that are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_guest.files.removal import removing
from cloche_guest.files.slices import Wait
from cloche_wire.errors import CodedError, Forbidden, NotFound, WrongState
from tests.guest.files.folder import SOMEBODY, names
from tests.support.agent_process import AgentProcess
from tests.support.blocking_link import BlockingLink

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def remove(path: Path, *, recursive: bool = True) -> int:
    """Removes it step by step; how many."""
    *waits, result = removing(os.fsencode(path), recursive=recursive)
    assert set(waits) <= {Wait.TURN}
    assert isinstance(result, dict)
    return int(result["removed"])


def open_files() -> list[str]:
    """The descriptors that are open here."""
    return names(Path("/proc/self/fd"))


def make_tree(top: Path) -> int:
    """A tree of all kinds; how many there are."""
    for folder in range(3):
        for inner in range(3):
            (top / f"{folder}/{inner}").mkdir(parents=True)
            for file in range(100):
                (top / f"{folder}/{inner}/{file}").touch()
        (top / f"{folder}/link").symlink_to("/etc")
        os.mkfifo(top / f"{folder}/pipe")
    return 1 + 3 * (1 + 3 * 101 + 2)


def test_a_file_is_removed(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert link.call("file.remove", {"path": str(tmp_path / "file"), "recursive": False}) == {"removed": 1}
    assert names(tmp_path) == []


def test_a_tree_is_removed_and_counted(link: BlockingLink, tmp_path: Path) -> None:
    count = make_tree(tmp_path / "tree")
    removal = link.open("file.remove", {"path": str(tmp_path / "tree"), "recursive": True})
    # It may take long: that it is under way is said first.
    assert removal.wait_accepted() == {}
    assert removal.result() == {"removed": count}
    assert names(tmp_path) == []


def test_a_link_is_removed_and_not_what_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/inside").symlink_to("../kept")
    (tmp_path / "link").symlink_to("kept")
    assert remove(tmp_path / "link") == 1
    assert remove(tmp_path / "tree") == 2
    assert names(tmp_path / "kept") == ["file"]


def test_an_empty_folder_goes_alone_and_a_full_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    assert remove(tmp_path / "empty", recursive=False) == 1
    with pytest.raises(WrongState, match="full: Directory not empty"):
        remove(tmp_path / "full", recursive=False)
    assert names(tmp_path / "full") == ["file"]


def test_a_tree_deeper_than_any_path_is_removed_with_few_descriptors(tmp_path: Path) -> None:
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("folder", dir_fd=here)
        below = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    before = len(open_files())
    steps = removing(os.fsencode(top), recursive=True)
    most = 0
    for _ in steps:
        most = max(most, len(open_files()))
    assert most <= before + 2
    assert not top.exists()


def test_a_wide_tree_is_removed_whole(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"top/{number}").mkdir(parents=True)
    assert remove(tmp_path / "top") == 501


def test_a_tree_that_changes_meanwhile_is_removed_all_the_same(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree")
    steps = removing(os.fsencode(tmp_path / "tree"), recursive=True)
    for _ in range(3):
        next(steps)
    (tmp_path / "tree/later").touch()
    for name in ("0", "1", "2"):
        if (tmp_path / "tree" / name / "1").exists():
            (tmp_path / "tree" / name / "1").rename(tmp_path / "tree" / f"moved{name}")
    for _ in steps:
        pass
    assert names(tmp_path) == []


def test_a_folder_that_is_moved_out_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "tree/in/deep").mkdir(parents=True)
    (tmp_path / "elsewhere/kept").mkdir(parents=True)
    steps = removing(os.fsencode(tmp_path / "tree"), recursive=True)
    for _ in range(4):
        next(steps)  # looked into tree, entered in, looked into it, entered deep
    (tmp_path / "tree/in/deep").rename(tmp_path / "elsewhere/deep")
    with pytest.raises(WrongState, match="moved"):
        list(steps)
    assert "kept" in names(tmp_path / "elsewhere")


def test_removal_that_is_given_up_closes_what_it_opened(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree")
    before = open_files()
    steps = removing(os.fsencode(tmp_path / "tree"), recursive=True)
    for _ in range(5):
        next(steps)
    steps.close()
    assert open_files() == before


@pytest.mark.parametrize("recursive", [True, False])
def test_the_root_folder_is_never_removed(recursive: bool) -> None:
    with pytest.raises(WrongState, match="root folder"):
        list(removing(b"/", recursive=recursive))


@pytest.mark.parametrize(("name", "error"), [("nothing", NotFound), ("file/x", WrongState)])
def test_what_is_not_there_is_refused(tmp_path: Path, name: str, error: type[CodedError]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error, match=name):
        remove(tmp_path / name)


@needs_root
def test_what_can_not_be_removed_is_named(link: BlockingLink, open_folder: Path) -> None:
    (open_folder / "tree/roots").mkdir(parents=True)
    (open_folder / "tree/roots/file").touch()
    with pytest.raises(Forbidden, match="tree/roots/file: Permission denied"):
        link.call("file.remove", {"path": str(open_folder / "tree"), "recursive": True, "user": SOMEBODY})
    assert (open_folder / "tree/roots/file").exists()


def test_a_large_tree_does_not_hold_up_others(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    for number in range(20_000):
        os.mknod(tmp_path / f"tree/{number}")
    removal = link.open("file.remove", {"path": str(tmp_path / "tree"), "recursive": True})
    pings = 0
    while not removal.is_over:
        link.ping()
        pings += 1
    assert removal.result() == {"removed": 20_001}
    assert pings > 5
