"""Reading parameters: every refusal names the field."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.fields import Fields
from cloche_hub.errors import BadRequest

Read = Callable[[Fields], object]

READS: dict[str, Read] = {
    "text": lambda fields: fields.text("x", "default"),
    "optional_text": lambda fields: fields.optional_text("x"),
    "flag": lambda fields: fields.flag("x", default=True),
    "whole": lambda fields: fields.whole("x", default=5, least=1, most=10),
    "optional_whole": lambda fields: fields.optional_whole("x", least=0, most=10),
    "seconds": lambda fields: fields.seconds("x", most=60),
    "texts": lambda fields: fields.texts("x", most=2),
    "wholes": lambda fields: fields.wholes("x", most=2, least=1, largest=9),
    "text_map": lambda fields: fields.text_map("x", most=2),
}
GOOD: dict[str, list[tuple[object, object]]] = {
    "text": [("a", "a"), ("", ""), ("é\n", "é\n")],
    "optional_text": [("a", "a")],
    "flag": [(False, False), (True, True)],
    "whole": [(1, 1), (10, 10)],
    "optional_whole": [(0, 0), (10, 10)],
    "seconds": [(60, 60.0), (0.001, 0.001)],
    "texts": [([], ()), (["a", "b"], ("a", "b")), (("a",), ("a",))],
    "wholes": [([], ()), ([1, 9], (1, 9)), ((3,), (3,))],
    "text_map": [({}, {}), ({"a": "b"}, {"a": "b"})],
}
ABSENT: dict[str, object] = {
    "text": "default",
    "optional_text": None,
    "flag": True,
    "whole": 5,
    "optional_whole": None,
    "seconds": None,
    "texts": (),
    "wholes": (),
    "text_map": {},
}
WRONG: dict[str, list[object]] = {
    "text": [1, b"a", ["a"], "a\0b", "\ud800", True],
    "optional_text": [1, "\0"],
    "flag": [0, "true", []],
    "whole": [0, 11, True, 1.0, "1", -(10**100)],
    "optional_whole": [-1, 11, False, 1.0, "1"],
    "seconds": [0, -1, 60.1, math.nan, math.inf, True, "60", 10**400],
    "texts": ["ab", {"a": "b"}, [1], ["a", None], ["a", "b", "c"], ["\0"]],
    "wholes": [1, "12", {"1": 2}, ["1"], [True], [1.0], [0], [10], [1, 2, 3]],
    "text_map": [["a"], "a", {1: "a"}, {"a": 1}, {"a": None}, {"a": "", "b": "", "c": ""}, {"\0": ""}],
}


@pytest.mark.parametrize(
    ("kind", "given_", "read"), [(k, g, r) for k, pairs in GOOD.items() for g, r in pairs]
)
def test_a_good_value_is_read(kind: str, given_: object, read: object) -> None:
    assert READS[kind](Fields({"x": given_})) == read


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("params", [{}, {"x": None}])
def test_an_absent_value_has_its_default(kind: str, params: dict[str, object]) -> None:
    assert READS[kind](Fields(params)) == ABSENT[kind]


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_by_the_fields_name(kind: str, value: object) -> None:
    with pytest.raises(BadRequest, match=r"\bx\b"):
        READS[kind](Fields({"x": value}))


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(anything)
def test_whatever_is_sent_there_is_a_value_or_a_short_refusal(value: object) -> None:
    for read in READS.values():
        try:
            read(Fields({"x": value}))
            said = ""
        except BadRequest as refusal:
            said = refusal.message
        assert len(said) < 400


def test_a_required_text_that_is_absent_is_named() -> None:
    with pytest.raises(BadRequest, match="x is missing"):
        Fields({}).text("x")


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadRequest, match=r"unknown field 'recipy'; known are: recipe, flavor"):
        Fields.of({"recipe": "python", "recipy": "python"}, ("recipe", "flavor"))


def test_a_request_without_fields_says_so() -> None:
    with pytest.raises(BadRequest, match="this request has none"):
        Fields.of({"x": 1}, ())


def test_known_fields_pass() -> None:
    assert Fields.of({"a": 1}, ("a", "b")).values == {"a": 1}


@pytest.mark.parametrize(
    ("params", "kind"), [(None, "nothing"), ([1], "a list"), (b"", "bytes"), (set(), "a set")]
)
def test_parameters_that_are_no_map_are_refused(params: object, kind: str) -> None:
    with pytest.raises(BadRequest, match=f"must be a map, not {kind}"):
        Fields.of(params, ())


def test_a_huge_wrong_value_is_not_repeated() -> None:
    with pytest.raises(BadRequest) as refusal:
        Fields.of({"x" * 100_000: 1}, ("a",))
    assert len(refusal.value.message) < 200
