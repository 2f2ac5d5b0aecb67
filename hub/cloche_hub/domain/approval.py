"""An approval as a value: one call out of a sandbox that policy holds until a human has decided.

    pending ──► approved | edited | denied      somebody decided; the first decision stands
       ├──────► expired                         nobody did in time: the policy says what that means
       └──────► abandoned                       the caller gave up, or its sandbox ended

Pure: the store keeps approvals, services act on them. Nothing here reads a clock.

Rule: the only way to another state is `move`, along `TRANSITIONS`; whoever comes second learns who was first.
Rule: parameters are canonical JSON texts, so that what was approved, shown and audited are the same bytes.
Rule: what came to nothing keeps no long parameters: the guest chose their size, and nobody acted on them. Their digest
stays.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from cloche_hub.domain.sandbox import NOTHING
from cloche_hub.errors import BadRequest, Conflict

MAX_REASON = 500
"""Characters of a reason."""
SHORT_BYTES = 4 << 10
"""Of parameters that are kept with a call that was not let through, and told in lists."""
MAX_DIFF = 200
"""Lines of a diff; what is longer is cut."""
MAX_DIFF_LINE = 400
"""Characters of a line of it."""

# Comparing takes a time that grows with the square of what is compared, and the guest chose half of that.
_COMPARED = 1000


class ApprovalState(StrEnum):
    """What has become of a call that waits for a decision."""

    PENDING = "pending"
    """Nobody has decided yet."""
    APPROVED = "approved"
    """It goes on as it was asked."""
    EDITED = "edited"
    """It goes on with other parameters."""
    DENIED = "denied"
    """The caller is refused."""
    EXPIRED = "expired"
    """Nobody decided by the deadline."""
    ABANDONED = "abandoned"
    """Nobody waits for it any more."""


class Decision(StrEnum):
    """What can happen to a pending approval."""

    APPROVE = "approve"
    EDIT = "edit"
    DENY = "deny"
    EXPIRE = "expire"
    ABANDON = "abandon"


TRANSITIONS: Mapping[tuple[ApprovalState, Decision], ApprovalState] = MappingProxyType(
    {
        (ApprovalState.PENDING, Decision.APPROVE): ApprovalState.APPROVED,
        (ApprovalState.PENDING, Decision.EDIT): ApprovalState.EDITED,
        (ApprovalState.PENDING, Decision.DENY): ApprovalState.DENIED,
        (ApprovalState.PENDING, Decision.EXPIRE): ApprovalState.EXPIRED,
        (ApprovalState.PENDING, Decision.ABANDON): ApprovalState.ABANDONED,
    }
)
"""Every legal move: a decision is never taken back."""


class Outcome(StrEnum):
    """What a decided approval means for its call."""

    LET_THROUGH = "let_through"
    """It goes on to its handler."""
    REFUSED = "refused"
    """The caller is told no."""
    GONE = "gone"
    """Nobody waits for it any more."""


# Of what has expired, the policy says it.
_OUTCOMES = {
    ApprovalState.PENDING: None,
    ApprovalState.APPROVED: Outcome.LET_THROUGH,
    ApprovalState.EDITED: Outcome.LET_THROUGH,
    ApprovalState.DENIED: Outcome.REFUSED,
    ApprovalState.ABANDONED: Outcome.GONE,
}


class OnDeadline(StrEnum):
    """What an approval that nobody decided means. The policy says so, never the guest."""

    DENY = "deny"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Approval:
    """One call that waits, or has waited, for a decision."""

    id: str
    """`apr_…`."""
    sandbox: str
    """The id of the sandbox it comes from, as its link says."""
    sandbox_name: str
    owner: str
    """Whose sandbox that is."""
    callback: str
    """The call's id, unique in its sandbox."""
    method: str
    params: str | None
    """Canonical JSON, as the guest asked; None where it is cut."""
    params_sha256: str
    """Of `params` in UTF-8, also where they are cut."""
    params_bytes: int
    """The size of `params` in UTF-8, also where they are cut."""
    rule: str
    """The rule of the policy that holds it."""
    rule_reason: str | None
    """Why it does, in the policy's words; None where it has none."""
    state: ApprovalState
    created_at: datetime
    deadline_at: datetime
    on_deadline: OnDeadline
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """The sandbox's."""
    caller: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    """What the guest says of who calls: pid, uid, program. A hint for a person, never a reason for a decision."""
    decided_at: datetime | None = None
    decided_by: str | None = None
    """The token's id, or `hub`."""
    decided_by_name: str | None = None
    """The token's name as it decided, or `hub`."""
    reason: str | None = None
    """Why it was decided so, in the words of whoever decided, or came to nothing; None while it is pending."""
    approved_params: str | None = None
    """Canonical JSON; there exactly where a human edited the parameters, and they are not cut."""

    @property
    def is_pending(self) -> bool:
        """Whether somebody can still decide."""
        return self.state is ApprovalState.PENDING

    @property
    def outcome(self) -> Outcome | None:
        """What it means for the call; None while nobody has decided."""
        if self.state is ApprovalState.EXPIRED:
            return Outcome.LET_THROUGH if self.on_deadline is OnDeadline.ALLOW else Outcome.REFUSED
        return _OUTCOMES[self.state]

    @property
    def final_params(self) -> str:
        """The parameters to call with; there while it is pending, and where it was let through."""
        text = self.params if self.approved_params is None else self.approved_params
        if text is None:
            raise ValueError(f"the parameters of {self.id} are cut")
        return text


