"""A person's own small files: what is in their place is read, or refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche.errors import BadRequest
from cloche_tui.own_files import parse_toml, read_own_file, typed_path, write_new


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"abcdef")
    assert read_own_file(tmp_path / "own", 4) == b"abcd"


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("own")
    assert read_own_file(tmp_path / "link", 4) == b"abc"


def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match=r"plain file|directory"):
            read_own_file(path, 4)


def test_another_user_s_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").write_bytes(b"abc")
    owner = (tmp_path / "own").stat().st_uid
    monkeypatch.setattr(os, "fstat", lambda _fd: os.stat_result((0o100644, 0, 0, 1, owner + 1, *[0] * 5)))
    with pytest.raises(PermissionError, match="another user's"):
        read_own_file(tmp_path / "own", 4)


def test_a_typed_path_may_begin_at_a_home_and_with_any_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert typed_path("~/a") == Path("/home/ann/a")
    assert typed_path("~nobody-of-this-name/a") == Path.cwd() / "~nobody-of-this-name/a"
    assert typed_path("a") == Path.cwd() / "a"


@pytest.mark.parametrize(
    "text",
    ["[", "a = " + "[" * 30_000, "a = " + "{a=" * 10_000, "a = " + "1" * 5000, "a = \n1"],
    ids=["open", "lists", "tables", "number", "line"],
)
def test_a_text_that_is_no_toml_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        parse_toml(text)


def test_a_toml_text_is_its_tables() -> None:
    assert parse_toml('[a]\nb = "c"') == {"a": {"b": "c"}}


def test_a_new_file_is_written_with_its_folders_if_they_are_wanted(tmp_path: Path) -> None:
    write_new(tmp_path / "a/b.txt", "grün\n", parents=True)
    assert (tmp_path / "a/b.txt").read_bytes() == "grün\n".encode()


@pytest.mark.parametrize(
    ("command", "advice"), [("", "give another name"), (":save", "give another name: :save")]
)
def test_a_file_that_is_there_is_never_replaced(tmp_path: Path, command: str, advice: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(BadRequest) as refused:
        write_new(path, "new", command=command)
    assert refused.value.message == f"{path} is there already; {advice}"
    assert path.read_text() == "old"


def test_a_file_whose_folder_is_missing_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="cannot be written: No such file or directory"):
        write_new(tmp_path / "a/b.txt", "")
