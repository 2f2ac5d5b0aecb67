"""A recipe's own files: packed the same everywhere."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest
from cloche_hub.images import recipe_files
from cloche_hub.images.recipe_files import FilesDigest, files_digest, pack_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/motd").write_text("hello")
    (folder / "run-me").write_text("#!/bin/sh")
    (folder / "run-me").chmod(0o755)
    (folder / "link").symlink_to("/etc/shadow")
    return folder


def _members(folder: Path | None) -> list[tarfile.TarInfo]:
    return tarfile.open(fileobj=io.BytesIO(pack_files(folder))).getmembers()


def test_files_folders_and_links_are_packed_as_root_s(folder: Path) -> None:
    assert [(member.name, member.mode, member.uid, member.mtime) for member in _members(folder)] == [
        ("etc", 0o755, 0, 0),
        ("etc/motd", 0o644, 0, 0),
        ("link", 0o777, 0, 0),
        ("run-me", 0o755, 0, 0),
    ]


def test_a_link_is_packed_and_never_followed(folder: Path) -> None:
    (folder / "outside").symlink_to("/etc")

    links = [(member.name, member.linkname) for member in _members(folder) if member.issym()]

    assert links == [("link", "/etc/shadow"), ("outside", "/etc")]


def test_no_folder_is_an_empty_archive() -> None:
    assert _members(None) == []


def test_times_and_other_mode_bits_do_not_count(folder: Path) -> None:
    before = files_digest(folder)

    (folder / "etc/motd").chmod(0o600)
    os.utime(folder / "etc/motd", (1, 1))

    assert files_digest(folder) == before


@pytest.mark.parametrize("change", ["content", "name", "executable", "link"])
def test_whatever_reaches_the_image_counts(folder: Path, change: str) -> None:
    before = files_digest(folder)

    match change:
        case "content":
            (folder / "etc/motd").write_text("hellO")
        case "name":
            (folder / "etc/motd").rename(folder / "etc/issue")
        case "executable":
            (folder / "etc/motd").chmod(0o755)
        case _:
            (folder / "link").unlink()
            (folder / "link").symlink_to("/etc/passwd")

    assert files_digest(folder) != before


def test_a_pipe_among_the_files_is_refused_by_name(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(BadRequest, match="pipe: is neither a file, a folder nor a symbolic link"):
        pack_files(folder)


def test_a_folder_is_read_again_only_when_something_in_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path | None] = []

    def packing(folder: Path | None) -> bytes:
        read.append(folder)
        return pack_files(folder)

    monkeypatch.setattr(recipe_files, "pack_files", packing)
    (tmp_path / "a").write_text("1")
    digest = FilesDigest()
    first = digest(tmp_path)
    assert (digest(tmp_path), digest(None)) == (first, files_digest(None))
    assert read.count(tmp_path) == 1
    (tmp_path / "a").write_text("2")
    changed = digest(tmp_path)
    (tmp_path / "a").chmod(0o755)
    executable = digest(tmp_path)
    (tmp_path / "b").symlink_to("a")
    assert len({first, changed, executable, digest(tmp_path)}) == 4
    assert digest(tmp_path) == files_digest(tmp_path)
