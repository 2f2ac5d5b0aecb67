"""Example values for tests: each with every field set, and a way to change what a test is about."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from cloche_hub.domain.approval import Approval, ApprovalState, OnDeadline
from cloche_hub.domain.console import Console, ConsoleKind, Viewer, ViewerMode
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


def approval(**changes: Any) -> Approval:
    """An approval that has been pending since `MOMENT`, of a call of `sandbox()`."""
    fields: dict[str, Any] = {
        "id": "apr_2c9m4x7qk1tz",
        "sandbox": "sb_7k2m9qx4tn0c",
        "sandbox_name": "mossy-acorn",
        "owner": "admin",
        "labels": {"team": "ml"},
        "callback": "cb_1",
        "method": "pay.transfer",
        "params": '{"amount":5,"to":"ann"}',
        "caller": {"pid": 7, "program": "python3", "uid": 1000},
        "rule": "payments",
        "rule_reason": "money leaves by hand",
        "state": ApprovalState.PENDING,
        "created_at": MOMENT,
        "deadline_at": MOMENT + timedelta(minutes=5),
        "on_deadline": OnDeadline.DENY,
    }
    text = (changes.get("params") or fields["params"]).encode()
    digest = {"params_sha256": hashlib.sha256(text).hexdigest(), "params_bytes": len(text)}
    return Approval(**{**fields, **digest, **changes})


def console(**changes: Any) -> Console:
    """An open console of `sandbox()` that nobody looks at, opened at `MOMENT`."""
    fields: dict[str, Any] = {
        "id": "con_4h7x2m9qk1tz",
        "sandbox": "sb_7k2m9qx4tn0c",
        "sandbox_name": "mossy-acorn",
        "owner": "admin",
        "labels": {"team": "ml"},
        "name": "1",
        "kind": ConsoleKind.PTY,
        "command": ("vim", "a.txt"),
        "user": None,
        "rows": 24,
        "cols": 80,
        "created_at": MOMENT,
        "created_by": "tok_1",
        "created_by_name": "ann's laptop",
    }
    return Console(**{**fields, **changes})


def viewer(number: int = 1, **changes: Any) -> Viewer:
    """A watching viewer of `console()`, there since `MOMENT`."""
    fields: dict[str, Any] = {
        "id": f"v{number}",
        "token": f"tok_{number}",
        "name": f"person {number}",
        "mode": ViewerMode.WATCHING,
        "rows": 30,
        "cols": 100,
        "since": MOMENT,
    }
    return Viewer(**{**fields, **changes})
