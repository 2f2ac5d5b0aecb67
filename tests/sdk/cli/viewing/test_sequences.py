"""A stream cut into text, characters and sequences, wherever its pieces are cut."""

from __future__ import annotations

import random

import pytest

from cloche.cli.viewing.sequences import Character, Command, Control, Escape, Text, Token, Tokenizer


def _tokens(*pieces: str) -> list[Token]:
    tokenizer, found = Tokenizer(), []
    for piece in pieces:
        at = 0
        while at < len(piece):
            token, at = tokenizer.step(piece, at)
            if token is not None:
                found.append(token)
    return found


@pytest.mark.parametrize(
    ("stream", "tokens"),
    [
        ("hé ✓\r\n", [Text("hé ✓"), Character("\r"), Character("\n")]),
        ("\x1b[m", [Control("m", "")]),
        ("\x1b[?1049;25h", [Control("?h", "1049;25")]),
        ("\x1b[5 q\x1b[!p", [Control(" q", "5"), Control("!p", "")]),
        ("\x1b[38:2::1:2:3mx", [Control("m", "38:2::1:2:3"), Text("x")]),
        ("\x1bc\x1b(0\x1b#8", [Escape("c"), Escape("(0"), Escape("#8")]),
        ("\x1b]0;a;b\x07", [Command("0", "a;b")]),
        ("\x1b]104\x1b\\", [Command("104", ""), Escape("\\")]),
        ("\x1bktitle\x1b\\", [Command("k", "title"), Escape("\\")]),
    ],
)
def test_each_kind_is_found(stream: str, tokens: list[Token]) -> None:
    assert _tokens(stream) == tokens


@pytest.mark.parametrize(
    ("stream", "tokens"),
    [
        ("\x1b[3\n1m", [Character("\n"), Control("m", "31")]),
        ("\x1b[3\x7f1m", [Control("m", "31")]),
        ("\x1b(\r0", [Character("\r"), Escape("(0")]),
        ("\x1b[3\x1b[1m", [Control("m", "1")]),
        ("\x1b[3\x18m", [Text("m")]),
        ("\x1b\x1am", [Text("m")]),
        ("\x1b]0;a\x1b[1m", [Command("0", "a"), Control("m", "1")]),
        ("\x1b]0;a\x18b", [Text("b")]),
        ("\x1b[3é", [Text("é")]),
        ("\x1bé", [Text("é")]),
        ("\x1b[1?2h", []),
        ("a\x7f\x9b6n", [Text("a"), Text("6n")]),
    ],
)
def test_what_does_not_belong_in_a_sequence_counts_as_terminals_have_it(
    stream: str, tokens: list[Token]
) -> None:
    assert _tokens(stream) == tokens


@pytest.mark.parametrize("begin", ["P", "X", "^", "_"])
@pytest.mark.parametrize("end", ["\x1b\\", "\x18", "\x1a"])
def test_strings_are_swallowed_to_their_end(begin: str, end: str) -> None:
    rest = [token for token in _tokens(f"\x1b{begin}+q\x07544e\n", f"é;{end}x") if token != Escape("\\")]
    assert rest == [Text("x")]


def test_pieces_may_be_cut_anywhere() -> None:
    stream = "a\x1b[1;31mb\x1b]2;title\x1b\\\x1bPq\x1b\\\x1b(0\x1b[?25l\n\x1b[3\x18c"
    whole = _tokens(stream)
    for cut in range(1, len(stream)):
        assert _tokens(stream[:cut], stream[cut:]) == whole
    assert [token for token in _tokens(*stream) if token != Text("")] == whole


def test_of_a_sequence_that_never_ends_little_is_kept_and_it_counts_for_nothing() -> None:
    tokenizer = Tokenizer()
    for begin, most in (("\x1b[", 300), ("\x1b]0;", 5000), ("\x1b(", 300), ("\x1bP", 300)):
        filler = "(" if begin == "\x1b(" else "1"
        for piece in (begin, *(filler * 1000 for _ in range(20))):
            at = 0
            while at < len(piece):
                token, at = tokenizer.step(piece, at)
                assert token is None
        assert len(tokenizer._kept) <= most
        assert not tokenizer.is_between
        for piece in ("\x18", "x"):
            token, _ = tokenizer.step(piece, 0)
        assert token == Text("x")


@pytest.mark.parametrize("stream", ["\x1b[" + "1" * 300 + "m", "\x1b]0;" + "a" * 5000 + "\x07"])
def test_one_that_is_too_long_is_dropped_to_its_end(stream: str) -> None:
    assert _tokens(stream, "x") == [Text("x")]


def test_any_soup_is_cut_to_its_end() -> None:
    soup = random.Random(4)
    for _ in range(200):
        _tokens(*("".join(soup.choices("\x1b[]P?;0m\x07\\\x18\né\x9bk ", k=50)) for _ in range(3)))
