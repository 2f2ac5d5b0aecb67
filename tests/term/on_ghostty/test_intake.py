"""Bytes into a native terminal: its size kept, its sequences bounded."""

from __future__ import annotations

import pytest

from cloche_term.on_ghostty.intake import Intake
from cloche_term.on_ghostty.line_numbers import LineNumbers
from cloche_term.on_ghostty.native import MOST_SEQUENCE_BYTES, NativeTerminal
from cloche_term.opening import open_terminal, restore
from tests.term.on_ghostty.conftest import NativeOpener, Opener

_LONG = b"A" * (2 * MOST_SEQUENCE_BYTES)


def _intake(terminal: NativeTerminal) -> Intake:
    return Intake(terminal, LineNumbers(terminal))


def test_a_program_that_asks_for_132_columns_gets_none(native: NativeOpener) -> None:
    terminal = native(5, 20)
    assert _intake(terminal).feed(b"\x1b[?40h\x1b[?3hwide")
    assert terminal.look().size == (5, 20)


def test_output_that_leaves_the_size_alone_says_so(native: NativeOpener) -> None:
    assert not _intake(native(5, 20)).feed(b"hello\x1b[?3h")


def test_a_new_size_is_kept_from_then_on(native: NativeOpener) -> None:
    terminal = native(5, 20)
    intake = _intake(terminal)
    intake.resize(6, 30)
    intake.feed(b"\x1b[?40h\x1b[?3h")
    assert terminal.look().size == (6, 30)


@pytest.mark.parametrize("begins", [b"\x1b]52;c;", b"\x1b]2;", b"\x1bPq", b"\x1b_G", b"\x1b^", b"\x1bX"])
@pytest.mark.parametrize("ends", [b"\x1b\\", b"\x18"])
def test_a_sequence_without_end_shows_nothing_and_can_be_stored_at_any_time(
    begins: bytes, ends: bytes, opened: Opener
) -> None:
    terminal = opened(5, 20, b"before " + begins + _LONG)
    restored = restore(terminal.snapshot())
    redrawn = open_terminal(5, 20, backend="ghostty")
    redrawn.feed(terminal.dump(scrollback_lines=0))
    for each in (terminal, restored, redrawn):
        each.feed(_LONG)
        each.feed(b"tail" + ends + b"after")
        assert each.text()[0] == "before after"
    restored.close()
    redrawn.close()


def test_a_title_ended_by_bell_is_cancelled_to_its_end(opened: Opener) -> None:
    assert opened(5, 20, b"\x1b]2;" + _LONG + b"\x07after").text()[0] == "after"


def test_parameters_without_end_are_cancelled_and_text_goes_on(opened: Opener) -> None:
    terminal = opened(5, 20, b"\x1b[" + b"1;" * MOST_SEQUENCE_BYTES)
    assert len(terminal.snapshot()) < 100_000
    terminal.feed(b"\x1b[H\x1b[2Jhello")
    assert terminal.text()[0] == "hello"


def test_half_a_sequence_is_what_is_unfinished(native: NativeOpener) -> None:
    intake = _intake(native(5, 20))
    intake.feed(b"abc\x1b[38;5")
    assert intake.unfinished() == b"\x1b[38;5"
    intake.feed(b";1mx")
    assert intake.unfinished() == b""


def test_a_cancelled_string_that_is_none_is_not_taken_over(native: NativeOpener) -> None:
    terminal = native(5, 20)
    assert Intake(terminal, LineNumbers(terminal), cancelled="nonsense").cancelled is None
