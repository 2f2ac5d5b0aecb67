"""Looking for a text in recordings: what matches, in which order, and within which bounds."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest

from cloche_hub.ports import Found, Hit
from cloche_hub.store.recordings.cast import CastEvents, Output, header_line
from cloche_hub.store.recordings.searching import EXCERPT_CHARS, Wanted, search_files
from tests.support.casts import header


class Shelf:
    """Recordings in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[tuple[str, Path, bool]] = []

    def add(self, *shown: str) -> None:
        """Each is shown at the next second."""
        events = CastEvents()
        lines = [
            line for at_s, text in enumerate(shown) for line in events.lines(Output(at_s, text.encode()))
        ]
        recording_id = f"rec_{len(self.files)}"
        path = self._folder / f"{recording_id}.cast.gz"
        path.write_bytes(gzip.compress(b"".join([header_line(header()), *lines])))
        self.files.append((recording_id, path, True))

    def search(self, text: str, *, limit: int = 9, looks: int = 1 << 20) -> Found:
        """With a clock that has so many looks in it."""
        count = itertools.count(1)
        return search_files(Wanted(text), self.files, limit=limit, is_over=lambda: next(count) > looks)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "is_found"),
    [
        ("error", "An ERROR here", True),
        ("Error", "An ERROR here", False),
        ("ERROR", "An ERROR here", True),
        ("straße", "STRAßE", True),
        ("a.c", "abc", False),
        ("größe", "GRÖSSE", False),
    ],
)
def test_case_counts_where_the_text_has_capitals(text: str, line: str, *, is_found: bool) -> None:
    assert (Wanted(text).excerpt(line) == line) is is_found


@pytest.mark.parametrize("before", [0, 50, 500, 2000])
def test_of_a_long_line_what_is_around_the_text_is_given(before: int) -> None:
    excerpt = Wanted("needle").excerpt("x" * before + "needle" + "y" * 2000)
    assert excerpt is not None
    assert "needle" in excerpt
    assert len(excerpt) <= EXCERPT_CHARS + 2
    assert excerpt.endswith("…")
    assert excerpt.startswith("…") == (before > EXCERPT_CHARS)


def test_hits_are_lines_with_their_times(shelf: Shelf) -> None:
    shelf.add("$ make\r\n", "\x1b[31mfatal: no\x1b[0m such file\r\n")
    shelf.add("nothing\r\n")
    shelf.add("fatal")
    assert shelf.search("fatal") == Found(
        (Hit("rec_0", 1, "fatal: no such file"), Hit("rec_2", 0, "fatal")), 0
    )


def test_no_more_hits_than_asked_for_and_what_was_left_is_told(shelf: Shelf) -> None:
    for _ in range(3):
        shelf.add("a\r\na\r\n")
    assert [hit.recording for hit in shelf.search("a", limit=3).hits] == ["rec_0", "rec_0", "rec_1"]
    assert shelf.search("a", limit=3).omitted == 2
    # Those that were looked through to the end are not left.
    assert shelf.search("a", limit=4).omitted == 1
    assert shelf.search("a", limit=6).omitted == 0


def test_a_search_ends_when_its_time_is_over(shelf: Shelf) -> None:
    for _ in range(3):
        shelf.add("a\r\n", "a\r\n")
    assert shelf.search("a", looks=0) == Found((), 3)
    found = shelf.search("a", looks=4)
    assert (len(found.hits), found.omitted) == (3, 2)


def test_a_recording_that_is_gone_or_damaged_keeps_the_others_from_nobody(shelf: Shelf) -> None:
    for _ in range(4):
        shelf.add("a\r\n")
    shelf.files[0][1].unlink()
    shelf.files[1][1].write_bytes(b"no gzip")
    shelf.files[2][1].write_bytes(gzip.compress(b"{}\nno json\n"))
    assert shelf.search("a") == Found((Hit("rec_3", 0, "a"),), 0)
