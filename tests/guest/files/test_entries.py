"""A file, as the hub is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_guest.files.entries import entry, look_at, read_target


def test_an_entry_says_what_the_kernel_says(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    path.chmod(0o4640)
    os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    status = path.stat()
    assert look_at(os.fsencode(path), follow=True) == {
        "name": "f",
        "path": str(path),
        "kind": "file",
        "size_bytes": 5,
        "mode": 0o4640,
        "uid": status.st_uid,
        "gid": status.st_gid,
        "mtime_ns": 1_234_567_890_123_456_789,
    }


def test_a_link_is_seen_itself_or_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("somewhere")
    seen = look_at(os.fsencode(tmp_path / "link"), follow=False)
    assert (seen["kind"], seen["target"]) == ("link", "somewhere")
    with pytest.raises(FileNotFoundError):
        look_at(os.fsencode(tmp_path / "link"), follow=True)
    (tmp_path / "somewhere").mkdir()
    followed = look_at(os.fsencode(tmp_path / "link"), follow=True)
    assert (followed["kind"], followed["name"], "target" in followed) == ("dir", "link", False)


def test_what_is_neither_file_nor_folder_nor_link_is_other(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert look_at(os.fsencode(tmp_path / "pipe"), follow=True)["kind"] == "other"


def test_the_root_folder_has_a_name() -> None:
    assert look_at(b"/", follow=True)["name"] == "/"


def test_names_that_are_no_text_are_bytes(tmp_path: Path) -> None:
    status = tmp_path.stat()
    made = entry(b"/a/\xff", status, b"\xfe")
    assert (made["name"], made["path"], made["target"]) == (b"\xff", b"/a/\xff", b"\xfe")


def test_a_link_that_is_gone_has_no_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("somewhere")
    status = (tmp_path / "link").lstat()
    (tmp_path / "link").unlink()
    assert read_target(os.fsencode(tmp_path / "link"), status) is None
