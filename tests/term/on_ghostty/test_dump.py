"""A dump makes the very screen in a terminal that was just reset."""

from __future__ import annotations

import dataclasses
import random

import pytest

from cloche_term.on_ghostty import GhosttyTerminal
from cloche_term.opening import BACKENDS, open_terminal
from cloche_term.terminal import Terminal
from tests.term.looks import look_of
from tests.term.on_ghostty.conftest import Opener

_LINES = b"\r\n".join(b"line %d" % number for number in range(30))
# Not among them: origin mode and line drawing, whose meeting with margins, saved cursors and wide characters makes
# screens that no sequences make again; each is among the cases below.
_PIECES = (
    *(
        b"hello ",
        b"x" * 30,
        b"\r\n",
        b"\n\n\n",
        b"\t",
        "日本語".encode(),
        "e\u0301é".encode(),
        "👩\u200d👧".encode(),
    ),
    *(
        b"\x1b[31m",
        b"\x1b[44m",
        b"\x1b[7m",
        b"\x1b[0m",
        b"\x1b[4:3m",
        b"\x1b[58:5:3m",
        b"\x1b[38;2;1;2;3m",
        b"\x1b[48;5;200m",
    ),
    *(
        b"\x1b[K",
        b"\x1b[2J",
        b"\x1b[H",
        b"\x1b[5;5H",
        b"\x1b[2L",
        b"\x1b[3P",
        b"\x1b[4@",
        b"\x1b[2S",
        b"\x1bM",
        b"\x1b[X",
        b"\x1b#8",
    ),
    *(
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[?6l",
        b"\x1b[2;4r",
        b"\x1b[r",
        b"\x1b[?69h",
        b"\x1b[3;10s",
    ),
    *(
        b"\x1b[4h",
        b"\x1b[4l",
        b"\x1b[?7l",
        b"\x1b[?7h",
        b"\x1b[?25l",
        b"\x1b[?5h",
        b"\x1b[?2004h",
        b"\x1b[?1002h",
    ),
    *(b"\x1b(B", b"\x0e", b"\x0f", b"\x1bH", b"\x1b[3g", b"\x1b[3 q", b"\x1b[>1u", b"\x1b[>4;2m"),
    *(
        b"\x1b]2;title\x07",
        b"\x1b]8;;http://a\x07",
        b"\x1b]8;;\x07",
        b"\x1b]4;1;rgb:11/22/33\x07",
        b"\x1b[38;5",
        b"\xe6\x97",
    ),
)


def _redrawn(terminal: Terminal, opened: Opener, *, scrollback_lines: int = 0) -> GhosttyTerminal:
    return opened(terminal.rows, terminal.cols, terminal.dump(scrollback_lines=scrollback_lines))


def _seen(terminal: Terminal) -> dict[str, object]:
    """What a person sees and what their keys do; numbers of lines are the console's own."""
    look = look_of(terminal)
    del look["first_line"], look["lines"]
    return look


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"plain\r\ntext",
        b"\x1b[44mblue\x1b[K\r\n\x1b[0mrest",
        b"\x1b[41m" + b"wrapped with a color " * 3 + b"\x1b[0m",
        b"\x1b[?1049h\x1b[41m\x1b[2Jeditor\x1b[3;3H",
        "日本語日本語日本語日本語".encode(),
        b"\x1b]8;;http://a\x07a\x1b]8;;http://b\x07b\x1b]8;;\x07c",
        b"x" * 20,
        b"\x1b[2;4r\x1b[?6h\x1b[2;3Hx",
        b"\x1b]2;a title\x07\x1b]11;#112233\x07\x1b]4;5;#445566\x07",
        b"\x1b(0lqqk\x0e\x1b)0",
        b"\x1b[?25l\x1b[5 q\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=",
        b"\x1b[>5u\x1b[?1049h\x1b[>1u",
    ],
)
def test_the_screen_is_the_same_and_goes_on_the_same(written: bytes, opened: Opener) -> None:
    terminal = opened(5, 20, written)
    redrawn = _redrawn(terminal, opened)
    assert _seen(redrawn) == _seen(terminal)
    for more in (b"more", b"\tx\r\n", b"\x1b[?1049l", b"y\x1b[1;1Hz"):
        terminal.feed(more)
        redrawn.feed(more)
        assert _seen(redrawn) == _seen(terminal)


def _all_lines(terminal: Terminal) -> tuple[str, ...]:
    return terminal.lines(terminal.first_line - terminal.scrollback_rows, terminal.first_line + terminal.rows)


@pytest.mark.parametrize("half", [b"\x1b[38;5", b"\xe6\x97", b"\x1b]2;half a ti", b"\x1bP+q54"])
def test_half_a_sequence_goes_on_where_the_dump_ends(half: bytes, opened: Opener) -> None:
    terminal = opened(5, 20, b"a" + half)
    redrawn = _redrawn(terminal, opened)
    for each in (terminal, redrawn):
        each.feed(b"\xa5;1m\x1b\\after")
    assert _seen(redrawn) == _seen(terminal)


