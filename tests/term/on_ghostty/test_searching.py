"""Text found in scrollback and screen."""

from __future__ import annotations

import resource

from cloche_term.on_ghostty.searching import MOST_NEEDLE_BYTES
from cloche_term.terminal import Match
from tests.term.on_ghostty.conftest import Opener

_LINES = "\r\n".join(f"line {number} Föö 日本" for number in range(100)).encode()


def test_matches_are_told_by_line_column_and_cells_the_newest_last(opened: Opener) -> None:
    terminal = opened(5, 30, _LINES)
    assert terminal.search("föö", limit=2) == (Match(98, 8, 3), Match(99, 8, 3))
    assert terminal.search("日本", limit=1) == (Match(99, 12, 4),)
    (match,) = terminal.search("LINE 42")
    assert terminal.lines(match.line, match.line + 1)[0].startswith("line 42")
    assert len(terminal.search("line")) == 100


def test_a_match_is_found_where_a_line_was_wrapped(opened: Opener) -> None:
    assert opened(5, 10, b"12345678needle").search("needle") == (Match(0, 8, 6),)


def test_what_is_not_there_is_not_found(opened: Opener) -> None:
    terminal = opened(5, 30, _LINES)
    assert terminal.search("nowhere") == ()
    assert terminal.search("") == ()
    assert terminal.search("line", limit=0) == ()
    assert terminal.search("x" * MOST_NEEDLE_BYTES * 2) == ()


def test_numbers_of_lines_are_those_of_the_console_when_old_ones_are_gone(opened: Opener) -> None:
    terminal = opened(5, 20, b"".join(b"%d\r\n" % number for number in range(100_000)))
    (match,) = terminal.search("99950")
    assert match == Match(99_950, 0, 5)
    assert terminal.lines(match.line, match.line + 1) == ("99950",)


def test_a_search_changes_neither_view_nor_screen(opened: Opener) -> None:
    terminal = opened(5, 30, _LINES)
    terminal.scroll(-10)
    terminal.update()
    before = terminal.view_line
    terminal.search("line")
    assert terminal.view_line == before
    assert terminal.update() == []


def test_the_screen_that_is_on_is_searched(opened: Opener) -> None:
    terminal = opened(5, 30, b"shell\x1b[?1049h\x1b[Heditor")
    assert terminal.search("shell") == ()
    assert terminal.search("editor") == (Match(0, 0, 6),)


def test_only_the_newest_are_told_of_more_matches_than_anybody_wants(opened: Opener) -> None:
    terminal = opened(5, 20, b"x\r\n" * 9_000)
    assert [match.line for match in terminal.search("x", limit=3)] == [8997, 8998, 8999]


def test_a_screen_full_of_matches_costs_no_more_than_are_wanted(opened: Opener) -> None:
    terminal = opened(50, 200, b"a" * 2_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(terminal.search("a", limit=10)) == 10
    # All of them would take some 800 MiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_what_a_narrower_screen_has_made_more_rows_of_is_found_where_it_can_be_read(opened: Opener) -> None:
    terminal = opened(4, 40)
    terminal.feed(b"".join(b"%030d mark\r\n" % number for number in range(9)))
    terminal.resize(4, 6)
    found = terminal.search("mark")
    assert len(found) == 9
    assert found[0].line < 0
    for line, col, _ in found:
        (text,) = terminal.lines(line, line + 1)
        assert text[col:].startswith("mark")
        terminal.scroll_to(line)
        assert terminal.view_line <= line < terminal.view_line + 4
