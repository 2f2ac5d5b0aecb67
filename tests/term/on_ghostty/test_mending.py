"""A wide character cut in two by a narrower screen does not keep a terminal from being stored."""

from __future__ import annotations

import pytest

from cloche_term.on_ghostty.mending import mend
from cloche_term.opening import restore
from tests.term.looks import look_of
from tests.term.on_ghostty.conftest import Opener

_WIDE = "ab日本語日本語".encode()


@pytest.mark.parametrize("cols", range(3, 12))
def test_an_alternate_screen_that_has_become_narrower_can_be_stored(cols: int, opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[?1049h" + _WIDE)
    terminal.resize(5, cols)
    restored = restore(terminal.snapshot())
    assert look_of(restored) == look_of(terminal)
    assert b"ab" in terminal.dump(scrollback_lines=0)
    restored.close()


def test_so_can_a_terminal_whose_alternate_screen_is_not_on(opened: Opener) -> None:
    terminal = opened(5, 20, b"shell\x1b[?1049h" + _WIDE + b"\x1b[?1049l")
    terminal.resize(5, 5)
    restored = restore(terminal.snapshot())
    assert restored.text()[0] == "shell"
    restored.close()


@pytest.mark.parametrize("screen", [b"", b"\x1b[?1049h", b"\x1b[?1049h" + _WIDE])
@pytest.mark.parametrize(
    "state",
    [
        b"\x1b[3;5Hx",
        b"\x1b[31;4m\x1b(0\x1b]8;;http://a\x07",
        b"\x1b[2;4r\x1b[?6h\x1b[2;3H",
        b"\x1b[?69h\x1b[3;9s\x1b[?6h\x1b[2;2H",
        b"\x1b[5;1H" + b"x" * 10,
        b"\x1b[2;3H\x1b[38;5",
        b"\x1b[2;3H\xe6\x97",
        b"\x1b[>1u\x1b[4h",
    ],
)
def test_nothing_else_changes(screen: bytes, state: bytes, opened: Opener) -> None:
    mended, left = (opened(5, 10, screen + state) for _ in range(2))
    mend(mended._native)
    for each in (mended, left):
        each.feed(b"1mZ")
    assert look_of(mended) == look_of(left)
    assert mended.dump(scrollback_lines=0) == left.dump(scrollback_lines=0)


# Lines of 132 columns cut at 80 without wrapping, all in one piece of output.
_CUT = b"\x1b[?7l\x1b[?40h\x1b[?3h" + ("a" + "日" * 65 + "\r\n").encode() * 20 + b"\x1b[?3l"


def test_a_program_that_cuts_its_own_lines_loses_what_cannot_be_stored_and_no_more(opened: Opener) -> None:
    behind = opened(5, 20, _CUT + b"\x1b[?1049h\x1b[Heditor")
    restored = restore(behind.snapshot())
    assert restored.text()[0] == behind.text()[0] == "editor"
    restored.close()
    shown = opened(5, 20, _CUT + b"\x1b[?2004h\x1b[2;3H")
    cursor = shown.cursor
    restored = restore(shown.snapshot())
    assert (restored.cursor, restored.modes.bracketed_paste) == (cursor, True)
    assert look_of(restored)["rows"] == look_of(shown)["rows"]
    restored.close()


@pytest.mark.parametrize("half", [b"\x1b^\xc2\x90", b"\x1b_ab\x9b1", "\x1bX❤️".encode()])
def test_a_string_that_a_control_of_eight_bits_has_ended_can_be_stored(half: bytes, opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[?47h\x1b[Hbehind\x1b[?47lbefore" + half)
    restored = restore(terminal.snapshot())
    for more in (b"m\x1b\\after", b"\x1b[?47h"):
        for each in (terminal, restored):
            each.feed(more)
        assert look_of(restored) == look_of(terminal)
    assert restored.text()[0] == "behind"
    restored.close()
