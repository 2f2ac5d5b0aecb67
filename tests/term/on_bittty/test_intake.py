"""How bytes come to the fallback emulator: whole, bounded, and whatever they are."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.board import make_board
from cloche_term.on_bittty.intake import MOST_PARAMETER_CHARACTERS, MOST_STRING_CHARACTERS, Intake


def fresh() -> tuple[Any, Intake]:
    board = make_board(3, 20, Answers())
    return board, Intake(board)


def test_a_character_may_come_in_pieces() -> None:
    board, intake = fresh()
    intake.feed(b"\xe6\x97")
    assert intake.unfinished == b"\xe6\x97"
    intake.feed(b"\xa5")
    assert (board.capture_text(), intake.unfinished) == ("日", b"")


def test_what_has_begun_is_told() -> None:
    _, intake = fresh()
    intake.feed(b"ab\x1b[38;5")
    assert intake.unfinished == b"\x1b[38;5"


@pytest.mark.parametrize("introducer", [b"\x1b]2;", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX"])
@pytest.mark.parametrize("end", [b"\x1b\\", b"\x07"])
def test_a_string_that_does_not_end_is_not_kept(introducer: bytes, end: bytes) -> None:
    board, intake = fresh()
    intake.feed(introducer)
    for _ in range(8):
        intake.feed(b"x" * MOST_STRING_CHARACTERS)
        assert len(intake.unfinished) <= 2 * MOST_STRING_CHARACTERS
    intake.feed(end + b"y")
    assert (board.capture_text(), board.title.title, intake.unfinished) == ("y", "", b"")


def test_half_of_the_terminator_of_a_long_string_is_not_lost() -> None:
    board, intake = fresh()
    intake.feed(b"\x1b]2;" + b"x" * 2 * MOST_STRING_CHARACTERS + b"\x1b")
    intake.feed(b"\\y")
    assert board.capture_text() == "y"


@pytest.mark.parametrize("piece", [1, 100, 4096, 100_000])
def test_parameters_without_end_are_not_kept_and_mean_nothing(piece: int) -> None:
    board, intake = fresh()
    data = b"a\x1b[" + b"9" * 20_000 + b"C" + b"b"
    for start in range(0, len(data), piece):
        intake.feed(data[start : start + piece])
        assert len(intake.unfinished) <= 2 * MOST_PARAMETER_CHARACTERS
    assert board.capture_text() == "ab"


def test_control_characters_between_parameters_do_not_make_them_endless() -> None:
    board, intake = fresh()
    intake.feed(b"\x1b[")
    for _ in range(20):
        intake.feed(b"1\x00" * 1000)
        assert len(intake.unfinished) <= 2 * MOST_PARAMETER_CHARACTERS
    intake.feed(b"mx")
    assert board.capture_text() == "x"


def test_what_makes_bittty_fail_is_passed_over_up_to_the_next_sequence() -> None:
    board, intake = fresh()

    def fail(operation: object) -> None:
        raise ValueError(operation)

    board.registry["CUF"] = fail
    intake.feed(b"a\x1b[Clost\x1b[Calso lost\x1b[31mb")
    intake.feed(b"c\x1b[Clost")
    intake.feed(b"d")
    assert board.capture_text() == "abcd"
