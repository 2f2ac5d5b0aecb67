"""The small changes: folders, names, permissions, links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.errors import BadRequest, CodedError, Conflict, Forbidden, NotFound, WrongState
from tests.guest.files.folder import SOMEBODY, names
from tests.support.blocking_link import BlockingLink

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def test_a_path_begins_at_its_users_home(link: BlockingLink) -> None:
    home = Path("~").expanduser()
    entry = link.call("file.stat", {"path": "../.", "follow": True})
    assert entry["path"] == str(home.parent)


def test_a_link_is_looked_at_or_followed(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / "link").symlink_to("f")
    kinds = [
        link.call("file.stat", {"path": str(tmp_path / "link"), "follow": follow})["kind"]
        for follow in (True, False)
    ]
    assert kinds == ["file", "link"]


# Folders.


def test_a_folder_is_made(link: BlockingLink, tmp_path: Path) -> None:
    entry = link.call("file.make_dir", {"path": str(tmp_path / "a"), "mode": 0o2777, "parents": False})
    assert (entry["kind"], entry["mode"]) == ("dir", 0o2777)
    with pytest.raises(Conflict, match="a: File exists"):
        link.call("file.make_dir", {"path": str(tmp_path / "a")})


def test_a_folder_is_made_with_those_above_it(link: BlockingLink, tmp_path: Path) -> None:
    path = str(tmp_path / "a/b/c")
    with pytest.raises(NotFound):
        link.call("file.make_dir", {"path": path})
    made = link.call("file.make_dir", {"path": path, "mode": 0o700, "parents": True})
    assert made["mode"] == 0o700
    assert link.call("file.make_dir", {"path": path, "mode": 0o777, "parents": True}) == made


def test_a_folder_that_can_not_be_made_leaves_none_above_it(link: BlockingLink, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="too long"):
        link.call("file.make_dir", {"path": str(tmp_path / "a/b" / ("x" * 300)), "parents": True})
    (tmp_path / "f").touch()
    with pytest.raises(WrongState, match="Not a directory"):
        link.call("file.make_dir", {"path": str(tmp_path / "f/b/c"), "parents": True})
    assert names(tmp_path) == ["f"]


# Names.


def rename(link: BlockingLink, source: Path, to: Path, *, replace: bool = False) -> dict[str, Any]:
    return link.call("file.rename", {"path": str(source), "to": str(to), "replace": replace})


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("kind", ["file", "dir", "link"])
def test_anything_gets_another_name(link: BlockingLink, tmp_path: Path, kind: str, replace: bool) -> None:
    source = tmp_path / "a"
    if kind == "file":
        source.write_bytes(b"content")
    elif kind == "dir":
        (source / "inside").mkdir(parents=True)
    else:
        source.symlink_to("nowhere")
    entry = rename(link, source, tmp_path / "b", replace=replace)
    assert (entry["name"], entry["kind"], names(tmp_path)) == ("b", kind, ["b"])
    if kind == "dir":
        assert names(tmp_path / "b") == ["inside"]


@pytest.mark.parametrize("kind", ["file", "dir"])
def test_a_name_that_is_taken_is_a_conflict_unless_it_may_be_replaced(
    link: BlockingLink, tmp_path: Path, kind: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir() if kind == "dir" else (tmp_path / name).write_text(name)
    with pytest.raises(Conflict, match="b: File exists"):
        rename(link, tmp_path / "a", tmp_path / "b")
    assert names(tmp_path) == ["a", "b"]
    rename(link, tmp_path / "a", tmp_path / "b", replace=True)
    assert names(tmp_path) == ["b"]
    if kind == "file":
        assert (tmp_path / "b").read_text() == "a"


@pytest.mark.parametrize(
    ("source", "to", "error", "words"),
    [
        ("nothing", "b", NotFound, "nothing: No such file"),
        ("folder", "folder/inside", BadRequest, "folder/inside: Invalid argument"),
        ("file", "nowhere/b", NotFound, "nowhere/b: No such file"),
        ("file", "/proc/b", CodedError, "/proc/b: "),
    ],
)
def test_a_name_that_can_not_be_given_leaves_everything(
    link: BlockingLink, tmp_path: Path, source: str, to: str, error: type[CodedError], words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for replace in (True, False):
        with pytest.raises(error, match=words):
            rename(link, tmp_path / source, tmp_path / to, replace=replace)
    assert (names(tmp_path), names(tmp_path / "folder")) == (["file", "folder"], [])


def test_a_file_of_another_file_system_says_what_to_do(link: BlockingLink, tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one file system here")
    (tmp_path / "f").touch()
    target = shared / f"cloche-test-{os.getpid()}"
    for replace in (True, False):
        with pytest.raises(WrongState, match="copy it"):
            rename(link, tmp_path / "f", target, replace=replace)
        assert not target.exists()


# Permissions.


def test_permissions_are_set(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / "link").symlink_to("f")
    entry = link.call("file.set_mode", {"path": str(tmp_path / "link"), "mode": 0o4701})
    assert (entry["mode"], (tmp_path / "f").stat().st_mode & 0o7777) == (0o4701, 0o4701)


@needs_root
def test_permissions_of_somebody_elses_file_are_not(link: BlockingLink, open_folder: Path) -> None:
    (open_folder / "f").touch()
    with pytest.raises(Forbidden, match="not permitted"):
        link.call("file.set_mode", {"path": str(open_folder / "f"), "mode": 0o777, "user": SOMEBODY})


# Links.


def test_a_symbolic_link_says_what_it_was_told(link: BlockingLink, tmp_path: Path) -> None:
    params = {"path": str(tmp_path / "link"), "target": "../no/./where", "symbolic": True}
    entry = link.call("file.link", params)
    assert (entry["kind"], entry["target"]) == ("link", "../no/./where")
    with pytest.raises(Conflict):
        link.call("file.link", params)


def test_a_hard_link_is_another_name_of_the_same_file(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    params = {"path": str(tmp_path / "same"), "target": str(tmp_path / "f"), "symbolic": False}
    assert link.call("file.link", params)["kind"] == "file"
    assert (tmp_path / "same").samefile(tmp_path / "f")
    with pytest.raises(NotFound, match="nothing: No such file"):
        link.call("file.link", {**params, "path": str(tmp_path / "b"), "target": str(tmp_path / "nothing")})
