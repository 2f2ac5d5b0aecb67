"""The time of day for the services: one place to replace in tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells the time of day."""

    now: Callable[[], datetime] = _utc_now
