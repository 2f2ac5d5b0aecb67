"""Our own terminal: given away in raw mode and put back, and what is told of it."""

from __future__ import annotations

import os
import pty
import termios
import tty

import pytest

from cloche.cli.terminal import DEFAULT_TERM, drop_typed, raw_mode, set_raw, term_for, window_size


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


def test_raw_mode_can_be_ended_at_once_and_set_again() -> None:
    ours, theirs = pty.openpty()
    try:
        before = termios.tcgetattr(theirs)
        with raw_mode(theirs) as put_back:
            put_back()
            assert termios.tcgetattr(theirs) == before
            set_raw(theirs)
            assert not termios.tcgetattr(theirs)[3] & termios.ECHO
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
        assert window_size(theirs) == (50, 1000)
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
