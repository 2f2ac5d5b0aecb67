"""Lines are numbered from the first one ever written."""

from __future__ import annotations

import random

import pytest

from cloche_term.on_ghostty.line_numbers import LineNumbers
from cloche_term.opening import restore
from tests.term.on_ghostty.conftest import NativeOpener, Opener


def _numbered(begin: int, end: int) -> bytes:
    return b"".join(b"%d\r\n" % number for number in range(begin, end))


def test_a_line_that_says_its_number_is_found_under_it(opened: Opener) -> None:
    terminal = opened(5, 20, _numbered(0, 300))
    assert terminal.first_line == 296
    assert terminal.text()[:2] == ("296", "297")
    assert terminal.lines(100, 103) == ("100", "101", "102")


@pytest.mark.parametrize("cols", [20, 1000])
def test_numbers_go_on_when_old_lines_are_dropped(cols: int, opened: Opener) -> None:
    terminal = opened(5, cols)
    # As much as fits in no piece, and much more than is kept.
    terminal.feed(_numbered(0, 200_000))
    assert terminal.first_line == 199_996
    assert terminal.scrollback_rows < 20_000
    assert terminal.text()[0] == "199996"
    assert terminal.lines(199_990, 199_992) == ("199990", "199991")
    assert terminal.lines(0, 5) == ()


def test_numbers_are_the_same_in_whatever_pieces_output_comes(opened: Opener) -> None:
    chance, data = random.Random(7), _numbered(0, 5_000)
    terminal = opened(5, 20)
    while data:
        size = chance.choice((1, 3, 100, 20_000))
        terminal.feed(data[:size])
        data = data[size:]
    assert terminal.first_line == 4_996


def test_a_program_that_clears_its_scrollback_takes_no_number_back(opened: Opener) -> None:
    terminal = opened(5, 20, _numbered(0, 300))
    terminal.feed(b"\x1b[3J")
    assert (terminal.first_line, terminal.scrollback_rows) == (296, 0)
    terminal.feed(_numbered(300, 310))
    assert terminal.first_line == 306
    terminal.feed(_numbered(310, 320) + b"\x1b[H\x1b[2J\x1b[3J")
    assert terminal.first_line >= 306
    terminal.feed(b"\x1bc")
    assert terminal.first_line >= 306


def test_numbers_stand_still_on_the_alternate_screen_and_go_on_behind_it(opened: Opener) -> None:
    terminal = opened(5, 20, _numbered(0, 300))
    terminal.feed(b"\x1b[?1049h" + b"\n" * 100)
    assert terminal.first_line == 296
    terminal.feed(b"\x1b[?1049l" + _numbered(300, 310))
    assert terminal.first_line == 306


def test_lines_a_taller_screen_takes_back_have_their_numbers(opened: Opener) -> None:
    terminal = opened(5, 20, _numbered(0, 300))
    terminal.resize(10, 20)
    assert terminal.text()[0] == str(terminal.first_line)
    terminal.resize(3, 20)
    assert terminal.text()[0] == str(terminal.first_line)


def test_a_stored_terminal_goes_on_counting(opened: Opener) -> None:
    restored = restore(opened(5, 20, _numbered(0, 300)).snapshot())
    restored.feed(_numbered(300, 310))
    assert restored.first_line == 306
    restored.close()


def test_a_terminal_stored_on_its_alternate_screen_goes_on_counting_when_it_has_left_it(
    opened: Opener,
) -> None:
    first = opened(5, 20, _numbered(0, 290))
    first.feed(_numbered(290, 300) + b"\x1b[?1049h")  # what scrolled before the switch is not counted yet
    restored = restore(first.snapshot())
    assert restored.first_line == 296
    restored.feed(b"\x1b[?1049l" + _numbered(300, 310))
    assert restored.first_line == 306
    restored.close()


def test_newlines_stand_for_lines_where_the_known_row_is_gone(native: NativeOpener) -> None:
    terminal = native(5, 20, b"\n\n\n\n")
    lines = LineNumbers(terminal, first_line=7)
    terminal.write(b"\x1bc")
    lines.follow(terminal.look(), b"a\nb\nc")
    assert lines.first_line == 9
    lines.close()
    lines.close()
