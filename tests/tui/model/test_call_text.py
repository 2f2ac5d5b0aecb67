"""A call is shown as it is: readable, bounded, and without a way for a guest to paint something else."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_tui.model.call_text import DEEP, MANY, Path, call_lines, cut_lines, summary
from cloche_tui.model.roles import Role, plain_text


def texts(params: Any, *toggled: Path, method: str = "pay.send") -> list[str]:
    return [plain_text(one.line) for one in call_lines(method, params, toggled=frozenset(toggled))]


def folds(params: Any, *toggled: Path) -> list[Path]:
    return [one.fold for one in call_lines("m", params, toggled=frozenset(toggled)) if one.fold is not None]


def test_a_call_is_its_method_and_its_parameters_as_indented_json() -> None:
    assert texts({"to": "alice", "amount": 3.5, "memo": None, "now": True, "tags": ["a", 1], "more": {}}) == [
        "pay.send({",
        '  "amount": 3.5,',
        '  "memo": null,',
        '  "more": {},',
        '  "now": true,',
        '  "tags": ["a", 1],',
        '  "to": "alice"',
        "})",
    ]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (None, ["m(null)"]),
        ({}, ["m({})"]),
        ("a", ['m("a")']),
        ([1, {"b": 2}], ["m([", "  1,", '  {"b": 2}', "])"]),
    ],
)
def test_parameters_are_any_json_value(params: Any, expected: list[str]) -> None:
    assert texts(params, method="m") == expected


def test_what_is_short_and_plain_stands_on_one_line_and_what_is_not_does_not() -> None:
    assert texts({"a": {"b": [1]}, "c": {"d": 1, "e": "f"}, "g": ["x" * 40, "y" * 40]}) == [
        "pay.send({",
        '  "a": {',
        '    "b": [1]',
        "  },",
        '  "c": {"d": 1, "e": "f"},',
        '  "g": [',
        f'    "{"x" * 40}",',
        f'    "{"y" * 40}"',
        "  ]",
        "})",
    ]


def test_each_piece_has_the_role_of_what_it_is() -> None:
    first, second, *_ = (one.line for one in call_lines("pay.send", {"to\u202e": "a\n\x1b", "n": 1}))
    assert [(span.text, span.role) for span in first] == [
        ("pay.send", Role.ACCENT),
        ("(", Role.MUTED),
        ("{", Role.MUTED),
    ]
    assert [(span.text, span.role) for span in second][1:] == [
        ('"n"', Role.ACCENT),
        (": ", Role.MUTED),
        ("1", Role.GOOD),
        (",", Role.MUTED),
    ]


def test_what_hides_something_stands_out_and_usual_escapes_do_not() -> None:
    line = next(call_lines("m", 'a\u202e\x1b"\n')).line
    assert {span.text: span.role for span in line[2:-1]} == {
        '"a': Role.PLAIN,
        r"\u202e": Role.WARNING,
        r"\u001b": Role.WARNING,
        r"\"": Role.MUTED,
        r"\n": Role.MUTED,
        '"': Role.PLAIN,
    }


def test_a_text_of_several_lines_is_broken_behind_its_line_ends_behind_a_bar() -> None:
    forged = 'echo 1\n"amount": 3,\n\nend\n'
    assert texts({"script": forged, "zero": 0}) == [
        "pay.send({",
        r'  "script": "echo 1\n',
        r"    │ \"amount\": 3,\n",
        r"    │ \n",
        r'    │ end\n",',
        '  "zero": 0',
        "})",
    ]


def test_a_long_text_is_folded_with_its_size_and_unfolds() -> None:
    params = {"a": "é" * 3000, "b": 1}
    assert texts(params)[1] == f'  "a": "{"é" * 39}" … 5.9 KiB, enter unfolds,'
    assert folds(params) == [("a",)]
    assert texts(params, ("a",))[1] == f'  "a": "{"é" * 3000}",'
    assert folds(params, ("a",)) == [("a",)]


def test_a_text_of_many_lines_is_folded_to_its_first_one() -> None:
    params = ["x\n" * 20]
    assert texts(params)[1] == r'  "x\n" … 20 lines, 40 B, enter unfolds'
    assert len(texts(params, (0,))) == 22


def test_a_folded_text_never_ends_with_half_an_escape() -> None:
    shown = texts("\u202e" * 100)[0]
    assert shown == 'pay.send("' + r"\u202e" * 39 + '" … 300 B, enter unfolds)'
    assert texts("\\" * 300)[0] == 'pay.send("' + r"\\" * 39 + '" … 300 B, enter unfolds)'


def test_a_guest_cannot_write_the_note_of_a_fold() -> None:
    note = '" … 5.9 KiB, enter unfolds,'
    assert texts({"a": note})[1] == r'  "a": "\" … 5.9 KiB, enter unfolds,"'


def test_what_is_large_is_folded_with_its_size_and_unfolds() -> None:
    params = {"all": {f"k{number:03}": "v" * 50 for number in range(40)}, "z": 1}
    assert texts(params) == [
        "pay.send({",
        '  "all": { … 40 members, 2.3 KiB, enter unfolds },',
        '  "z": 1',
        "})",
    ]
    assert len(texts(params, ("all",))) == 4 + 41
    assert folds(params, ("all",)) == [("all",)]


def test_all_parameters_together_are_never_folded_into_one_line() -> None:
    assert len(texts({f"k{number}": "v" * 100 for number in range(40)})) == 42


def test_what_is_deep_is_folded_and_unfolds_step_by_step() -> None:
    params: Any = {"end": [[1], [2]]}
    for _ in range(DEEP + 1):
        params = {"in": params}
    path = ("in",) * DEEP
    assert texts(params)[DEEP] == f'{"  " * DEEP}"in": {{ … 1 member, 23 B, enter unfolds }}'
    assert folds(params) == [path]
    assert folds(params, path) == [path, (*path, "in")]


def test_of_many_members_the_first_are_shown_and_the_rest_unfolds() -> None:
    params = {"many": list(range(1000, 1200))}
    shown = texts(params)
    assert len(shown) == MANY + 5
    assert shown[MANY + 1 : MANY + 4] == ["    1049,", "    … 150 more, enter unfolds", "  ]"]
    assert folds(params) == [("many", None)]
    assert len(texts(params, ("many", None))) == 204


def test_what_a_row_has_no_room_for_is_indented_like_its_value() -> None:
    assert [one.indent for one in call_lines("m", {"a": {"b": "x", "c": [[1]]}})] == [0, 2, 6, 4, 6, 4, 2, 0]


def test_parameters_that_are_not_here_are_told_by_size_and_digest() -> None:
    (line,) = cut_lines("pay\x1b", 5 << 10, "ab" * 32)
    assert plain_text(line.line) == r"pay\x1b(5.0 KiB of JSON, digest abababababab…)"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(json_values)
def test_whatever_a_guest_sends_is_harmless_and_reads_back_as_what_it_is(params: Any) -> None:
    lines = texts(params, method="m")
    assert all(line.isprintable() for line in lines)
    if not folds(params):
        broken = "\n".join(lines).removeprefix("m(").removesuffix(")")
        assert json.loads(_joined(broken)) == params


def _joined(text: str) -> str:
    """The lines with each text in one piece again."""
    whole = ""
    for line in text.split("\n"):
        start = line.lstrip(" ")
        whole += start.removeprefix("│ ") if start.startswith("│ ") and whole.endswith(r"\n") else f"\n{line}"
    return whole


@given(json_values, st.integers(min_value=20, max_value=120))
def test_a_summary_is_one_printable_line_of_bounded_length(params: Any, most: int) -> None:
    line = summary("pay.send", params, most=most)
    assert line.isprintable()
    assert len(line) <= most


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"to": "alice", "amount": 3}, 'pay.send(amount: 3, to: "alice")'),
        ({"a b": 1, "": {"c": [1]}}, 'pay.send("": {"c": [1]}, "a b": 1)'),
        ({}, "pay.send()"),
        ([1, 2], "pay.send([1, 2])"),
        (None, "pay.send(null)"),
        ({"a": "x" * 100}, 'pay.send(a: "xxxxxxxxxxxxxxxxxxxxxxxxxx…'),
        ({"to": "\u202ealice\x07"}, r'pay.send(to: "\u202ealice\u0007")'),
    ],
)
def test_a_summary_names_the_members(params: Any, expected: str) -> None:
    assert summary("pay.send", params, most=40) == expected


@pytest.mark.parametrize(
    ("params", "toggled"),
    [
        ({"t": "\n" * 1_000_000}, ("t",)),
        ({"t": [[]] * 1_000_000}, ("t", None)),
    ],
)
def test_lines_are_made_as_they_are_asked_for(params: Any, toggled: Path) -> None:
    lines = call_lines("m", params, toggled=frozenset({toggled, ("t",)}))
    seen = [plain_text(next(lines).line) for _ in range(60)]
    assert seen[0] == "m({"
    assert len(seen) == 60
    assert inspect.isgenerator(lines)
