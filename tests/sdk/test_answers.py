"""Reading answers of the hub."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.answers import Answer
from cloche.errors import InternalError


def test_each_kind_of_field_is_read() -> None:
    read = Answer(
        "thing",
        {
            "text": "a",
            "whole": 3,
            "number": 2,
            "flag": True,
            "moment": "2026-01-02T03:04:05.678901Z",
            "mapping": {"a": "b"},
            "each": [1, 2],
            "null": None,
        },
    )
    assert (read.text("text"), read.whole("whole"), read.number("number"), read.flag("flag")) == (
        "a",
        3,
        2.0,
        True,
    )
    assert read.moment("moment") == datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert read.mapping("mapping", str) == {"a": "b"}
    assert read.each("each", str) == ["1", "2"]
    assert read.optional("null", read.text) is None
    assert read.optional("absent", read.text) is None
    assert read.optional("text", read.text) == "a"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({}, lambda answer: answer.text("key")),
        ({"key": 3}, lambda answer: answer.text("key")),
        ({"key": "3"}, lambda answer: answer.whole("key")),
        ({"key": True}, lambda answer: answer.whole("key")),
        ({"key": True}, lambda answer: answer.number("key")),
        ({"key": 1}, lambda answer: answer.flag("key")),
        ({"key": "yesterday"}, lambda answer: answer.moment("key")),
        ({"key": "2026-01-02T03:04:05"}, lambda answer: answer.moment("key")),
        ({"key": {"a": 1}}, lambda answer: answer.mapping("key", str)),
        ({"key": {1: "a"}}, lambda answer: answer.mapping("key", str)),
        ({"key": {}}, lambda answer: answer.each("key", str)),
        ({"key": {}}, lambda answer: answer.texts("key")),
        ({"key": ["a", 1]}, lambda answer: answer.texts("key")),
    ],
)
def test_a_field_that_is_not_as_agreed_is_named(value: Any, read: Any) -> None:
    with pytest.raises(InternalError, match=r"thing .*key.* is the hub of this version\?"):
        read(Answer("thing", value))


def test_an_answer_that_is_no_map_is_told() -> None:
    with pytest.raises(InternalError, match="thing is no map"):
        Answer("thing", [1])
