"""Edited parameters are judged as they are typed, and what an edit changes can be seen before it counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.callback_json import parse_canonical
from cloche_hub.errors import BadRequest, TooLarge
from cloche_tui.model.edits import Good, Wrong, changes, check, editable, hub_diff, is_same
from cloche_tui.model.roles import Role, plain_text


def why(text: str) -> str:
    checked = check(text)
    assert isinstance(checked, Wrong)
    return checked.text


@pytest.mark.parametrize("value", [{"a": [1, 2.5, "x", None, True]}, [], "", 0, False, {"\u202e": "\x1b"}])
def test_good_json_is_its_value(value: Any) -> None:
    assert check(json.dumps(value)) == Good(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1, column 1: nothing is there; close this to leave the call as it is"),
        ("{", "line 1, column 2: a name in double quotes, or the end of the map, is missing here"),
        ('{\n  "a" 1\n}', "line 2, column 7: a colon is missing here"),
        (
            '{\n  "a": 1\n  "b": 2\n}',
            "line 3, column 3: a comma, or the end of the list or map, is missing here",
        ),
        ('{"a": }', "line 1, column 7: a value is missing here"),
        ('{\n "a": "x', "line 2, column 7: a text that begins here does not end"),
        ('["a\tb"]', "line 1, column 4: a line end or tab in a text; write \\n or \\t"),
        (r'["\q"]', "line 1, column 3: no such escape; write \\\\ for a backslash"),
        (r'["\u12"]', "line 1, column 4: four hexadecimal digits are missing behind \\u"),
        ("1 2", "line 1, column 3: there is more behind the end of the value"),
        ('{\n "a": 1,\n "a": 2}', 'line 3, column 2: the name "a" comes twice in this map'),
        ('{"a": NaN}', "line 1, column 7: NaN is no number in JSON"),
        ("[-Infinity]", "line 1, column 2: -Infinity is no number in JSON"),
        ("[18446744073709551616]", "line 1, column 2: a number of more than 64 bits; give it as a text"),
        ("[1, 1e400]", "line 1, column 5: too large a number; give it as a text"),
        ('["\\ud800"]', "line 1, column 2: half of a pair of \\u escapes, which is no character"),
        ('"\ud800"', "line 1, column 2: half a character"),
        ("[" * 65 + "]" * 65, "line 1, column 65: more than 64 lists and maps inside one another"),
        ("[" * 50_000 + "]" * 50_000, "line 1, column 65: more than 64 lists and maps inside one another"),
        (
            " null",
            "line 1, column 2: null stands for what was asked; close this and approve the call as it is",
        ),
        ('"' + "x" * (128 << 10) + '"', "line 1, column 1: 128 KiB of JSON; at most 128 KiB are taken"),
        ("9" * 5000, "line 1, column 1: a number of more than 64 bits; give it as a text"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, expected: str) -> None:
    assert why(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}',
        '["a", "a"]',
        '{"a": "a", "b": "a"}',
        '[",:{", "}"]',
        r'{"\"": 1}',
    ],
)
def test_the_same_name_in_another_map_is_another(text: str) -> None:
    assert check(text) == Good(json.loads(text))


@given(
    st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                '"a"',
                '"b"',
                "1",
                "-2.5e3",
                "null",
                "true",
                "NaN",
                '"\\u00e9"',
                " ",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_what_is_taken_here_is_what_a_hub_takes(text: str) -> None:
    checked = check(text)
    try:
        value = parse_canonical(text.encode(), what="params")[0]
    except (BadRequest, TooLarge):
        assert isinstance(checked, Wrong)
    else:
        assert checked == Good(value) if value is not None else isinstance(checked, Wrong)


def test_what_is_edited_is_the_value_in_which_everything_can_be_seen() -> None:
    text = editable({"to": "\u202ealice\x1b", "amount": 3})
    assert text == '{\n  "amount": 3,\n  "to": "\\u202ealice\\u001b"\n}'
    assert check(text) == Good({"to": "\u202ealice\x1b", "amount": 3})


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.0), ({"a": 1}, {"a": 1, "b": None})])
def test_values_that_python_takes_for_the_same_are_not(one: Any, other: Any) -> None:
    assert not is_same(one, other)


def test_the_order_of_members_makes_no_difference() -> None:
    assert is_same({"a": 1, "b": [2]}, {"b": [2], "a": 1})


def test_an_edit_is_shown_as_a_diff() -> None:
    asked = {"amount": 300, "to": "alice", **{f"x{number}": number for number in range(5)}}
    lines = changes(asked, {**asked, "amount": 3, "memo": "less"})
    assert [(plain_text(line), line[0].role) for line in lines] == [
        ("line 1", Role.MUTED),
        (" {", Role.PLAIN),
        ('-  "amount": 300,', Role.BAD),
        ('+  "amount": 3,', Role.GOOD),
        ('+  "memo": "less",', Role.GOOD),
        ('   "to": "alice",', Role.PLAIN),
        ('   "x0": 0,', Role.PLAIN),
    ]


def test_a_diff_counts_lines_from_the_beginning() -> None:
    asked = {f"x{number:02}": number for number in range(40)}
    first, *_ = changes(asked, {**asked, "x30": "y"})
    assert plain_text(first) == "line 30"


def test_an_edit_that_changes_nothing_has_no_diff() -> None:
    assert changes({"a": 1}, {"a": 1}) == ()


def test_a_large_edit_is_shown_as_one_change() -> None:
    lines = changes(list(range(3000)), list(range(5000, 8001)))
    assert plain_text(lines[0]) == "line 2"
    assert len(lines) == 1 + 3000 + 3001


def test_what_hides_in_a_diff_is_seen() -> None:
    lines = changes({"a": "x"}, {"a": "\u202ex"})
    assert plain_text(lines[-2]) == '+  "a": "\\u202ex"'
    (line,) = hub_diff(["--- asked", "+++ approved", '+  "a": "\x9b\u202e"'])
    assert plain_text(line) == '+  "a": "\\u009b\\u202e"'
