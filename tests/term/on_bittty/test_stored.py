"""A board as JSON, and back: everything is there again."""

from __future__ import annotations

import json

import pytest

from cloche_term.on_bittty import BitttyTerminal
from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.board import make_board
from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.intake import Intake
from cloche_term.on_bittty.stored import from_json, to_json
from cloche_term.snapshots import unpack
from tests.term.looks import look_of

# What has been written, and what is written then: both terminals must show the same afterwards.
STATES = {
    "saved cursors of both screens": (
        b"\x1b[31m\x1b[2;2H\x1b7\x1b[m\x1b[?1049h\x1b[3;3H\x1b[1m\x1b7\x1b[H",
        b"\x1b8x\x1b[?1049l\x1b8y",
    ),
    "a wrap that is pending": (b"0123456789", b"x"),
    "margins and origin": (b"\x1b[2;3r\x1b[?69h\x1b[3;6s\x1b[?6h\x1b[2;2H", b"abcdefgh\n\n\x1b[Hx"),
    "tab stops": (b"\x1b[3g\x1b[4G\x1bH\r", b"\tx"),
    "character sets": (b"\x1b)0\x0eq\x1b*0\x1bN", b"qq"),
    "titles that were pushed": (b"\x1b]2;a\x07\x1b[22t\x1b]2;b\x07\x1b[22t\x1b]2;c\x07", b"\x1b[23t\x1b[23t"),
    "keyboard flags that were pushed": (b"\x1b[>1u\x1b[>5u\x1b[?1049h\x1b[>3u", b"\x1b[<u\x1b[?1049l\x1b[<u"),
    "modes that were saved": (b"\x1b[?7l\x1b[?2004;7s\x1b[?7h", b"\x1b[?7r0123456789xyz"),
    "what is repeated": (b"ab", b"\x1b[3b"),
    "a hidden alternate screen": (b"\x1b[?47halt\x1b[?47l", b"\x1b[?47h"),
    "the mouse": (b"\x1b[?1003h\x1b[?1006h", b""),
    "the cursor's shape": (b"\x1b[4 q\x1b[?25l", b""),
    "a screen that is held and reversed": (b"\x1b[?2026h\x1b[?5h\x1b=", b"x"),
    "lines that were wrapped": (b"0123456789abc\r\n" * 5, b""),
    "every attribute": (
        b"\x1b[1;2;3;4:3;5;7;8;9;53;38;2;1;2;3;48;5;99;58;5;1m\x1b]8;id=1;http://x\x07a\x1b[22m",
        b"b",
    ),
    "half a character": (b"\xe6\x97", b"\xa5"),
    "parameters without end": (b"\x1b[" + b"9" * 1000, b"9Cx"),
    "a string without end": (b"\x1b]2;" + b"9" * 100_000, b"9\x07x"),
}


@pytest.mark.parametrize("name", STATES)
def test_what_comes_back_goes_on_as_if_nothing_had_been(name: str) -> None:
    before, after = STATES[name]
    terminal = BitttyTerminal(4, 10)
    terminal.feed(before)
    restored = BitttyTerminal.restore(unpack(terminal.snapshot()))
    assert look_of(restored) == look_of(terminal)
    restored.feed(after)
    terminal.feed(after)
    assert look_of(restored) == look_of(terminal)
    restored.resize(5, 7)
    terminal.resize(5, 7)
    assert look_of(restored) == look_of(terminal)


def test_a_board_is_values_that_json_has() -> None:
    board, history = make_board(2, 10, Answers()), History(10)
    Intake(board).feed(b"\x1b[31mred\x1b]4;7;rgb:1/2/3\x07\x1b]11;rgb:4/5/6\x07")
    stored = to_json(board, history)
    again, empty = make_board(2, 10, Answers()), History(10)
    from_json(again, empty, json.loads(json.dumps(stored)))
    assert to_json(again, empty) == stored
