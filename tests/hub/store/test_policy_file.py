"""The file of the policy: what is read, and what is not worth reading."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_hub.domain.policy_text import MAX_POLICY_BYTES
from cloche_hub.errors import BadRequest
from cloche_hub.store.policy_file import read_policy_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def refusal(path: Path) -> str:
    with pytest.raises(BadRequest) as raised:
        read_policy_file(path)
    return raised.value.message


def test_a_file_is_read_as_it_is_and_none_is_none(path: Path) -> None:
    assert read_policy_file(path) is None
    path.write_bytes(b"a\r\n\xff")
    assert read_policy_file(path) == b"a\r\n\xff"


def test_a_link_is_followed(path: Path) -> None:
    (path.parent / "elsewhere").write_text("x")
    path.symlink_to("elsewhere")
    assert read_policy_file(path) == b"x"


def test_a_file_that_is_too_long_is_refused(path: Path) -> None:
    path.write_bytes(b"#" * MAX_POLICY_BYTES)
    assert read_policy_file(path) == b"#" * MAX_POLICY_BYTES
    path.write_bytes(b"#" * (MAX_POLICY_BYTES + 1))
    assert refusal(path) == f"{path}: is longer than 65536 bytes"


def test_a_file_everybody_may_write_is_refused(path: Path) -> None:
    path.touch(0o600)
    path.chmod(0o664)
    assert read_policy_file(path) == b""
    path.chmod(0o602)
    assert refusal(path) == f"{path}: everybody on this host may write it; make it yours: chmod o-w {path}"


def test_what_is_no_file_is_refused_without_waiting_for_it(path: Path) -> None:
    os.mkfifo(path)
    assert refusal(path) == f"{path}: is no file"
    path.unlink()
    path.mkdir()
    assert refusal(path) == f"{path}: cannot be read: Is a directory"


def test_what_cannot_be_read_is_refused_with_why(path: Path) -> None:
    path.symlink_to(path)
    assert refusal(path) == f"{path}: cannot be read: Too many levels of symbolic links"
    assert refusal(Path("/a\0b")).endswith("cannot be read: embedded null byte")
    # Its first page cannot be read.
    assert refusal(Path(f"/proc/{os.getpid()}/mem")) in (
        f"/proc/{os.getpid()}/mem: cannot be read: Input/output error",
        f"/proc/{os.getpid()}/mem: cannot be read: Permission denied",
    )
