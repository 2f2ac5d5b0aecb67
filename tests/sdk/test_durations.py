"""Durations as people type them."""

from __future__ import annotations

import pytest

from cloche.durations import parse_duration
from cloche.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1d", 86400),
        ("1.5h", 5400),
        ("250ms", 0.25),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_numbers_with_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 m", "-5", "5x", "1h30", "٣s", "1e3"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadRequest, match="is no duration; give one such as 90s"):
        parse_duration(text)
