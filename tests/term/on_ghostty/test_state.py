"""The state beside the cells, as the sequences that set it."""

from __future__ import annotations

import pytest

from cloche_term.on_ghostty import state
from cloche_term.terminal import Cursor, CursorShape
from tests.term.on_ghostty.conftest import NativeOpener


def test_a_terminal_just_reset_says_nothing_but_where_its_cursor_is(native: NativeOpener) -> None:
    terminal = native()
    assert state.place(terminal) == "\x1b[1;1H\x1b[0m"
    assert [*state.modes(terminal), *state.palette(terminal)] == []
    assert (state.tab_stops(terminal), state.margins(terminal)) == ("", "")
    assert not state.uses_charsets(state.pen(terminal))
    assert not state.tells_other_keys(terminal)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"\x1b[?2004h\x1b[?1h", "\x1b[?1h\x1b[?2004h"),
        (b"\x1b[?25l\x1b[?7l", "\x1b[?7l\x1b[?25l"),
        (b"\x1b[4h\x1b[20h", "\x1b[4h\x1b[20h"),
        (b"\x1b[?1002h\x1b[?1006h", "\x1b[?1002h\x1b[?1006h"),
        (b"\x1b[?40h\x1b[?2026h\x1b[?1049h\x1b[?6h\x1b[?69h", ""),
    ],
)
def test_modes_are_told_where_they_are_not_as_after_a_reset(
    written: bytes, told: str, native: NativeOpener
) -> None:
    assert "".join(state.modes(native(fed=written))) == told


def test_a_cursor_waiting_to_wrap_is_told_by_its_character(native: NativeOpener) -> None:
    terminal = native(2, 4, b"abcd")
    assert state.place(terminal) == "\x1b[1;4Hd\x1b[0m"


def test_places_count_from_the_margins_in_origin_mode(native: NativeOpener) -> None:
    terminal = native(9, 20, b"\x1b[3;8r\x1b[?69h\x1b[5;10s\x1b[?6h\x1b[2;3H")
    assert state.margins(terminal) == "\x1b[?69h\x1b[3;8r\x1b[5;10s"
    assert state.place(terminal) == "\x1b[?6h\x1b[2;3H\x1b[0m"


def test_the_pen_is_told_with_its_character_sets(native: NativeOpener) -> None:
    terminal = native(fed=b"\x1b[31m\x1b(0\x0e")
    assert state.pen(terminal) == "\x1b[1;1H\x1b[0m\x1b[38;5;1m\x1b(0\x0e"
    assert state.uses_charsets(state.pen(terminal))


def test_tab_stops_are_told_where_they_are_not_the_usual_ones(native: NativeOpener) -> None:
    assert state.tab_stops(native(5, 20, b"\x1b[3g\x1b[5G\x1bH")) == "\x1b[3g\x1b[5G\x1bH\x1b[H"


def test_colors_a_program_has_changed_are_told(native: NativeOpener) -> None:
    written = b"\x1b]4;1;rgb:11/22/33\x07\x1b]10;#445566\x07\x1b]12;#010203\x07"
    assert list(state.palette(native(fed=written))) == [
        "\x1b]4;1;rgb:11/22/33\x1b\\",
        "\x1b]10;rgb:44/55/66\x1b\\",
        "\x1b]12;rgb:01/02/03\x1b\\",
    ]


def test_keys_told_in_a_new_form_are_known(native: NativeOpener) -> None:
    assert state.tells_other_keys(native(fed=b"\x1b[>4;2m"))


@pytest.mark.parametrize(
    ("shape", "blinks", "told"),
    [
        (CursorShape.BLOCK, False, ""),
        (CursorShape.BLOCK, True, "\x1b[1 q"),
        (CursorShape.BAR, False, "\x1b[6 q"),
    ],
)
def test_the_shape_of_the_cursor_is_told(shape: CursorShape, blinks: bool, told: str) -> None:
    assert state.shape(Cursor(0, 0, True, shape, blinks)) == told
