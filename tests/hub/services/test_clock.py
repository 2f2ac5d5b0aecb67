"""The clock of the services."""

from __future__ import annotations

from datetime import UTC

from cloche_hub.services.clock import Clock


def test_the_time_of_day_has_a_zone() -> None:
    assert Clock().now().tzinfo is UTC
