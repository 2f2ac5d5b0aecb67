"""The fields of a request, one by one. Those of each kind of request have tests of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloche_guest import fields
from cloche_wire.errors import BadRequest


def test_an_unknown_field_is_refused_by_its_name() -> None:
    with pytest.raises(BadRequest, match="unknown field 'extra'; known are: path, user"):
        fields.check_known({"path": "/", "extra": 1}, ("path", "user"))


@pytest.mark.parametrize("value", [None, "", 3, b"bytes", "a\0b"])
def test_a_text_must_be_there_and_be_one(value: object) -> None:
    with pytest.raises(BadRequest, match="path"):
        fields.text({"path": value}, "path")


def test_a_text_that_may_be_missing_may_be() -> None:
    assert fields.optional_text({}, "cwd") is None
    assert fields.optional_text({"cwd": ""}, "cwd") == ""


def test_a_flag_has_a_default() -> None:
    assert fields.flag({}, "follow", default=True)
    assert not fields.flag({"follow": False}, "follow", default=True)
    with pytest.raises(BadRequest, match="follow must be true or false, not 1"):
        fields.flag({"follow": 1}, "follow", default=True)


@pytest.mark.parametrize("value", [-1, 8, True, "3", 2.0])
def test_a_number_out_of_its_range_is_refused(value: object) -> None:
    with pytest.raises(BadRequest, match="mode must be a whole number from 0 to 7"):
        fields.optional_number({"mode": value}, "mode", most=7)


def test_a_number_may_be_missing_or_at_its_bounds() -> None:
    numbers = [fields.optional_number({"mode": value}, "mode", most=7) for value in (None, 0, 7)]
    assert numbers == [None, 0, 7]


def test_a_user_is_a_name_or_a_number() -> None:
    assert [fields.user({"user": value}) for value in ("root", 0, "0", None)] == ["root", "0", "0", None]


@pytest.mark.parametrize("value", ["", (1 << 32) - 1, "9" * 5000, True, "a\0b"])
def test_what_is_no_user_is_refused(value: object) -> None:
    with pytest.raises(BadRequest, match="user"):
        fields.user({"user": value})


@pytest.mark.parametrize("env", [["A=1"], {"": "x"}, {"A=B": "x"}, {"A": 1}, {"A": "a\0b"}])
def test_what_is_no_environment_is_refused(env: Any) -> None:
    with pytest.raises(BadRequest, match="env"):
        fields.environment({"env": env})


@pytest.mark.parametrize("check", [fields.shown, lambda value: fields.shown([value])])
def test_a_long_value_is_cut_in_a_message(check: Callable[[str], str]) -> None:
    assert len(check("x" * 1000)) == 61


@pytest.mark.parametrize(
    ("word", "number"),
    [("0", 0), ("064", 64), ("", None), ("+1", None), ("TERM", None), ("9" * 5000, 1 << 64)],
)
def test_a_text_of_digits_is_a_number_however_many_there_are(word: str, number: int | None) -> None:
    assert fields.decimal(word) == number
