"""The overlay's header, judged by QEMU's own tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cloche_hub.vm.overlay import create_overlay, overlay_chunks

needs_qemu_img = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img is not installed")


def _qemu_img(*words: str) -> str:
    return subprocess.run(["qemu-img", *words], check=True, capture_output=True, text=True, timeout=30).stdout


@needs_qemu_img
@pytest.mark.parametrize("size", [512, 1 << 30, 4 << 30, (64 << 30) + 512, 5 << 40])
def test_qemu_finds_an_empty_disk_of_that_size_without_errors(tmp_path: Path, size: int) -> None:
    os.close(create_overlay(tmp_path / "disk.qcow2", size))
    _qemu_img("check", "-q", "-f", "qcow2", str(tmp_path / "disk.qcow2"))
    info = json.loads(_qemu_img("info", "--output=json", "-f", "qcow2", str(tmp_path / "disk.qcow2")))
    assert (info["virtual-size"], info["cluster-size"]) == (size, 65536)
    assert "backing-filename" not in info


def test_it_uses_next_to_no_disk(tmp_path: Path) -> None:
    os.close(create_overlay(tmp_path / "disk.qcow2", 4 << 30))
    assert (tmp_path / "disk.qcow2").stat().st_blocks * 512 <= 64 << 10


def test_only_its_owner_may_open_it(tmp_path: Path) -> None:
    os.close(create_overlay(tmp_path / "disk.qcow2", 1 << 20))
    assert (tmp_path / "disk.qcow2").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_already_is_never_taken(tmp_path: Path) -> None:
    (tmp_path / "disk.qcow2").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        create_overlay(tmp_path / "disk.qcow2", 1 << 20)
    assert not (tmp_path / "elsewhere").exists()


def test_its_parts_do_not_overlap() -> None:
    ends_at = 0
    for offset, data in overlay_chunks(4 << 30):
        assert offset >= ends_at
        ends_at = offset + len(data)
