"""Cells as runs of styled text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_term.on_ghostty import GhosttyTerminal
from cloche_term.on_ghostty import rows as rows_module
from cloche_term.on_ghostty.rows import joined
from cloche_term.terminal import PLAIN, Run, Style, Underline
from tests.term.on_ghostty.conftest import Opener


def _row(terminal: GhosttyTerminal, y: int = 0) -> tuple[Run, ...]:
    terminal.update()
    return terminal.row(y)


def test_a_row_nobody_has_written_is_one_run_of_blanks(opened: Opener) -> None:
    assert _row(opened(2, 10)) == (Run(" " * 10, PLAIN, 10),)


def test_a_run_ends_where_the_style_changes(opened: Opener) -> None:
    assert _row(opened(2, 10, b"ab\x1b[31mcd\x1b[0me")) == (
        Run("ab", PLAIN, 2),
        Run("cd", Style(foreground=1), 2),
        Run("e     ", PLAIN, 6),
    )


@pytest.mark.parametrize(
    ("sequence", "style"),
    [
        (
            b"1;2;3;5;7;8;9;53",
            Style(
                is_bold=True,
                is_faint=True,
                is_italic=True,
                is_blinking=True,
                is_inverse=True,
                is_invisible=True,
                is_struck=True,
                is_overlined=True,
            ),
        ),
        (b"95;104", Style(foreground=13, background=12)),
        (b"38;5;200;48;2;1;2;3", Style(foreground=200, background=(1, 2, 3))),
        (b"38:2::1:2:3", Style(foreground=(1, 2, 3))),
        (b"4", Style(underline=Underline.SINGLE)),
        (b"21", Style(underline=Underline.DOUBLE)),
        (b"4:3;58:5:9", Style(underline=Underline.CURLY, underline_color=9)),
        (b"4:4;58:2::9:8:7", Style(underline=Underline.DOTTED, underline_color=(9, 8, 7))),
        (b"4:5", Style(underline=Underline.DASHED)),
    ],
)
def test_every_attribute_is_in_the_style(sequence: bytes, style: Style, opened: Opener) -> None:
    assert _row(opened(1, 4, b"\x1b[" + sequence + b"mx\x1b[0my"))[0] == Run("x", style, 1)


def test_cells_that_are_only_colored_are_blanks_of_that_color(opened: Opener) -> None:
    assert _row(opened(1, 4, b"a\x1b[44m\x1b[K")) == (Run("a", PLAIN, 1), Run("   ", Style(background=4), 3))
    assert _row(opened(1, 4, b"a\x1b[48;2;1;2;3m\x1b[K"))[1] == Run("   ", Style(background=(1, 2, 3)), 3)


def test_a_wide_character_covers_two_cells_and_a_combined_one_is_whole(opened: Opener) -> None:
    assert _row(opened(1, 8, "日e\u0301x".encode())) == (Run("日e\u0301x    ", PLAIN, 8),)
    assert _row(opened(1, 8, "\x1b[?2027h👩\u200d👧x".encode())) == (Run("👩\u200d👧x     ", PLAIN, 8),)


def test_a_wide_character_with_no_room_leaves_a_blank_at_the_end(opened: Opener) -> None:
    terminal = opened(2, 5, "abcd日".encode())
    assert _row(terminal) == (Run("abcd ", PLAIN, 5),)
    assert _row(terminal, 1) == (Run("日   ", PLAIN, 5),)


def test_a_hyperlink_is_in_the_style(opened: Opener) -> None:
    assert _row(opened(1, 4, b"a\x1b]8;;http://x\x07b\x1b]8;;\x07c"))[1] == Run("b", Style(is_link=True), 1)


def test_what_would_be_a_control_is_a_blank(opened: Opener) -> None:
    assert _row(opened(1, 6, b"a\x7fb"))[0].text == "a b   "
    assert joined("a\x00\x1b\x7f\x9bb\u200d") == "a    b\u200d"


def test_a_guest_that_invents_styles_without_end_costs_no_memory_without_end(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "_MOST_STYLES", 8)
    terminal = opened(1, 4)
    for number in range(100):
        terminal.feed(b"\r\x1b[38;2;1;2;%dmx" % number)
        assert _row(terminal)[0].style == Style(foreground=(1, 2, number))
    assert len(terminal._view._reader._styles) <= 8


@given(
    st.lists(
        st.sampled_from(
            [
                *"ab 日é",
                "e\u0301",
                "\x1b[31m",
                "\x1b[44m",
                "\x1b[0m",
                "\x1b[K",
                "\x1b(0",
                "\x1b(B",
                "\x1b[2D",
                "\x1b[2@",
                "\x1b[P",
                "\x1b[X",
            ]
        ),
        max_size=40,
    )
)
def test_the_runs_of_a_row_cover_exactly_its_cells(pieces: list[str]) -> None:
    terminal = GhosttyTerminal.open(2, 7, scrollback_lines=10)
    try:
        terminal.feed("".join(pieces).encode())
        for y in terminal.update():
            runs = terminal.row(y)
            assert sum(run.cells for run in runs) == 7
            assert all(run.cells > 0 and run.text.isprintable() for run in runs)
            assert all(one.style != other.style for one, other in pairwise(runs))
    finally:
        terminal.close()