def move(
    approval: Approval,
    what: Decision,
    *,
    at: datetime,
    by: str,
    by_name: str | None = None,
    reason: str | None = None,
    params: str | None = None,
) -> Approval:
    """The approval after a decision.

    Args:
        approval: as it is.
        what: the decision.
        at: when.
        by: the token's id, or `hub`.
        by_name: the token's name; None: `by` is its own.
        reason: why; needed to deny.
        params: canonical JSON to call with instead; exactly for EDIT.

    Raises:
        Conflict: it has been decided already; says by whom.
        BadRequest: a denial without a reason, or one that is too long.
    """
    after = TRANSITIONS.get((approval.state, what))
    if after is None:
        raise _decided_already(approval)
    if (params is not None) is not (what is Decision.EDIT):
        raise ValueError(f"{what} with params={params!r}")
    told = " ".join(reason.split()) if reason else None
    if what is Decision.DENY and not told:
        raise BadRequest("a denial needs a reason: the program that asked and whoever reads the audit see it")
    if told is not None and len(told) > MAX_REASON:
        raise BadRequest(f"the reason is longer than {MAX_REASON} characters")
    decided = replace(
        approval,
        state=after,
        decided_at=at,
        decided_by=by,
        decided_by_name=by_name or by,
        reason=told,
        approved_params=params,
    )
    return decided if decided.outcome is Outcome.LET_THROUGH else cut(decided)


def cut(approval: Approval, *, longer_than: int = SHORT_BYTES) -> Approval:
    """The approval without its parameters, asked and edited, if one of them has more bytes; digest and size stay."""
    if max(approval.params_bytes, len((approval.approved_params or "").encode())) <= longer_than:
        return approval
    return replace(approval, params=None, approved_params=None)


def decision_of(approval: Approval, params: str | None) -> Decision:
    """What approving means: with other parameters than those asked for it is an edit.

    Args:
        approval: as it is.
        params: canonical JSON, or None for those asked for.
    """
    return Decision.APPROVE if params is None or params == approval.params else Decision.EDIT


def diff(approval: Approval) -> list[str]:
    """What a human changed, as the lines of a unified diff of the indented parameters; empty where nothing was.

    A long one is cut, and says so in its last line.
    """
    if approval.approved_params is None or approval.params is None:
        return []
    before, after = (_indented(text) for text in (approval.params, approval.approved_params))
    if max(len(before), len(after)) > _COMPARED:
        lines = _rough_diff(before, after)
    else:
        lines = list(difflib.unified_diff(before, after, "asked", "approved", lineterm="", n=2))
    shown = [
        line if len(line) <= MAX_DIFF_LINE else f"{line[: MAX_DIFF_LINE - 1]}…" for line in lines[:MAX_DIFF]
    ]
    return shown if len(lines) <= MAX_DIFF else [*shown, f"… and {len(lines) - MAX_DIFF} lines more"]


def _rough_diff(before: list[str], after: list[str]) -> list[str]:
    """A diff of one part: everything between the first and the last line that differ."""
    shortest = min(len(before), len(after))
    head = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    left = shortest - head
    tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    return [
        "--- asked",
        "+++ approved",
        f"@@ -{head + 1},{len(removed)} +{head + 1},{len(added)} @@",
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
    ]


def _indented(text: str) -> list[str]:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False, sort_keys=True).splitlines()


def _decided_already(approval: Approval) -> Conflict:
    who = f" by {_decider(approval)}" if approval.decided_by else ""
    when = f" at {approval.decided_at:%Y-%m-%d %H:%M:%S} UTC" if approval.decided_at else ""
    why = f": {approval.reason}" if approval.reason else ""
    return Conflict(
        f"approval {approval.id} is {approval.state} already{who}{when}{why}",
        approval=approval.id,
        state=str(approval.state),
        decided_by=approval.decided_by,
        decided_by_name=approval.decided_by_name,
    )


def _decider(approval: Approval) -> str:
    by, name = approval.decided_by, approval.decided_by_name
    return f"{name} ({by})" if name not in (None, by) else str(by)
