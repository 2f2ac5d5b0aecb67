"""The fallback behind the interface: rows that changed, the view, numbered lines, hostile output."""

from __future__ import annotations

import random

import pytest

from cloche_term.errors import SnapshotUnreadable
from cloche_term.on_bittty import BitttyTerminal
from cloche_term.on_bittty.terminal import LIBRARY
from cloche_term.snapshots import Snapshot, unpack
from cloche_term.terminal import LARGEST_SIZE, PLAIN, Run, Style
from tests.term.hostile import soup
from tests.term.looks import look_of


def terminal_with(data: bytes, *, rows: int = 3, cols: int = 10) -> BitttyTerminal:
    terminal = BitttyTerminal(rows, cols)
    terminal.feed(data)
    return terminal


def test_all_rows_are_told_at_first_and_then_only_those_that_changed() -> None:
    terminal = terminal_with(b"a\r\nb")
    assert list(terminal.update()) == [0, 1, 2]
    assert list(terminal.update()) == []
    terminal.feed(b"c\x1b[1;1Ha")
    assert list(terminal.update()) == [1]
    assert terminal.row(1) == (Run("bc        ", PLAIN, 10),)


def test_a_row_stays_as_it_was_until_the_next_update() -> None:
    terminal = terminal_with(b"a")
    terminal.update()
    terminal.feed(b"b")
    assert terminal.row(0) == (Run("a         ", PLAIN, 10),)


def test_the_view_stays_on_its_lines_while_more_is_written() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\r\n5")
    terminal.scroll(-1)
    terminal.update()
    terminal.feed(b"\r\n6\r\n7")
    assert list(terminal.update()) == []
    assert [terminal.row(y)[0].text.strip() for y in range(3)] == ["2", "3", "4"]
    assert (terminal.view_line, terminal.cursor.is_visible) == (1, False)
    terminal.scroll_to_end()
    assert list(terminal.update()) == [0, 1, 2]
    assert terminal.view_line == terminal.first_line == 4


def test_the_view_goes_no_further_than_what_is_kept() -> None:
    terminal = BitttyTerminal(3, 10, scrollback_lines=2)
    terminal.feed(b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7")
    terminal.scroll(-100)
    assert terminal.view_line == 2
    terminal.scroll(100)
    assert terminal.view_line == 4
    terminal.scroll_to(3)
    terminal.feed(b"\r\n8\r\n9")
    assert terminal.view_line == 4


def test_the_alternate_screen_is_its_own_view() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[Hx")
    terminal.scroll(-1)
    terminal.update()
    assert terminal.row(0)[0].text == "x         "
    assert terminal.view_line == terminal.first_line == 1


def test_lines_are_told_by_number_where_they_are_kept() -> None:
    terminal = BitttyTerminal(2, 10, scrollback_lines=1)
    terminal.feed(b"1\r\n2\r\n3\r\n4")
    assert terminal.lines(0, 99) == ("2", "3", "4")
    assert terminal.lines(2, 3) == ("3",)


def test_a_text_is_found_in_scrollback_and_screen() -> None:
    terminal = terminal_with(b"ab\r\n" + b"x" * 8 + b"abab\r\n1\r\n2")
    assert [(match.line, match.col) for match in terminal.search("AB")] == [(0, 0), (1, 8), (2, 0)]


def test_a_link_is_told_by_cell_also_in_the_scrollback() -> None:
    terminal = terminal_with(b"\x1b]8;;http://x\x07a\x1b]8;;\x07b\r\n2\r\n3\r\n4")
    terminal.scroll(-1)
    assert (terminal.link(0, 0), terminal.link(0, 1), terminal.link(0, 9), terminal.link(9, 9)) == (
        "http://x",
        "",
        "",
        "",
    )


@pytest.mark.parametrize("size", [(0, 1), (1, 0), (LARGEST_SIZE + 1, 1), (1, LARGEST_SIZE + 1)])
def test_no_other_size_is_taken(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        BitttyTerminal(*size)
    with pytest.raises(ValueError, match="1 to 1000"):
        BitttyTerminal(1, 1).resize(*size)


def test_a_snapshot_comes_back_with_its_colors_and_what_had_begun() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\x1b]4;1;rgb:1/2/3\x07\x1b[31mred\x1b]2;half")
    restored = BitttyTerminal.restore(unpack(terminal.snapshot()))
    assert look_of(restored) == look_of(terminal)
    assert restored.feed(b" title\x07x\x1b]4;1;?\x07") == b"\x1b]4;1;rgb:1111/2222/3333\x07"
    restored.update()
    assert (restored.title, restored.row(2)[1]) == ("half title", Run("redx", Style(foreground=1), 4))


@pytest.mark.parametrize(
    "snapshot",
    [
        Snapshot("ghostty", LIBRARY, {}, b""),
        Snapshot("bittty", "0.0.1", {}, b""),
        Snapshot("bittty", LIBRARY, {}, b"{}"),
        Snapshot("bittty", LIBRARY, {"rows": 0, "cols": 1, "unfinished": ""}, b"{}"),
        Snapshot("bittty", LIBRARY, {"rows": 1, "cols": 1, "unfinished": ""}, b"{"),
        Snapshot("bittty", LIBRARY, {"rows": 1, "cols": 1, "unfinished": ""}, b"[]"),
    ],
)
def test_a_snapshot_that_is_not_ours_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(SnapshotUnreadable):
        BitttyTerminal.restore(snapshot)


@pytest.mark.parametrize("seed", range(40))
def test_rows_told_one_by_one_are_those_of_the_whole_screen(seed: int) -> None:
    chance = random.Random(seed)
    terminal = BitttyTerminal(chance.randint(1, 8), chance.randint(1, 20), scrollback_lines=50)
    for _ in range(10):
        terminal.feed(soup(chance, chance.randint(1, 60)))
        if chance.random() < 0.3:
            terminal.resize(chance.randint(1, 8), chance.randint(1, 20))
        terminal.update()
        told = [terminal.row(y) for y in range(terminal.rows)]
        assert [row for row in told if sum(run.cells for run in row) != terminal.cols] == []
        restored = BitttyTerminal.restore(unpack(terminal.snapshot()), scrollback_lines=50)
        restored.update()
        assert told == [restored.row(y) for y in range(restored.rows)]


def test_closing_twice_is_closing_once() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4")
    terminal.close()
    terminal.close()
