"""Names and numbers of signals."""

from __future__ import annotations

import signal

import pytest

from cloche.errors import BadRequest
from cloche.signals import NUMBERS, signal_name, signal_number, told_signal


@pytest.mark.parametrize("given", ["TERM", "SIGTERM", "term", 15, signal.SIGTERM])
def test_a_signal_is_named_in_any_usual_way(given: str | int) -> None:
    assert signal_name(given) == "TERM"


@pytest.mark.parametrize("given", ["", "SIG", "NOPE", "15", 0, -1, 99])
def test_a_signal_that_is_none_is_refused_with_what_would_do(given: str | int) -> None:
    with pytest.raises(BadRequest, match="give a name such as TERM"):
        signal_name(given)


def test_the_numbers_are_those_of_linux() -> None:
    here = {name.removeprefix("SIG"): number.value for name, number in signal.Signals.__members__.items()}
    assert {name: here[name] for name in NUMBERS} == NUMBERS


def test_whatever_the_guest_says_has_a_name() -> None:
    assert [told_signal(value) for value in ("KILL", "SIGKILL", 9, 34, "34")] == [
        "KILL",
        "KILL",
        "KILL",
        "34",
        "34",
    ]


def test_the_number_of_a_signal_is_found_again() -> None:
    assert [signal_number(name) for name in ("KILL", "34", "NOPE")] == [9, 34, 0]
