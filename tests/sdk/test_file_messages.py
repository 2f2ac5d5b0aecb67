"""What the hub says of files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.file_messages import FileEntry, Passed

ENTRY: dict[str, Any] = {
    "name": "a", "path": "/home/user/a", "kind": "file", "size_bytes": 3, "mode": 0o644, "uid": 1000, "gid": 1000,
    "mtime_ns": 1_767_323_045_678_901_234,
}  # fmt: skip


def test_an_entry_is_read_field_by_field() -> None:
    entry = FileEntry.parse({**ENTRY, "novelty": 1})
    assert entry == FileEntry(
        "a", "/home/user/a", "file", 3, 0o644, 1000, 1000, ENTRY["mtime_ns"], None, False
    )
    assert entry.modified_at == datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def test_links_say_where_they_lead_and_names_that_are_no_text_are_marked() -> None:
    entry = FileEntry.parse({**ENTRY, "kind": "link", "target": "b", "unusable": True})
    assert (entry.target, entry.unusable) == ("b", True)


@pytest.mark.parametrize("mtime_ns", [1 << 63, -(1 << 62), (1 << 64) - 1])
def test_a_time_no_date_can_say_is_the_beginning_of_time(mtime_ns: int) -> None:
    moment = FileEntry.parse({**ENTRY, "mtime_ns": mtime_ns}).modified_at
    assert moment.tzinfo is UTC


@pytest.mark.parametrize("key", sorted(ENTRY))
def test_a_field_that_is_missing_or_of_another_type_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=key):
        FileEntry.parse({**ENTRY, key: None})
    with pytest.raises(InternalError, match=key):
        FileEntry.parse({**ENTRY, key: b"x"})


def test_what_passed_has_a_size_and_a_hash() -> None:
    assert Passed.parse({"size_bytes": 3, "sha256": "ab"}) == Passed(3, "ab")
    with pytest.raises(InternalError, match="sha256"):
        Passed.parse({"size_bytes": 3})
