"""The file of the first admin token."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cloche_hub.errors import StoreFailed
from cloche_hub.store.token_file import read_token_file, write_token_file


def test_a_token_reads_back_from_a_file_that_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    for text in ("clt_first", "clt_second"):
        write_token_file(path, text)
        assert read_token_file(path) == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_left_over_of_a_killed_hub_is_no_hindrance_and_no_way_in(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (tmp_path / "admin.token.new").symlink_to(victim)
    write_token_file(tmp_path / "admin.token", "clt_x")
    assert not victim.exists()
    assert not (tmp_path / "admin.token").is_symlink()


def test_no_file_is_no_token(tmp_path: Path) -> None:
    assert read_token_file(tmp_path / "admin.token") is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_others_could_read_or_write_is_no_token(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "admin.token"
    write_token_file(path, "clt_x")
    path.chmod(mode)
    assert read_token_file(path) is None


def test_a_link_is_no_token(tmp_path: Path) -> None:
    write_token_file(tmp_path / "elsewhere", "clt_x")
    (tmp_path / "admin.token").symlink_to(tmp_path / "elsewhere")
    assert read_token_file(tmp_path / "admin.token") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_anothers_file_is_no_token(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    write_token_file(path, "clt_x")
    os.chown(path, 12345, -1)
    assert read_token_file(path) is None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match=r"cannot write the admin token to .*: No such file"):
        write_token_file(tmp_path / "nowhere" / "admin.token", "clt_x")
