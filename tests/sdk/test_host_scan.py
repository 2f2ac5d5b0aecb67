"""What a tree of this host holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche.errors import TooLarge, WrongState
from cloche.host_scan import scan
from cloche.transfer import Plan, Skipped


def _plan(path: Path, plan: Plan | None = None) -> Plan:
    plan = plan or Plan()
    for _ in scan(path, plan):
        pass
    return plan


def test_a_file_is_a_plan_of_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    (tmp_path / "l").symlink_to("a")
    for name in ("a", "l"):
        (item,) = _plan(tmp_path / name).files
        assert (item.parts, item.size_bytes) == ((), 5)


def test_a_tree_is_told_kind_by_kind_and_no_link_in_it_is_followed(tmp_path: Path) -> None:
    (tmp_path / "t/d").mkdir(parents=True)
    (tmp_path / "t/d/a").write_text("hello")
    (tmp_path / "t/d/a").chmod(0o4755)
    (tmp_path / "t/up").symlink_to("./../..")
    (tmp_path / "t/dangling").symlink_to("/nowhere/")
    plan = _plan(tmp_path / "t")
    assert [item.path for item in plan.folders] == [".", "d"]
    assert [(item.path, item.mode, item.size_bytes) for item in plan.files] == [("d/a", 0o755, 5)]
    assert {(item.path, item.target) for item in plan.links} == {("up", "./../.."), ("dangling", "/nowhere/")}


def test_what_cannot_be_copied_as_it_is_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    (tmp_path / "link").symlink_to(os.fsdecode(b"\xff"))
    plan = _plan(tmp_path)
    assert sorted(plan.skipped, key=lambda skipped: skipped.path) == [
        Skipped("\\udcff", "its name is not UTF-8"),
        Skipped("fifo", "it is no file, folder or link"),
        Skipped("link", "the link's target is not UTF-8"),
    ]


def test_a_fifo_itself_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(WrongState, match="no file and no folder"):
        _plan(tmp_path / "fifo")


def test_nothing_there_is_the_system_s_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _plan(tmp_path / "nowhere")


def test_a_large_tree_is_scanned_in_steps_and_is_bounded(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / str(number)).touch()
    assert sum(1 for _ in scan(tmp_path, Plan())) == 2
    with pytest.raises(TooLarge):
        _plan(tmp_path, Plan(max_entries=100))
