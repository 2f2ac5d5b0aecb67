"""What the hub says of approvals, as typed values. Pure; see `cloche.messages`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from cloche.answers import Answer
from cloche.errors import InternalError


@dataclass(frozen=True, slots=True)
class ApprovalInfo:
    """One call out of a sandbox that waits, or has waited, for a person's decision."""

    id: str
    """`apr_…`."""
    sandbox: str
    """The id of the sandbox it comes from."""
    sandbox_name: str
    owner: str
    """Whose sandbox that is."""
    labels: Mapping[str, str]
    """The sandbox's."""
    callback: str
    """The call's id, unique in its sandbox."""
    method: str
    params: Any
    """As the guest asked; None where they are cut (`has_params`)."""
    caller: Mapping[str, str | int]
    """What the guest says of who calls: pid, uid, program. A hint, no proof."""
    rule: str
    """The rule of the policy that holds it, or `default`."""
    state: str
    """pending, approved, edited, denied, expired or abandoned."""
    created_at: datetime
    deadline_at: datetime
    on_deadline: str
    """deny or allow, if nobody decides by the deadline."""
    decided_at: datetime | None
    decided_by: str | None
    """The token's id, or `hub`."""
    reason: str | None
    """Why it was decided so, or came to nothing; while it waits, why the policy holds it."""
    approved_params: Any
    """What it goes on with if it was edited; else None."""
    diff: Sequence[str]
    """What an edit changed, as the lines of a unified diff."""

    params_bytes: int
    """The size of the parameters as canonical JSON, also where they are cut."""
    params_sha256: str
    """The digest of them, also where they are cut."""
    has_params: bool
    """Whether the parameters are here. Lists cut long ones, which `get` has; of a call that was not let through, long ones
    are not kept."""
    outcome: str | None = None
    """What it came to: let_through or refused; None while it waits, or if the hub does not say."""
    rule_reason: str | None = None
    """Why the policy holds it."""
    decided_by_name: str | None = None
    """The token's name when it decided."""

    @property
    def is_pending(self) -> bool:
        """Whether somebody can still decide."""
        return self.state == "pending"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("approval", value)
        return cls(
            id=read.text("id"),
            sandbox=read.text("sandbox"),
            sandbox_name=read.text("sandbox_name"),
            owner=read.text("owner"),
            labels=read.mapping("labels", str),
            callback=read.text("callback"),
            method=read.text("method"),
            params=_value(read.optional("params", read.text) or "null"),
            caller=read.mapping("caller", str, int),
            rule=read.text("rule"),
            state=read.text("state"),
            created_at=read.moment("created_at"),
            deadline_at=read.moment("deadline_at"),
            on_deadline=read.text("on_deadline"),
            decided_at=read.optional("decided_at", read.moment),
            decided_by=read.optional("decided_by", read.text),
            reason=read.optional("reason", read.text),
            approved_params=_value(read.optional("approved_params", read.text) or "null"),
            diff=read.optional("diff", read.texts) or (),
            params_bytes=read.whole("params_bytes"),
            params_sha256=read.text("params_sha256"),
            has_params=read.optional("params", read.text) is not None,
            outcome=read.optional("outcome", read.text),
            rule_reason=read.optional("rule_reason", read.text),
            decided_by_name=read.optional("decided_by_name", read.text),
        )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InternalError(
            "the hub's answer is not understood: an approval has params that are no JSON"
        ) from None
