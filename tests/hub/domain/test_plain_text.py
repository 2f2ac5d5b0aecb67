"""What a machine's serial console says, as plain text."""

from __future__ import annotations

import pytest

from cloche_hub.domain.plain_text import GAP, PlainText


def shown(*pieces: bytes) -> str:
    text = PlainText()
    return "".join(text.feed(piece) for piece in pieces)


def test_text_is_shown_with_a_terminals_line_ends_however_the_guest_ends_its_lines() -> None:
    assert shown(b"one\r\ntwo\nthree\tthree\r") == "one\r\ntwo\r\nthree\tthree\r"
    assert shown(b"one\r", b"\ntwo") == "one\r\r\ntwo"


@pytest.mark.parametrize(
    "sequence",
    [
        b"\x1bc",
        b"\x1b[?7l",
        b"\x1b[2J",
        b"\x1b[38;5;1m",
        b"\x1b]0;title\x07",
        b"\x1b]52;c;aGVsbG8=\x1b\\",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b(B",
        b"\x07",
        b"\x08",
        b"\x00",
        "\x9b2J".encode(),
        "\u202e".encode(),
    ],
)
def test_what_would_do_something_to_a_terminal_is_dropped_however_it_is_cut(sequence: bytes) -> None:
    whole = b"a" + sequence + b"b"
    assert shown(whole) == "ab"
    for cut in range(1, len(whole)):
        assert shown(whole[:cut], whole[cut:]) == "ab"
    assert shown(*(bytes([byte]) for byte in whole)) == "ab"


def test_bytes_that_are_no_utf_8_are_still_shown() -> None:
    assert shown(b"\xc3", b"\xa4 \xff!") == "ä \ufffd!"


def test_a_sequence_without_an_end_does_not_hold_up_what_comes_after_it() -> None:
    text = PlainText()
    assert text.feed(b"\x1b]0;" + b"x" * 200) == ""
    assert text.feed(b"x" * 100).endswith("x" * 100)
    assert text.feed(b"after") == "after"


def test_a_gap_is_a_line_of_its_own_and_nothing_goes_on_behind_it() -> None:
    text = PlainText()
    text.feed(b"half a li")
    assert text.feed_gap() == f"\r\n{GAP}\r\n"
    text.feed(b"ne\r\n\x1b[1;\xc3")
    assert text.feed_gap() == f"{GAP}\r\n"
    assert text.feed(b"") == ""
    assert text.feed(b"0m done") == "0m done"
