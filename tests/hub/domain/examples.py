"""Example values for tests: each with every field set, and a way to change what a test is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cloche_hub.domain.sandbox import Sandbox, State

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def sandbox(**changes: Any) -> Sandbox:
    """A sandbox being created at `MOMENT`."""
    fields: dict[str, Any] = {
        "id": "sb_7k2m9qx4tn0c",
        "name": "mossy-acorn",
        "owner": "admin",
        "recipe": "python",
        "flavor": "small",
        "state": State.CREATING,
        "created_at": MOMENT,
        "lease_s": 60.0,
    }
    return Sandbox(**{**fields, **changes})
