"""One native terminal: its bounds, what it answers, what it knows."""

from __future__ import annotations

import gc

import pytest

from cloche_term.on_ghostty.library import LibraryError
from cloche_term.on_ghostty.native import MOST_SEQUENCE_BYTES, NativeTerminal
from cloche_term.terminal import MOST_ANSWER_BYTES, MOST_SCROLLBACK_BYTES
from tests.term.on_ghostty.conftest import NativeOpener


def test_thousands_of_lines_are_kept(native: NativeOpener) -> None:
    # The library's own default of bytes ends after some hundred.
    kept = native(24, 80, b"line\r\n" * 12_000, scrollback_lines=10_000).look().scrollback_rows
    assert 9_000 <= kept <= 13_000


def test_lines_of_the_largest_width_are_kept_within_the_bound_of_bytes(native: NativeOpener) -> None:
    kept = native(2, 1000, b"x" * 1000 * 4_000, scrollback_lines=100_000).look().scrollback_rows
    assert 1_000 <= kept * 1000 * 8 // 8000 <= MOST_SCROLLBACK_BYTES // 8000


def test_a_wider_screen_keeps_about_as_many_lines(native: NativeOpener) -> None:
    terminal = native(24, 20, scrollback_lines=10_000)
    terminal.resize(24, 200)
    terminal.write(b"line\r\n" * 12_000)
    assert 8_000 <= terminal.look().scrollback_rows <= 13_000


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (b"\x1b[6n", b"\x1b[1;1R"),
        (b"\x1b]10;?\x1b\\", b"\x1b]10;rgb:e0e0/e0e0/e0e0\x1b\\"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:0c0c/0c0c/0c0c\x07"),
        (b"\x1b[18t", b"\x1b[8;5;20t"),
        (b"\x1b[14t", b"\x1b[4;80;160t"),
        (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
        (b"\x1b]2;rm -rf ~\x07\x1b[21t", b""),
        (b"\x1b]52;c;?\x07", b""),
        (b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", b""),
        (b"\x1b_25a1;s\x1b\\", b""),
    ],
)
def test_what_programs_may_ask_is_answered_and_nothing_else(
    query: bytes, answer: bytes, native: NativeOpener
) -> None:
    assert native(fed=query).take_answers() == answer


def test_answers_are_taken_once_and_whole_up_to_their_bound(native: NativeOpener) -> None:
    terminal = native(fed=b"\x1b[6n" * 10_000)
    answers = terminal.take_answers()
    assert answers == b"\x1b[1;1R" * (MOST_ANSWER_BYTES // 6)
    assert terminal.take_answers() == b""
    terminal.write(b"\x1b[6n")
    assert terminal.take_answers() == b"\x1b[1;1R"


def test_half_a_sequence_is_kept_to_its_bound(native: NativeOpener) -> None:
    terminal = native(fed=b"ab\x1b[1;3")
    assert terminal.continuation() == b"\x1b[1;3"
    terminal.write(b"m")
    assert terminal.continuation() == b""
    terminal.write(b"\x1b]2;" + b"x" * MOST_SEQUENCE_BYTES)
    assert terminal.continuation() is None


def test_what_has_changed_is_told_in_one_look(native: NativeOpener) -> None:
    terminal = native(3, 10)
    state = terminal.look()
    assert (state.size, state.is_alternate, state.scrollback_rows, state.is_ground) == (
        (3, 10),
        False,
        0,
        True,
    )
    terminal.write(b"\n" * 7)
    assert terminal.look().scrollback_rows == 5
    terminal.write(b"\x1b[?1049h\x1b[")
    state = terminal.look()
    assert (state.is_alternate, state.scrollback_rows, state.is_ground) == (True, 0, False)


def test_modes_and_values_are_asked_by_key(native: NativeOpener) -> None:
    terminal = native(fed=b"\x1b[?2004h\x1b[4h")
    assert terminal.mode(2004)
    assert terminal.mode(4, ansi=True)
    assert not terminal.mode(4)
    assert terminal.get("COLS") == 20
    assert terminal.get("COLOR_CURSOR", "GhosttyColorRgb") is None
    with pytest.raises(LibraryError, match="mode 31000"):
        terminal.mode(31000)


def test_a_terminal_that_does_not_wrap_still_has_its_lines_wrapped_anew(native: NativeOpener) -> None:
    terminal = native(3, 10, b"\x1b[?7labcdefghij")
    terminal.resize(3, 5)
    assert terminal.text(0, 1) == ["abcde", "fghij"]
    assert not terminal.mode(7)
    terminal.write(b"\x1b[?7h")
    terminal.resize(3, 10)
    assert terminal.mode(7)


def test_text_is_read_by_rows(native: NativeOpener) -> None:
    terminal = native(3, 10, "one  \r\n\r\n日本\r\n\x7f\r\n".encode())
    assert terminal.text(0, 4) == ["one", "", "日本", "", ""]
    assert terminal.text(2, 2) == ["日本"]
    assert terminal.text(2, 1) == []


def test_a_link_is_read_without_what_could_end_a_sequence(native: NativeOpener) -> None:
    terminal = native(fed=b"\x1b]8;;http://a/\xc2\x9bb\x1b\\x\x1b]8;;\x1b\\y")
    assert terminal.link(0, 0) == "http://a/b"
    assert terminal.link(0, 1) == ""


def test_a_place_that_is_none_is_an_error_and_not_a_crash(native: NativeOpener) -> None:
    with pytest.raises(LibraryError, match="finding row 99"):
        native().ref(99, 0)


def test_the_native_terminal_is_given_back_by_close_and_by_collection() -> None:
    closed, forgotten = (NativeTerminal.new(5, 20, scrollback_lines=10) for _ in range(2))
    closed.close()
    closed.close()
    given_back = forgotten._give_back
    assert given_back.alive
    del forgotten
    gc.collect()
    assert not given_back.alive
