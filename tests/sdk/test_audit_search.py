"""What of a filter the hub decides about events, and what the client."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.audit_search import MOST_READ, AuditPart, Question, event_fields
from cloche.errors import InternalError
from cloche.filters import parse_filter
from cloche.messages import AuditEvent


def event(detail: dict[str, Any] | None = None) -> AuditEvent:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return AuditEvent(7, at, "exec.started", "tok_1", "sb_1", detail or {}, "00" * 32, "11" * 32)


def texts_asked(source: str) -> list[str]:
    """The texts that a hub is asked for because of a filter."""
    message = Question.of(parse_filter(source)).message
    return [term["values"][0] for term in message if term["kind"] == "text"]


def test_without_expressions_the_hub_decides_all_of_it() -> None:
    wanted = parse_filter("nginx event=exec.* !label=team=blue")
    assert wanted is not None
    assert Question.of(wanted) == Question(wanted.message(), ())
    assert Question.of(None) == Question([], ())


def test_expressions_stay_here_and_the_hub_is_told_what_every_match_has_in_it() -> None:
    question = Question.of(parse_filter("event=exec.* /Fail(ed|ure)/ !/other/"))
    assert [term.values[0] for term in question.expressions] == ["Fail(ed|ure)", "other"]
    assert [(term["kind"], term["values"]) for term in question.message] == [
        ("field", ["exec.*"]),
        ("text", ["fail"]),
    ]


@pytest.mark.parametrize(
    ("expression", "texts", "match"),
    [
        ("print", "print", "print"),
        (r"exec.*python3", "exec python3", "exec python3"),
        (r"^\bhello\b$", "hello", "hello"),
        ("[abc]name", "name", "aname"),
        ("(x|y)name", "name", "xname"),
        ("names?", "name", "name"),
        ("x{100}y", "", "x" * 100 + "y"),
        ("abc{2}def", "def", "abccdef"),
        ("abc+d", "abc", "abcccd"),
        (r"a\.b", "", "a.b"),
        ("one|two", "", "two"),
        ("((one)|two)x", "", "twox"),
        (r"[(]abc\)def", "abc def", "(abc)def"),
        (r"\x41bc123", "", "Abc123"),
        (r"\0123", "", "\n3"),
        ("(?x)a b c d e", "", "abcde"),
        ("(?:abc)?d", "", "d"),
        ("(abc)*def", "def", "def"),
        ("ab", "", "ab"),
        ("äöüß", "", "äöüß"),
    ],
)
def test_texts_that_spare_reading_are_in_every_match(expression: str, texts: str, match: str) -> None:
    assert re.search(expression, match)
    assert texts_asked(f"/{expression}/") == texts.split()
    assert all(text in match for text in texts.split())


def test_an_expression_is_put_to_what_a_person_knows_an_event_by() -> None:
    names = {"tok_1": "laptop", "sb_1": "box"}
    for wanted in ("/^exec/", "/laptop/", "/^box$/", "/sb_1/", r'/"argv":\["ls"/', "!/nowhere/"):
        assert Question.of(parse_filter(wanted)).holds(event({"argv": ["ls"]}), names), wanted
    assert not Question.of(parse_filter("/laptop/")).holds(event(), {})


def test_an_expression_sees_only_so_much_of_a_detail() -> None:
    assert max(map(len, event_fields(event({"argv": ["x" * 9999]}), {}).texts)) == MOST_READ


def part(first: int, last: int, *numbers: int) -> AuditPart:
    return AuditPart(first, last, numbers, 99)


def test_a_part_is_read_from_a_message() -> None:
    message = {"first": 1, "last": 9, "numbers": [2, 3], "head": 99}
    assert AuditPart.parse(message) == part(1, 9, 2, 3)
    whole = AuditPart.parse({**message, "numbers": None})
    assert (whole.has_all, whole.numbers) == (True, range(1, 10))
    with pytest.raises(InternalError, match="not understood"):
        AuditPart.parse({**message, "numbers": 3})
    with pytest.raises(InternalError, match="a number that is none"):
        AuditPart.parse({**message, "numbers": ["3"]})


def test_a_part_in_pieces_is_the_same_part() -> None:
    whole = part(1, 20, 3, 5, 9, 14, 15)
    pieces = [part(1, 8, 3, 5), part(9, 14, 9, 14), part(15, 20, 15)]
    assert list(whole.pieces(2, newest_first=False)) == pieces
    assert list(whole.pieces(2, newest_first=True)) == pieces[::-1]
    assert list(part(4, 9).pieces(2, newest_first=True)) == [part(4, 9)]


def test_a_hub_is_never_asked_for_more_words_than_a_filter_has() -> None:
    words = " ".join(f"/word{number}.*more/" for number in range(31))
    assert len(Question.of(parse_filter(words)).message) == 1
