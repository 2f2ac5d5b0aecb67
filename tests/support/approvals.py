"""Approvals as a hub tells them, for tests of what shows them.

apr(3, method="pay.send", params={"amount": 3}, deadline_s=40)
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from cloche import ApprovalInfo, Event

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def apr(number: int = 1, *, params: Any = None, deadline_s: float = 60, **changes: Any) -> ApprovalInfo:
    """A call that waits.

    Args:
        number: what its ids end with.
        params: any JSON value.
        deadline_s: how long after `NOW` its deadline is.
        changes: what else is different; `decided_s` says when it was decided, as seconds after `NOW`.
    """
    text = json.dumps(params, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    decided_s = changes.pop("decided_s", None)
    fields: dict[str, Any] = {
        "id": f"apr_{number:04}",
        "sandbox": "sb_0001",
        "sandbox_name": "box",
        "owner": "alice",
        "labels": {"team": "ml"},
        "callback": f"cb_{number}",
        "method": "pay.send",
        "params": params,
        "caller": {"pid": 7, "uid": 1000, "program": "python3"},
        "rule": "by hand",
        "state": "pending",
        "created_at": NOW - timedelta(seconds=3),
        "deadline_at": NOW + timedelta(seconds=deadline_s),
        "on_deadline": "deny",
        "decided_at": None if decided_s is None else NOW + timedelta(seconds=decided_s),
        "decided_by": None,
        "reason": None,
        "approved_params": None,
        "diff": (),
        "params_bytes": len(text.encode(errors="replace")),
        "params_sha256": hashlib.sha256(text.encode(errors="replace")).hexdigest(),
        "has_params": True,
        "rule_reason": "money leaves by hand",
    }
    return ApprovalInfo(**{**fields, **changes})


def decided(
    approval: ApprovalInfo, state: str = "approved", *, by: str = "ann", **changes: Any
) -> ApprovalInfo:
    """The same call after a decision."""
    number = int(approval.id.removeprefix("apr_"))
    outcome = "let_through" if state in ("approved", "edited") else "refused"
    fields = {
        "state": state,
        "decided_s": 0,
        "decided_by": f"tok_{by}",
        "decided_by_name": by,
        "outcome": outcome,
    }
    return apr(number, method=approval.method, params=approval.params, **{**fields, **changes})


def told(approval: ApprovalInfo, change: str = "changed") -> Event:
    """What a hub tells of it."""
    return Event("approval", change, approval)
