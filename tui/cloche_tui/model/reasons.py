"""The reasons a person has given for denying calls, the newest first, to be given again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_REASON = 500
"""Characters; a hub takes no more."""
MOST = 8


def read_reasons(remembered: Sequence[Any]) -> list[str]:
    """What is remembered, as far as it is a list of reasons."""
    return [one for one in remembered if isinstance(one, str) and 0 < len(one) <= MAX_REASON][:MOST]


def with_reason(reasons: Sequence[str], given: str) -> list[str]:
    """The reasons after one more was given."""
    return [given, *(one for one in reasons if one != given)][:MOST]
