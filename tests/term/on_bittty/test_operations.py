"""What the fallback obeys, and that what it answers is not a program's own text."""

from __future__ import annotations

import pytest

from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.board import make_board
from cloche_term.on_bittty.intake import Intake
from cloche_term.on_bittty.operations import MOST_LINK_CHARACTERS
from cloche_term.terminal import MOST_TITLE_CHARACTERS


@pytest.mark.parametrize(
    "operation",
    [
        "C0_ENQ",
        "OSC_FONT",
        "OSC_CLIPBOARD",
        "DECDMAC",
        "DECINVM",
        "MC",
        "DECMC",
        "DECUDK",
        "DECRQTSR",
        "DECRSTS",
    ],
)
def test_what_a_stranger_must_not_have_is_not_there(operation: str) -> None:
    assert operation not in make_board(2, 10, Answers()).registry


@pytest.mark.parametrize(
    "asked",
    [
        b"\x1b]2;secret\x07\x1b[21t\x1b[20t",
        b"\x1b]1;secret\x07\x1b[20t",
        b"\x1b]50;secret\x07\x1b]50;?\x07",
        b"\x1b]52;c;c2VjcmV0\x07\x1b]52;c;?\x07",
        b"\x1bP0;0;0!zsecret\x1b\\\x1b[0*z\x1b[?63n",
        b"\x1bP$qsecret\x1b\\",
        b"\x1bP+q736563726574\x1b\\",
        b"\x05",
    ],
)
def test_no_answer_holds_text_that_a_program_has_chosen(asked: bytes) -> None:
    answers = Answers()
    Intake(make_board(2, 40, answers)).feed(asked)
    taken = answers.take()
    assert b"secret" not in taken
    assert b"c2VjcmV0" not in taken
    assert b"736563726574" not in taken


def test_a_title_is_short_and_without_control_characters() -> None:
    board = make_board(2, 10, Answers())
    Intake(board).feed(b"\x1b]2;a\tb" + b"c" * 1000 + b"\x07")
    assert board.title.title == "ab" + "c" * (MOST_TITLE_CHARACTERS - 2)


def test_a_link_too_long_to_keep_is_none() -> None:
    board = make_board(2, 10, Answers())
    Intake(board).feed(b"\x1b]8;;http://" + b"x" * MOST_LINK_CHARACTERS + b"\x07a")
    assert board.blitter.main_page.grid[0][0][0].hyperlink is None


def test_leaving_1047_clears_the_alternate_screen() -> None:
    board = make_board(3, 10, Answers())
    Intake(board).feed(b"\x1b[?1047hx\x1b[?1047l\x1b[?47h")
    assert board.capture_text() == ""
