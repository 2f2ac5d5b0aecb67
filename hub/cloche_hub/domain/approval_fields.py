"""An approval as plain values: what clients get of it, and the command that is run for each."""

from __future__ import annotations

import json
from typing import Any

from cloche_hub.domain.approval import Approval, diff
from cloche_hub.domain.times import to_text


def approval_fields(approval: Approval) -> dict[str, Any]:
    """Everything of an approval, in texts, numbers, lists and maps; `params` are JSON texts as they are, or cut: None."""
    fields: dict[str, Any] = {
        "id": approval.id,
        "sandbox": approval.sandbox,
        "sandbox_name": approval.sandbox_name,
        "owner": approval.owner,
        "labels": dict(approval.labels),
        "callback": approval.callback,
        "method": approval.method,
        "params": approval.params,
        "params_sha256": approval.params_sha256,
        "params_bytes": approval.params_bytes,
        "caller": dict(approval.caller),
        "rule": approval.rule,
        "rule_reason": approval.rule_reason,
        "state": str(approval.state),
        "outcome": approval.outcome and str(approval.outcome),
        "created_at": to_text(approval.created_at),
        "deadline_at": to_text(approval.deadline_at),
        "on_deadline": str(approval.on_deadline),
        "decided_at": approval.decided_at and to_text(approval.decided_at),
        "decided_by": approval.decided_by,
        "decided_by_name": approval.decided_by_name,
        "reason": approval.reason,
    }
    if approval.approved_params is not None:
        fields["approved_params"] = approval.approved_params
        fields["diff"] = diff(approval)
    return fields


def approval_json(approval: Approval) -> str:
    """The same as one line of JSON, for programs that are no client: there, parameters are the JSON they stand for."""
    fields = approval_fields(approval)
    for name in ("params", "approved_params"):
        if fields.get(name) is not None:
            fields[name] = json.loads(fields[name])
    return json.dumps(fields, ensure_ascii=False)
