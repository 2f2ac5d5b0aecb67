"""Writing files that last, and what is said of a disk that cannot."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.store import disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_the_way_out(number: int) -> None:
    with (
        pytest.raises(NoSpace, match="cannot keep it: the disk of the hub's home is full; free"),
        disk.told("keep it"),
    ):
        raise OSError(number, os.strerror(number))


def test_another_failure_is_told_with_the_systems_words() -> None:
    with pytest.raises(StoreFailed, match="cannot keep it: Input/output error"), disk.told("keep it"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_folder_is_private_and_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    disk.make_folder(folder)
    disk.make_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_takes_its_place_whole_and_private(tmp_path: Path) -> None:
    place, new = tmp_path / "file", tmp_path / "file.new"
    place.write_bytes(b"before")
    new.write_bytes(b"left by somebody who was killed")
    descriptor = disk.open_new(new)
    disk.write_all(descriptor, b"after")
    assert place.read_bytes() == b"before"
    disk.put_in_place(descriptor, new, place)
    os.close(descriptor)
    assert place.read_bytes() == b"after"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [place]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "new").symlink_to(victim)
    descriptor = disk.open_new(tmp_path / "new")
    disk.write_all(descriptor, b"x")
    os.close(descriptor)
    assert victim.read_bytes() == b"precious"


def test_a_name_that_may_not_last_is_no_plain_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(disk, "sync_folder", fail)
    descriptor = disk.open_new(tmp_path / "new")
    try:
        with pytest.raises(StoreFailed, match=r"cannot keep .*place: Input/output error"):
            disk.put_in_place(descriptor, tmp_path / "new", tmp_path / "place")
    finally:
        os.close(descriptor)
    assert (tmp_path / "place").exists()


def test_what_the_system_takes_in_parts_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    written = bytearray()

    def write_some(_descriptor: int, data: memoryview) -> int:
        written.extend(data[:3])
        return len(data[:3])

    monkeypatch.setattr(os, "write", write_some)
    disk.write_all(0, b"0123456789")
    assert bytes(written) == b"0123456789"
