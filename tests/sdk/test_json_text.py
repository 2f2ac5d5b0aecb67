"""JSON that a person reads or writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cloche.json_text import brief_json, parse_json, shown_json

HOSTILE: dict[str, Any] = {
    "\x1b[2J": "\x9b31m\u202e\u2028\ud800\n\t",
    "vim: set modeline": ["/* ex: set x */", "vi:set x", "Local Variables: x", "-*- mode: x -*-", "vim700:x"],
    "plain": ["https://example.com:1/*-*", "index: 3", "é😀"],
}


def test_what_is_shown_is_the_value_and_harmless() -> None:
    text = shown_json(HOSTILE)
    assert json.loads(text) == HOSTILE
    assert text.replace("\n", "").isprintable()
    assert [
        order for order in ("vim:", "ex:", "vi:set", "ables:", "-*-", "vim700:") if f" {order}" in text
    ] == []
    assert [order for order in ('"vim:', '"vi:', '"-*-') if order in text] == []
    assert '"https://example.com:1/*-*"' in text
    assert '"index: 3"' in text
    assert "é😀" in text


@pytest.mark.parametrize(
    "hidden",
    [
        "\u034f",
        "\ufe0f",
        "\U000e0101",
        "\u3164",
        "\u1161",
        "\U0001d159",
        "\u115f",
        "\uffa0",
        "\u2800",
        "\u0338",
        "\u20dd",
        "\x7f",
        "\xad",
    ],
)
def test_what_nobody_would_see_is_escaped(hidden: str) -> None:
    value = {f"k{hidden}": f"al{hidden}ice"}
    for text in (shown_json(value), brief_json(value, most=200)):
        assert hidden not in text
        assert json.loads(text) == value


def test_what_is_shown_briefly_is_one_line_that_is_cut() -> None:
    assert brief_json({"b": 1, "a": "\x1b\n"}, most=40) == '{"a": "\\u001b\\n", "b": 1}'
    assert brief_json("x" * 100, most=10) == '"xxxxxxxx…'
    assert brief_json("\u202e" * 100, most=8) == '"\\u202e…'


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', "NaN", "[" * 100_000, "1 2"])
def test_what_two_readers_could_understand_differently_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)
