"""Another size for the fallback's board; what a resize shows is also among the terminal cases."""

from __future__ import annotations

from cloche_term.on_bittty import BitttyTerminal


def terminal_with(data: bytes, *, rows: int = 4, cols: int = 10) -> BitttyTerminal:
    terminal = BitttyTerminal(rows, cols)
    terminal.feed(data)
    return terminal


def test_the_primary_screen_shrinks_and_grows_behind_the_alternate_one() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[Halt")
    terminal.resize(2, 10)
    assert terminal.text() == ("alt", "")
    terminal.feed(b"\x1b[?1049l")
    assert (terminal.text(), terminal.cursor.row, terminal.first_line) == (("3", "4"), 1, 2)


def test_the_alternate_screen_keeps_the_rows_at_its_cursor() -> None:
    terminal = terminal_with(b"\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4")
    terminal.resize(2, 10)
    assert (terminal.text(), terminal.cursor.row) == (("3", "4"), 1)


def test_a_cursor_above_the_end_leaves_with_its_rows() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\x1b[2;1H")
    terminal.resize(2, 10)
    assert (terminal.text(), terminal.cursor.row) == (("3", "4"), 0)
    terminal.resize(4, 10)
    assert terminal.text() == ("3", "4", "", "")


def test_a_wrapped_line_comes_back_from_the_scrollback_as_one() -> None:
    terminal = terminal_with(b"abcdefghijkl\r\n1\r\n2\r\n3")
    assert terminal.first_line == 1
    terminal.resize(5, 10)
    terminal.resize(5, 20)
    assert terminal.text() == ("abcdefghijkl", "1", "2", "3", "")


def test_one_column_has_no_room_for_a_wide_character() -> None:
    terminal = terminal_with("日本".encode())
    terminal.resize(4, 1)
    assert terminal.update() == [0, 1, 2, 3]
    assert [sum(run.cells for run in terminal.row(y)) for y in range(4)] == [1] * 4


def test_a_line_that_began_in_the_scrollback_is_wrapped_as_one() -> None:
    terminal = terminal_with(b"abcdefghij" * 5 + b"\r\nend", rows=3)
    assert terminal.first_line == 3
    terminal.resize(3, 25)
    assert terminal.text() == ("abcdefghij" * 2 + "abcde", "fghij" + "abcdefghij" * 2, "end")
    assert (terminal.first_line, terminal.cursor.row, terminal.cursor.col) == (0, 2, 3)


def test_a_cleared_screen_stays_cleared_in_another_width() -> None:
    terminal = terminal_with(b"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2J\x1b[Hprompt")
    terminal.resize(4, 20)
    assert terminal.text() == ("prompt", "", "", "")


def test_the_primary_screen_is_wrapped_anew_behind_the_alternate_one() -> None:
    terminal = terminal_with(b"abcdefgh\x1b[?1049h\x1b[Halternate")
    terminal.resize(4, 5)
    assert terminal.text() == ("alter", "", "", "")
    terminal.feed(b"\x1b[?1049lx")
    assert terminal.text() == ("abcde", "fghx", "", "")


def test_no_text_is_lost_below_a_cursor_in_the_first_row() -> None:
    terminal = terminal_with(b"abcdefgh\r\nijklmnop\r\nqrstuvwx\x1b[H", rows=3)
    terminal.resize(3, 4)
    assert terminal.lines(0, 9) == ("abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx")
    assert (terminal.text(), terminal.cursor.row) == (("mnop", "qrst", "uvwx"), 0)


def test_a_cursor_that_waits_behind_the_alternate_screen_is_kept_on_a_screen_that_shrinks() -> None:
    terminal = BitttyTerminal(24, 80, scrollback_lines=100)
    terminal.feed(b"text\x1b[24;70H\x1b[?1049h")
    for rows, cols in ((5, 80), (5, 40), (1, 1), (24, 80)):
        terminal.resize(rows, cols)
    terminal.feed(b"\x1b[?1049l")
    assert terminal.cursor.row < 24
    assert len(terminal.text()) == 24
