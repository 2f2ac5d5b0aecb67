"""Durations as people type them: `90s`, `10m`, `2h`, `1h30m`, `1d`, `0.5s`; a number alone is seconds. Pure."""

from __future__ import annotations

import re

from cloche.errors import BadRequest

_PARTS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(ms|s|m|h|d))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds in a duration.

    Raises:
        BadRequest: it is none; the message says what one looks like.
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _DURATION.fullmatch(text):
        raise BadRequest(
            f"{text!r} is no duration; give one such as 90s, 10m, 2h or 1h30m (units are ms, s, m, h and d; "
            "a number alone is seconds)"
        )
    return sum(float(number) * _PARTS[unit] for number, unit in _PART.findall(text))
