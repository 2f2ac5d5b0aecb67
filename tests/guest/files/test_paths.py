"""Which file a path means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_guest.files import paths
from cloche_wire.errors import BadRequest


@pytest.mark.parametrize(
    ("asked", "home", "meant"),
    [
        ("notes.txt", "/home/user", b"/home/user/notes.txt"),
        (".", "/home/user", b"/home/user"),
        ("a/b/", "/home/user", b"/home/user/a/b"),
        ("/etc/passwd", "/home/user", b"/etc/passwd"),
        ("//etc///passwd", "/home/user", b"/etc/passwd"),
        ("../other/./x", "/home/user", b"/home/other/x"),
        ("../../../../x", "/home/user", b"/x"),
        ("/..", "/home/user", b"/"),
        ("x", "/", b"/x"),
        ("x", "relative", b"/relative/x"),
        ("~/x", "/home/user", b"/home/user/~/x"),
        ("größe 大", "/h", "/h/größe 大".encode()),
        ("x", "/h\udcff", b"/h\xff/x"),
    ],
)
def test_a_path_is_absolute_and_normalised(asked: str, home: str, meant: bytes) -> None:
    assert paths.resolve(asked, home) == meant


@pytest.mark.parametrize(
    ("asked", "words"), [("", "empty"), ("a\0b", "NUL"), ("x" * 4097, "4097 bytes"), ("\ud800", "text")]
)
def test_what_is_no_path_is_refused(asked: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        paths.resolve(asked, "/home/user")


def test_the_longest_path_is_counted_in_bytes() -> None:
    assert len(paths.resolve("/" + "ä" * 2047, "/")) == 4095
    with pytest.raises(BadRequest, match="4097 bytes"):
        paths.resolve("/" + "ä" * 2048, "/")


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=50))
def test_a_resolved_path_means_itself(asked: str) -> None:
    once = paths.resolve(asked, "/home/user")
    assert once.startswith(b"/")
    assert not once.startswith(b"//")
    assert not {b".", b".."} & set(once.split(b"/"))
    assert paths.resolve(once.decode(), "/elsewhere") == once


def test_a_path_is_split_into_folder_and_name() -> None:
    assert [paths.split(path) for path in (b"/", b"/a", b"/a/b")] == [
        (b"/", b""), (b"/", b"a"), (b"/a", b"b"),
    ]  # fmt: skip


def test_a_link_leads_on_from_where_it_stands() -> None:
    assert paths.follow(b"/a/link", b"../b") == b"/a/../b"
    assert paths.follow(b"/a/link", b"/b") == b"/b"


def test_a_temporary_name_is_hidden_and_short() -> None:
    assert paths.temporary_name(b"\x01\xff") == b".cloche-01ff.part"


def test_a_name_that_is_no_text_stays_bytes() -> None:
    assert paths.as_text("ä".encode()) == "ä"
    assert paths.as_text(b"\xff") == b"\xff"


def test_a_path_in_a_message_is_one_short_line() -> None:
    assert paths.shown(b"/a/b c") == "/a/b c"
    assert paths.shown(b"/a\nb") == repr("/a\nb")
    assert paths.shown(b"/\xff") == "/\\xff"
    assert len(paths.shown(b"/" + b"x" * 4000)) == 201
