"""How options are read."""

from __future__ import annotations

import pytest
import typer

from cloche.cli.options import parse_duration, parse_env, parse_labels


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("15m", 900.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("1.5s", 1.5),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


def test_no_duration_is_none() -> None:
    assert parse_duration(None) is None


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5x", "5 s", "s", "1h-5m", "٣s"])
def test_what_is_no_duration_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="such as 90s, 15m, 2h or 1h30m"):
        parse_duration(text)


def test_variables_are_said_or_taken_from_here() -> None:
    here = {"HERE": "x=y", "OTHER": "z"}
    assert parse_env(["A=1", "B=", "C=a=b", "HERE"], here) == {"A": "1", "B": "", "C": "a=b", "HERE": "x=y"}
    assert parse_env(None, here) == {}


@pytest.mark.parametrize(
    ("text", "match"),
    [("ABSENT", "ABSENT is not set here"), ("=1", "names no variable"), ("", "names no variable")],
)
def test_a_variable_there_is_not_is_refused(text: str, match: str) -> None:
    with pytest.raises(typer.BadParameter, match=match):
        parse_env([text], {})


def test_labels_are_keys_with_values() -> None:
    assert parse_labels(["a=1", "b="]) == {"a": "1", "b": ""}
    assert parse_labels(None) == {}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="give KEY=VALUE"):
        parse_labels([text])
