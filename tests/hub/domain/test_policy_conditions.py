"""Conditions on parameters: when they hold, when they do not, and when nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.callback_json import JsonValue
from cloche_hub.domain.policy_conditions import AtLeast, AtMost, Condition, Kind, Like, OneOf, Test, kind_of
from tests.hub.domain.test_callback_json import values

PARAMS: JsonValue = {
    "amount": 100,
    "to": {"country": "CH", "07": "map key"},
    "items": [{"sku": "a"}, {"sku": "b"}],
    "dotted.key": 1,
    "nothing": None,
    "urgent": True,
}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Kind.NULL),
        (True, Kind.FLAG),
        (0, Kind.NUMBER),
        (0.5, Kind.NUMBER),
        ("", Kind.TEXT),
        ([], Kind.LIST),
        ({}, Kind.MAP),
    ],
)
def test_each_value_has_the_kind_json_gives_it(value: JsonValue, kind: Kind) -> None:
    assert kind_of(value) is kind


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        (AtMost(100), 100, True),
        (AtMost(100), 100.0, True),
        (AtMost(100), 100.00000000000001, False),
        (AtMost(100), -1, True),
        (AtMost(2**53), 2**53 + 1, False),
        (AtMost(1), True, None),
        (AtMost(100), "100", None),
        (AtMost(100), None, None),
        (AtMost(100), [1], None),
        (AtLeast(1.5), 2, True),
        (AtLeast(1.5), 1, False),
        (AtLeast(0), False, None),
        (AtLeast(0), {}, None),
        (OneOf(("CH", "DE")), "CH", True),
        (OneOf(("CH", "DE")), "ch", False),
        (OneOf(("CH", "DE")), "CH ", False),
        (OneOf(("CH", "DE")), 1, None),
        (OneOf(("é",)), "e\u0301", False),
        (OneOf((1,)), 1.0, True),
        (OneOf((1,)), True, None),
        (OneOf((True,)), True, True),
        (OneOf((True,)), False, False),
        (OneOf((True,)), 1, None),
        (OneOf((0, "")), False, None),
        (OneOf((0, "")), "", True),
        (OneOf((0, "")), None, None),
        (Like("https://example.com/*"), "https://example.com/a", True),
        (Like("https://example.com/*"), "https://example.com.evil/", False),
        (Like("*"), 1, None),
        (Like("a*"), "a" * 8192, True),
        (Like("a*"), "a" * 8193, None),
        (Like("b*"), "a" * 8193, None),
        (Like("*"), None, None),
    ],
)
def test_a_test_compares_only_what_is_of_its_type(test: Test, value: JsonValue, holds: bool | None) -> None:
    assert test.holds(value) is holds


@pytest.mark.parametrize(
    ("way", "holds"),
    [
        (("amount",), True),
        (("to", "country"), False),
        (("to", "07"), False),
        (("items", "1", "sku"), False),
        (("dotted.key",), False),
        (("missing",), None),
        (("amount", "missing"), None),
        (("to", "country", "0"), None),
        (("items", "2"), None),
        (("items", "-1"), None),
        (("items", "01", "sku"), None),
        (("items", "²", "sku"), None),
        (("items", "sku"), None),
        (("items", "9" * 9), None),
        (("nothing", "more"), None),
    ],
)
def test_a_way_leads_through_maps_by_name_and_through_lists_by_index(
    way: tuple[str, ...], holds: bool | None
) -> None:
    tests = (OneOf((100, "x")),)
    assert Condition(way, tests).holds(PARAMS) is holds


def test_no_steps_are_all_of_the_parameters() -> None:
    assert Condition((), (Like("rm *"),)).holds("rm -rf /") is True
    assert Condition((), (Like("rm *"),)).holds(PARAMS) is None


def test_one_test_that_fails_is_enough_whatever_another_cannot_tell() -> None:
    assert Condition(("amount",), (AtMost(5), Like("*"))).holds(PARAMS) is False
    assert Condition(("amount",), (Like("*"), AtLeast(5))).holds(PARAMS) is None
    assert Condition(("amount",), (AtLeast(5), AtMost(100))).holds(PARAMS) is True


@given(values, st.lists(st.text(max_size=3), max_size=3))
def test_no_parameters_make_a_condition_raise(params: JsonValue, way: list[str]) -> None:
    for test in (OneOf((1, "a", True)), AtLeast(0), AtMost(0.5), Like("a*")):
        assert Condition(tuple(way), (test,)).holds(params) in (True, False, None)
