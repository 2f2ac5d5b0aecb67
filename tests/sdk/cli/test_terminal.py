"""Our own terminal: what is put back, how one leaves, what is told of it."""

from __future__ import annotations

import os
import pty
import termios
import tty

import pytest

from cloche.cli.terminal import DEFAULT_TERM, Modes, WayOut, drop_typed, raw_mode, term_for, window_size

ALWAYS = b"\x1b\\\x1b[<u\x1b[>4m%b\x1b7\x1b[r\x1b8\x1b[0m\x1b>\x0f\x1b(B"


def _undone(*pieces: bytes) -> bytes:
    modes = Modes()
    for piece in pieces:
        modes.written(piece)
    return modes.undo()


def test_nothing_is_put_back_where_nothing_was_written() -> None:
    assert Modes().undo() == b""


@pytest.mark.parametrize(
    ("pieces", "undone"),
    [
        ([b"hello"], b""),
        ([b"\x1b[?1049h\x1b[?25l"], b"\x1b[?1049l\x1b[?25h"),
        ([b"\x1b[?1049h", b"text", b"\x1b[?1049l"], b""),
        ([b"\x1b[?1000;1006h"], b"\x1b[?1000l\x1b[?1006l"),
        ([b"...\x1b[?20", b"04h$ "], b"\x1b[?2004l"),
        ([b"\x1b[?7l"], b"\x1b[?7h"),
        ([b"\x1b[?9999h"], b""),
        ([b"\x1b[4;20h\x1b[2h"], b"\x1b[4l\x1b[20l"),
        ([b"\x1b[4h...\x1b[4l\x1b[?4h"], b""),
        ([b"\x1b[?6h\x1b[?69h\x1b[?1007h"], b"\x1b[?6l\x1b[?69l\x1b[?1007l"),
        ([b"\x1b]11;#000000\x07\x1b]10;", b"red\x1b\\\x1b]4;1;red\x07"], b"\x1b]110\x1b\\\x1b]111\x1b\\"),
        ([b"\x1b]8;;http://evil\x07here"], b"\x1b]8;;\x1b\\"),
        ([b"\x1b]8;id=1;", b"http://evil\x1b\\here\x1b]8;;\x1b\\"], b""),
        ([b"\x1b]8;;http://evil\x07here\x1b]8;;\x07"], b""),
        ([b"\x1b[5 q"], b"\x1b[0 q"),
    ],
)
def test_what_a_program_left_on_is_switched_off(pieces: list[bytes], undone: bytes) -> None:
    assert _undone(*pieces) == ALWAYS % undone


def test_what_a_hostile_program_switches_is_not_remembered() -> None:
    modes = Modes()
    for start in range(0, 100_000, 100):
        modes.written(b"".join(b"\x1b[?%dh" % mode for mode in range(start, start + 100)))
    assert len(modes._switched) < 30
    assert len(modes._rest) <= 256


@pytest.mark.parametrize(
    ("pieces", "has_asked"),
    [
        ([b"$ "], False),
        ([b"\x1b[6n"], True),
        ([b"\x1b[", b"c"], True),
        ([b"\x1b[>0q\x1b[?u"], True),
        ([b"\x1b]11;?\x07"], True),
        ([b"\x1b]11;red\x07\x1b[0m"], False),
        ([b"\x1bP+q544e\x1b\\"], True),
        ([b"\x1b[6n", b"x" * 300, b"x"], False),
    ],
)
def test_a_question_to_the_terminal_is_known_while_its_answer_may_come(
    pieces: list[bytes], has_asked: bool
) -> None:
    modes = Modes()
    for piece in pieces:
        modes.written(piece)
    assert modes.has_asked is has_asked


def test_what_was_typed_and_not_read_can_be_dropped() -> None:
    ours, theirs = pty.openpty()
    try:
        tty.setraw(theirs)
        os.write(ours, b"\x1b[1;1R")
        drop_typed(theirs)
        os.set_blocking(theirs, False)
        with pytest.raises(BlockingIOError):
            os.read(theirs, 10)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_sequence_cut_anywhere_is_seen(cut: int) -> None:
    sequence = b"\x1b[?1049h"
    assert b"\x1b[?1049l" in _undone(sequence[:cut], sequence[cut:])


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (b"ls\n", (b"ls\n", False)),
        (b"\x1d", (b"", True)),
        (b"ls\x1dxx", (b"ls", True)),
        (b"a\x1b[93;5u", (b"a", True)),
        (b"a\x1b[27;5;93~", (b"a", True)),
        (b"\x1d\x1d", (b"", True)),
        (b"]", (b"]", False)),
    ],
)
def test_the_way_out_is_found_in_every_form_a_terminal_sends(typed: bytes, found: tuple[bytes, bool]) -> None:
    assert WayOut().split(typed) == found


def test_a_machine_is_told_a_terminal_it_knows() -> None:
    assert term_for("tmux-256color") == "tmux-256color"
    assert term_for("xterm-kitty") == term_for(None) == DEFAULT_TERM


def test_raw_mode_ends_as_it_began_also_after_an_error() -> None:
    ours, theirs = pty.openpty()

    def work() -> None:
        with raw_mode(theirs):
            assert not termios.tcgetattr(theirs)[3] & (termios.ECHO | termios.ISIG)
            raise ValueError("boom")

    try:
        before = termios.tcgetattr(theirs)
        with pytest.raises(ValueError, match="boom"):
            work()
        assert termios.tcgetattr(theirs) == before
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_window_that_says_no_size_has_the_usual_one() -> None:
    ours, theirs = pty.openpty()
    try:
        assert window_size(theirs) == (24, 80)
        termios.tcsetwinsize(theirs, (50, 132))
        assert window_size(theirs) == (50, 132)
        termios.tcsetwinsize(theirs, (5000, 5000))
        assert window_size(theirs) == (1000, 1000)
    finally:
        os.close(ours)
        os.close(theirs)


def test_what_is_no_terminal_has_the_usual_size() -> None:
    reader, writer = os.pipe()
    try:
        assert window_size(reader) == (24, 80)
    finally:
        os.close(reader)
        os.close(writer)