@pytest.mark.parametrize("wanted", [0, 1, 7, 25, 1000])
def test_as_much_scrollback_comes_along_as_is_wanted(wanted: int, opened: Opener) -> None:
    terminal = opened(5, 20, _LINES)
    redrawn = _redrawn(terminal, opened, scrollback_lines=wanted)
    kept = min(wanted, 25)
    assert redrawn.scrollback_rows == kept
    assert redrawn.lines(0, 5 + kept) == terminal.lines(25 - kept, 30)


def test_lines_that_were_wrapped_wrap_anew(opened: Opener) -> None:
    terminal = opened(5, 20, b"a long line that wraps over more than one row\r\n" * 4)
    redrawn = _redrawn(terminal, opened, scrollback_lines=100)
    for each in (terminal, redrawn):
        each.resize(5, 50)
    assert redrawn.lines(0, 10) == terminal.lines(0, 10)
    assert "a long line that wraps over more than one row" in redrawn.lines(0, 10)


@pytest.mark.parametrize("cols", [12, 20, 80])
def test_lines_far_above_come_along_with_their_styles_and_wrap_anew(cols: int, opened: Opener) -> None:
    written = b"".join(
        b"\x1b[3%dmline \x1b[1;48;2;1;2;%dm%d\x1b[0m %s  %s\r\n"
        % (number % 8, number % 256, number, "日本".encode(), b"y" * (number % 40))
        for number in range(700)
    )
    terminal = opened(5, cols, written)
    redrawn = _redrawn(terminal, opened, scrollback_lines=10_000)
    assert redrawn.scrollback_rows == terminal.scrollback_rows
    for each in (terminal, redrawn):
        each.scroll_to(each.first_line - each.scrollback_rows + 7)
    assert _seen(redrawn) == _seen(terminal)
    for each in (terminal, redrawn):
        each.scroll_to_end()
        each.resize(5, cols + 9)
    assert _all_lines(redrawn) == _all_lines(terminal)


def test_one_line_that_wraps_on_and_on_is_shown_as_it_is(opened: Opener) -> None:
    terminal = opened(5, 20, b"abcdefghi " * 1500)
    redrawn = _redrawn(terminal, opened, scrollback_lines=10_000)
    assert _all_lines(redrawn) == _all_lines(terminal)


@pytest.mark.parametrize("entry", [1049, 1047, 47])
def test_the_primary_screen_is_behind_the_alternate_one(entry: int, opened: Opener) -> None:
    terminal = opened(5, 20, _LINES + b"\x1b[31m\x1b[2;3H\x1b[?%dh\x1b[H\x1b[0;44meditor" % entry)
    redrawn = _redrawn(terminal, opened, scrollback_lines=3)
    assert _seen(redrawn) == _seen(terminal)
    for each in (terminal, redrawn):
        each.feed(b"\x1b[?%dlback" % entry)
    assert _seen(redrawn) == _seen(terminal)
    assert redrawn.text()[2] == "line 27"
    assert redrawn.scrollback_rows == 3


def test_a_terminal_is_as_it_was_after_a_dump(opened: Opener) -> None:
    terminal = opened(5, 20, _LINES + b"\x1b[?1049h\x1b[Heditor\x1b[38;5")
    before = terminal.snapshot()
    terminal.dump(scrollback_lines=100)
    assert terminal.snapshot() == before


def test_a_screen_held_back_is_shown(opened: Opener) -> None:
    assert not _redrawn(opened(5, 20, b"\x1b[?2026hshown"), opened).modes.is_held


def test_a_dump_can_be_read_by_the_other_emulator(opened: Opener) -> None:
    terminal = opened(
        5, 20, _LINES + b"\x1b[?1049h\x1b[H\x1b[0;44meditor\x1b[0m\x1b[2;3H\x1b[?2004h\x1b]2;t\x07"
    )
    for backend in BACKENDS:
        redrawn = open_terminal(5, 20, backend=backend)
        redrawn.feed(terminal.dump(scrollback_lines=3))
        assert redrawn.text() == terminal.text()
        assert redrawn.modes == dataclasses.replace(
            terminal.modes, alternate_scroll=redrawn.modes.alternate_scroll
        )
        assert (redrawn.title, redrawn.cursor) == ("t", terminal.cursor)
        redrawn.feed(b"\x1b[?1049l")
        assert redrawn.text()[0] == "line 25"
        redrawn.close()


@pytest.mark.parametrize("seed", range(60))
def test_whatever_was_written_the_screen_is_the_same(seed: int, opened: Opener) -> None:
    chance = random.Random(seed)
    rows, cols = chance.choice(((5, 12), (10, 20), (24, 80)))
    clusters = chance.choice((b"", b"\x1b[?2027h"))
    terminal = opened(rows, cols, clusters + b"".join(chance.choices(_PIECES, k=chance.randint(1, 80))))
    redrawn = _redrawn(terminal, opened, scrollback_lines=50)
    assert _seen(redrawn) == _seen(terminal)
    for more in (b"Z", b"\r\nnext", b"\t\tx" * 3):
        terminal.feed(more)
        redrawn.feed(more)
    assert _seen(redrawn) == _seen(terminal)
