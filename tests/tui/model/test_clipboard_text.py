"""A person is asked in words that fit, with the program's text cut, made printable, and last."""

from __future__ import annotations

import pytest

from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.clipboard_text import asked, copied, missed, ways_to_ask
from cloche_tui.model.roles import line, plain_text


def test_the_question_is_told_in_ever_fewer_words() -> None:
    request = CopyRequest("ls -la /tmp\nand something more to be seen")
    ways = [plain_text(way) for way in ways_to_ask(request, "box/1", "Y")]
    assert ways == [
        r"box/1 wants to copy 41 characters to your clipboard: Y lets it (ls -la /tmp\nand someth…)",
        r"wants to copy 41 characters: Y lets it (ls -la /tmp\nand someth…)",
        "box/1 wants to copy 41 characters to your clipboard: Y lets it",
        "wants to copy 41 characters: Y lets it",
    ]


def test_what_is_refused_is_told_with_the_reason_and_without_a_key() -> None:
    ways = [plain_text(way) for way in ways_to_ask(CopyRequest("", "no base64"), "box/1", "Y")]
    assert ways == [
        "box/1 wanted to copy to your clipboard, refused: no base64",
        "wanted to copy, refused: no base64",
    ]


@pytest.mark.parametrize("text", ["\t" * 60, "\u202e" * 60, "\u2028\u200b" * 9000, "x" * 60])
def test_a_text_cannot_be_long_nor_do_anything_where_it_is_told(text: str) -> None:
    request = CopyRequest(text)
    for told in (asked(request, "box/1", "Y"), copied(request, "box/1")):
        assert told.isprintable()
        assert len(told) < 90
    for way in ways_to_ask(request, "box/1", "Y"):
        assert line(*way) == way


def test_that_it_was_copied_is_told_with_how_it_begins() -> None:
    assert copied(CopyRequest("é"), "box/1") == "copied 1 character of box/1: é"
    assert asked(CopyRequest("é"), "box/1", "Y") == "box/1 wants to copy 1 character: Y again lets it (é)"


def test_that_it_is_too_late_is_told_without_the_text() -> None:
    assert (
        missed(CopyRequest("secret"))
        == "not copied: while this was hidden its program asked to copy 6 characters"
    )
