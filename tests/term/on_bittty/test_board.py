"""The fallback's board: the kind of terminal a console is."""

from __future__ import annotations

import pytest

from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.board import BACKGROUND, FOREGROUND, make_board
from cloche_term.on_bittty.intake import Intake


def test_a_board_keeps_its_size_whatever_a_program_asks_for() -> None:
    board = make_board(3, 10, Answers())
    Intake(board).feed(b"\x1b[?40h\x1b[?3h\x1b[8;90;90t\x1b[132$|\x1b[90t\x1b[?2l\x1b<\x1b[?3h")
    assert (board.height, board.width) == (3, 10)


def test_a_board_begins_empty_and_without_a_title() -> None:
    board = make_board(3, 10, Answers())
    assert (board.capture_text(), board.title.title) == ("", "")


def test_what_a_program_writes_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    Intake(make_board(3, 10, Answers())).feed(b"\x1b[99~\x1b]9999;secret\x07")
    assert caplog.records == []


def test_a_board_has_the_colors_it_tells() -> None:
    answers = Answers()
    Intake(make_board(3, 10, answers)).feed(b"\x1b]10;?\x07\x1b]11;?\x07")
    colors = ["/".join(f"{value:02x}" * 2 for value in color) for color in (FOREGROUND, BACKGROUND)]
    assert answers.take() == f"\x1b]10;rgb:{colors[0]}\x07\x1b]11;rgb:{colors[1]}\x07".encode()
