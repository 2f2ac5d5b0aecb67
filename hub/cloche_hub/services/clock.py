"""The clock the services use: one place to replace in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Two clocks: one that tells the time of day, one that only goes forward."""

    now: Callable[[], datetime] = _utc_now
    monotonic_s: Callable[[], float] = time.monotonic
