"""Lines of runs as the bytes that print them."""

from __future__ import annotations

from cloche_term.on_ghostty.painting import Line, paint
from cloche_term.terminal import PLAIN, Run, Style

_RED = Style(foreground=1)
_LINKED = Style(is_link=True)


def _line(*runs: Run, is_wrapped: bool = False, has_filler: bool = False, begins_wide: bool = False) -> Line:
    return Line(runs, is_wrapped, has_filler, begins_wide)


def _painted(*lines: Line) -> str:
    return "".join(paint(lines, lambda number, col: f"http://{number}/{col // 2}"))


def test_lines_are_printed_below_each_other_without_blanks_at_their_ends() -> None:
    assert (
        _painted(_line(Run("ab  ", PLAIN, 4)), _line(Run("    ", PLAIN, 4)), _line(Run("c   ", PLAIN, 4)))
        == "ab\r\n\r\nc"
    )


def test_blanks_of_a_color_are_printed() -> None:
    blue = Style(background=4)
    assert _painted(_line(Run("a ", PLAIN, 2), Run("  ", blue, 2))) == "a \x1b[0;44m  \x1b[0m"


def test_a_wrapped_line_goes_on_without_a_break_and_what_is_behind_it_is_erased() -> None:
    assert _painted(
        _line(Run("ab", _RED, 2), is_wrapped=True), _line(Run("c", _RED, 1), Run(" ", PLAIN, 1))
    ) == ("\x1b[0;31mab\x1b[0m\x1b[0;31mc\x1b[0m\x1b[K")


def test_a_wrapped_line_that_goes_on_with_nothing_still_reaches_its_next_row() -> None:
    assert _painted(_line(Run("ab", PLAIN, 2), is_wrapped=True), _line(Run("  ", PLAIN, 2))) == "ab \x1b[K"


def test_a_wrap_of_the_last_line_has_nowhere_to_go() -> None:
    assert _painted(_line(Run("ab", PLAIN, 2), is_wrapped=True)) == "ab"


def test_a_blank_before_a_wide_character_that_had_no_room_is_left_to_the_terminal() -> None:
    wide = _line(Run("日 ", PLAIN, 3), begins_wide=True)
    assert _painted(_line(Run("ab ", PLAIN, 3), is_wrapped=True, has_filler=True), wide) == "ab日\x1b[K"
    assert (
        _painted(_line(Run("ab", PLAIN, 2), Run(" ", _RED, 1), is_wrapped=True, has_filler=True), wide)
        == "ab日\x1b[K"
    )
    narrow = _line(Run("x  ", PLAIN, 3))
    assert _painted(_line(Run("ab ", PLAIN, 3), is_wrapped=True, has_filler=True), narrow) == "ab x\x1b[K"


def test_the_column_is_said_after_characters_whose_width_is_in_doubt() -> None:
    assert _painted(_line(Run("日本", PLAIN, 4), Run("x", _RED, 1))) == "日本\x1b[5G\x1b[0;31mx\x1b[0m"


def test_links_are_printed_and_told_apart() -> None:
    assert _painted(_line(Run("abc", _LINKED, 3), Run("d", PLAIN, 1))) == (
        "\x1b[0m\x1b]8;;http://0/0\x1b\\ab\x1b]8;;http://0/1\x1b\\c\x1b[0m\x1b]8;;\x1b\\d"
    )
    assert _painted(_line(Run("日", _LINKED, 2))) == "\x1b[0m\x1b]8;;http://0/0\x1b\\日\x1b]8;;\x1b\\\x1b[0m"
