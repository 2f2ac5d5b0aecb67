"""What can be a path for a client, and a file's name for a guest."""

from __future__ import annotations

import pytest

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.paths import (
    MAX_GUEST_PATH,
    MAX_NAME,
    MAX_PATH,
    check_path,
    is_absolute_path,
    is_file_name,
    parse_folder,
    parse_path,
)
from cloche_hub.errors import BadRequest

LONGEST = "/" + "é" * 2047
"""Of bytes, not of characters."""


@pytest.mark.parametrize(
    "path", [".", "..", "/", "a b", "../../etc/passwd", "line\nline", "\x1b[2J", LONGEST]
)
def test_any_text_of_some_length_can_be_a_path(path: str) -> None:
    assert check_path("path", path) == path
    assert parse_path(Fields({"path": path})) == path


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "to is empty"),
        (LONGEST + "x", f"to is 4096 bytes; the limit of a path is {MAX_PATH}"),
        ("a\0b", "to holds a character"),
        ("\ud800", "to holds a character"),
        (b"/tmp", "to must be a text, not bytes"),
        (7, "to must be a text, not a number"),
    ],
)
def test_what_can_be_no_path_is_refused_by_the_fields_name(value: object, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        check_path("to", value)
    with pytest.raises(BadRequest, match=r"^to "):
        parse_path(Fields({"to": value}), "to")


def test_a_path_that_must_be_there_is_missed() -> None:
    with pytest.raises(BadRequest, match="path is missing"):
        parse_path(Fields({}))


def test_a_folder_is_absolute_or_none() -> None:
    assert parse_folder(Fields({"cwd": "/srv"}), "cwd") == "/srv"
    assert parse_folder(Fields({}), "cwd") is None
    for wrong in ("srv", "", "/" + "x" * MAX_PATH):
        with pytest.raises(BadRequest, match="cwd must be an absolute path"):
            parse_folder(Fields({"cwd": wrong}), "cwd")


@pytest.mark.parametrize("name", [b"a", b"...", b".bashrc", b"a b\n", b"\xff", b"x" * MAX_NAME])
def test_one_component_is_a_name(name: bytes) -> None:
    assert is_file_name(name)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/", b"../x", b"a\0", b"x" * (MAX_NAME + 1)])
def test_what_would_lead_elsewhere_is_no_name(name: bytes) -> None:
    assert not is_file_name(name)


def test_a_guests_path_is_absolute_bounded_and_without_nul() -> None:
    assert is_absolute_path(b"/")
    assert is_absolute_path(b"/" + b"x" * (MAX_GUEST_PATH - 1))
    for wrong in (b"", b"tmp", b"/a\0", b"/" + b"x" * MAX_GUEST_PATH):
        assert not is_absolute_path(wrong)
