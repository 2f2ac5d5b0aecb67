"""Consoles painted into windows of other sizes, seen in a real emulator."""

from __future__ import annotations

import random

import pytest

from cloche.cli.viewing.emulator import guest_terminal
from cloche.cli.viewing.painting import Painter
from cloche_term import Terminal, open_terminal


class _Window:
    """A window a console is painted into."""

    def __init__(self, console: Terminal, rows: int, cols: int) -> None:
        self.terminal = open_terminal(rows, cols)
        self.painter = Painter(console, rows, cols)
        self.told = b""

    def paint(self, status: str = "status") -> tuple[str, ...]:
        self.told = self.painter.frame(status)
        assert self.terminal.feed(self.told) == b""
        return self.terminal.text()

    def cursor(self) -> tuple[int, int, bool]:
        cursor = self.terminal.cursor
        return cursor.row, cursor.col, cursor.is_visible


def _console(rows: int, cols: int, shown: str = "") -> Terminal:
    console = guest_terminal(rows, cols)
    console.feed(shown.encode())
    return console


def test_a_larger_window_has_a_border_around_the_console_and_a_last_line() -> None:
    window = _Window(_console(2, 5, "ab\r\ncd"), 5, 8)
    assert window.paint() == ("ab   │", "cd   │", "─────┘", "", "status")
    assert window.cursor() == (1, 2, True)


def test_a_window_as_wide_has_a_border_below_only() -> None:
    assert _Window(_console(1, 6, "abcdef"), 3, 6).paint("s") == ("abcdef", "──────", "s")


def test_a_border_in_the_last_column_is_seen() -> None:
    assert _Window(_console(1, 5, "abcde"), 3, 6).paint("s") == ("abcde│", "─────┘", "s")


def test_a_smaller_window_shows_the_part_that_has_the_cursor() -> None:
    console = _console(6, 20, "\r\n".join(f"row {number}" for number in range(6)))
    window = _Window(console, 4, 4)
    assert window.paint("st") == ("w 3", "w 4", "w 5", "st")
    assert window.cursor() == (2, 3, True)
    console.feed(b"\x1b[1;1H")
    assert window.paint("st") == ("row", "row", "row", "st")
    assert window.cursor() == (0, 0, True)
    console.feed(b"\x1b[3;2H")
    window.paint("st")
    assert window.cursor() == (2, 1, True), "what is in sight moves nothing"


def test_a_hidden_cursor_stays_hidden_and_moves_nothing() -> None:
    console = _console(6, 4, "top\x1b[?25l\x1b[6;1Hend")
    window = _Window(console, 3, 4)
    assert window.paint("s") == ("top", "", "s")
    assert not window.cursor()[2]


def test_colours_reverse_video_and_the_cursor_s_shape_are_those_of_the_console() -> None:
    console = _console(2, 10, "\x1b[1;31;44mhi\x1b[0m \x1b[4:3mu\x1b[5 q\x1b[?5h")
    window = _Window(console, 4, 12)
    window.paint()
    window.terminal.update()
    assert [run.style for run in window.terminal.row(0)[:3]] == [run.style for run in console.row(0)[:3]]
    assert (window.terminal.modes.is_reversed, window.terminal.cursor.shape) == (True, console.cursor.shape)
    console.feed(b"\x1b[?5l")
    window.paint()
    assert not window.terminal.modes.is_reversed


def test_only_what_has_changed_is_painted() -> None:
    console = _console(10, 40, "hello")
    window = _Window(console, 20, 60)
    window.paint()
    assert window.paint() == window.terminal.text()
    assert window.told == b""
    console.feed(b"!")
    window.paint()
    assert window.told.count(b"hello!") == 1
    assert len(window.told) < 200
    window.paint("other")
    assert b"hello" not in window.told
    assert b"other" in window.told


def test_another_terminal_is_painted_over_the_one_before() -> None:
    window = _Window(_console(3, 40, "hello\r\nworld"), 5, 60)
    window.paint()
    window.painter.show(_console(3, 40, "hello\r\nthere"))
    assert window.paint()[:2] == ("hello" + " " * 35 + "│", "there" + " " * 35 + "│")
    assert b"hello" not in window.told


def test_the_last_line_cannot_be_written_by_who_is_named_in_it() -> None:
    console = _console(2, 20)
    assert _Window(console, 3, 30).paint("ann\x1b[2J\nq")[2] == "ann\\x1b[2J\\nq"
    assert _Window(console, 3, 12).paint("a long status line")[2] == "a long sta…"


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 30), (2, 1), (3, 2)])
def test_a_tiny_window_is_painted_without_scrolling(rows: int, cols: int) -> None:
    window = _Window(_console(5, 10, "hello\r\nworld"), rows, cols)
    window.paint()
    assert window.terminal.first_line == 0


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_the_window_shows_that_part_of_the_console(seed: int) -> None:
    happening = random.Random(seed)
    console = guest_terminal(12, 30)
    window = _Window(console, happening.randint(2, 20), happening.randint(2, 50))
    for _ in range(30):
        row, col = happening.randint(1, 12), happening.randint(1, 30)
        text = happening.choice(["word", "\x1b[2K", "\x1b[31mred", "漢字", "\n\n", "\x1b[1L", "\x1b[m\x1b[J"])
        console.feed(f"\x1b[{row};{col}H{text}".encode())
        if happening.random() < 0.1:
            console.resize(happening.randint(1, 15), happening.randint(2, 40))
        shown = window.paint("s")
        top, left = window.painter._top, window.painter._left
        height, width = window.terminal.rows - 1, window.terminal.cols
        if left == 0 and console.cols <= width:
            expected = [line[:width] for line in console.text()[top : top + height]]
            assert [line.split("│")[0].rstrip() for line in shown[: len(expected)]] == expected
