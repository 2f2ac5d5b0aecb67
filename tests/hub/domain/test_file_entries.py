"""What is taken from a guest's account of its files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.file_entries import (
    MAX_BATCH,
    MAX_FILE,
    parse_batch,
    parse_count,
    parse_entry,
    parse_file_entry,
)
from cloche_hub.errors import SenselessAnswer

FILE: dict[str, Any] = {
    "name": "a",
    "path": "/srv/a",
    "kind": "file",
    "size_bytes": 3,
    "mode": 0o644,
    "uid": 1000,
    "gid": 0,
    "mtime_ns": 1,
}
LINK = {**FILE, "kind": "link", "target": "../b"}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@pytest.mark.parametrize(
    "entry",
    [
        FILE,
        LINK,
        {**FILE, "kind": "other", "mtime_ns": -1},
        {**FILE, "name": "/", "path": "/", "kind": "dir"},
        {**FILE, "name": "a\nb", "path": "/a\nb"},
        {**FILE, "uid": (1 << 32) - 1, "size_bytes": MAX_FILE, "mode": 0o7777},
    ],
)
def test_a_sound_entry_is_told_as_it_is(entry: dict[str, Any]) -> None:
    assert parse_entry(entry) == entry
    assert parse_entry({**entry, "motd": "x" * 9999}) == entry


def test_names_that_are_no_text_are_told_with_escapes_and_marked() -> None:
    entry = {**FILE, "name": b"a\xff", "path": b"/srv/a\xff"}
    assert parse_entry(entry) == {**FILE, "name": "a\\xff", "path": "/srv/a\\xff", "unusable": True}
    assert parse_entry({**LINK, "target": b"\xff"}) == {**LINK, "target": "\\xff"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": "b"}, "path"),
        ({"name": ".."}, "name"),
        ({"name": ".", "path": "/srv/."}, "name"),
        ({"name": "..", "path": "/srv/.."}, "name"),
        ({"name": "", "path": "/srv/"}, "name"),
        ({"name": "srv/a"}, "name"),
        ({"name": "../a"}, "name"),
        ({"name": "/"}, "name"),
        ({"name": "a\0", "path": "/a\0"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"name": "x" * 256, "path": "/" + "x" * 256}, "name"),
        ({"name": None}, "name"),
        ({"name": 1}, "name"),
        ({"path": "srv/a"}, "path"),
        ({"path": "a"}, "path"),
        ({"path": "/" + "x" * 9000 + "/a"}, "path"),
        ({"path": "/s\0v/a"}, "path"),
        ({"path": ["/srv/a"]}, "path"),
        ({"kind": "socket"}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": ["file"]}, "kind"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 1 << 63}, "size_bytes"),
        ({"size_bytes": True}, "size_bytes"),
        ({"size_bytes": 1.0}, "size_bytes"),
        ({"mode": 0o100644}, "mode"),
        ({"uid": 1 << 32}, "uid"),
        ({"gid": None}, "gid"),
        ({"mtime_ns": -(1 << 64)}, "mtime_ns"),
        ({"target": "b"}, "target"),
        ({"kind": "link", "target": ""}, "target"),
        ({"kind": "link", "target": "x" * 4096}, "target"),
        ({"kind": "link", "target": "a\0"}, "target"),
        ({"kind": "link", "target": 5}, "target"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused_by_its_fields_name(
    change: dict[str, Any], named: str
) -> None:
    with pytest.raises(SenselessAnswer, match=rf"makes no sense: {named}$"):
        parse_entry({**FILE, **change})


@pytest.mark.parametrize("said", [None, [], "file", 7])
def test_what_is_no_map_is_no_entry(said: object) -> None:
    with pytest.raises(SenselessAnswer, match="no map"):
        parse_entry(said)


def test_only_a_regular_file_has_content() -> None:
    assert parse_file_entry(FILE) == FILE
    for kind in ("dir", "link", "other"):
        with pytest.raises(SenselessAnswer, match="kind"):
            parse_file_entry({**FILE, "kind": kind})


def test_a_batch_is_made_anew_entry_by_entry() -> None:
    assert parse_batch({"entries": [FILE, {**LINK, "more": 1}], "more": 2}) == [FILE, LINK]


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        [FILE],
        {},
        {"entries": None},
        {"entries": []},
        {"entries": FILE},
        {"entries": [FILE] * (MAX_BATCH + 1)},
        {"entries": [FILE, {**FILE, "name": ".."}]},
        {"entries": [{**FILE, "name": "/", "path": "/"}]},
    ],
)
def test_a_batch_that_makes_no_sense_is_refused(message: object) -> None:
    with pytest.raises(SenselessAnswer, match="makes no sense"):
        parse_batch(message)


def test_a_count_is_a_whole_number() -> None:
    assert parse_count({"removed": 0}, "removed") == 0
    for wrong in (-1, True, None, "1", 1 << 63):
        with pytest.raises(SenselessAnswer, match="removed"):
            parse_count({"removed": wrong}, "removed")


@given(field=st.sampled_from([*LINK, "entries"]), value=anything)
def test_whatever_a_guest_says_is_told_as_an_entry_or_refused(field: str, value: object) -> None:
    try:
        entry = parse_entry({**LINK, field: value})
    except SenselessAnswer:
        return
    assert entry.keys() - {"target", "unusable"} == FILE.keys()
    assert "/" not in entry["name"]
    assert entry["name"] not in ("", ".", "..")
