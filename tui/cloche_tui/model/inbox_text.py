"""An approval in words: its row, who asks for what until when, and what became of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cloche import ApprovalInfo
from cloche.filters import Fields
from cloche.printable import printable
from cloche_tui.model import call_text
from cloche_tui.model.figures import ago, countdown, cut, size
from cloche_tui.model.roles import Line, Role, Span, line

SUMMARY = 300
"""Characters of a call in a row; a row has no room for more."""

_LABELS, _PROGRAM = 160, 80
"""Characters of labels and of a program's name beside a call; the list of sandboxes has all labels."""
_STATES: Mapping[str, tuple[str, Role]] = {
    "approved": ("✓", Role.GOOD),
    "edited": ("✎", Role.GOOD),
    "denied": ("✗", Role.BAD),
    "expired": ("◌", Role.WARNING),
    "abandoned": ("–", Role.MUTED),
}
# The hub only says so.
_NOBODYS = frozenset({"expired", "abandoned"})
_OUTCOMES = {"let_through": "let through", "refused": "refused"}
_AT_DEADLINE = {"deny": "then it is denied", "allow": "then it is let through"}


def when(approval: ApprovalInfo, now: datetime) -> Span:
    """How long it waits yet, or what it has become."""
    if approval.is_pending:
        return countdown(approval.deadline_at, now)
    symbol, role = _STATES.get(approval.state, ("?", Role.WARNING))
    return line(Span(f"{symbol} {approval.state}", role))[0]


def summary(approval: ApprovalInfo, *, most: int = SUMMARY) -> str:
    """The call in a line."""
    if not approval.has_params:
        return (
            call_text.summary(approval.method, {}, most=most)[:-1] + f"{size(approval.params_bytes)} of JSON)"
        )
    return call_text.summary(approval.method, approval.params, most=most)


def cells(approval: ApprovalInfo) -> tuple[Line, Line]:
    """What of its row stays as it is while it waits: whose it is, and what it asks."""
    # SAFETY: a guest wrote the call, and users chose the names; `line` and `call_text` make them printable.
    role = Role.PLAIN if approval.is_pending else Role.MUTED
    return line(Span(approval.sandbox_name, role)), (Span(summary(approval), role),)


def decision(approval: ApprovalInfo, now: datetime) -> Line:
    """What became of it: `✓ approved by ann, 3s ago: all right`."""
    what = when(approval, now)
    outcome = _OUTCOMES.get(approval.outcome or "") if approval.state == "expired" else None
    by = f" by {_decider(approval)}" if _is_by_somebody(approval) else ""
    at = f", {ago(approval.decided_at, now)}" if approval.decided_at is not None else ""
    why = f": {approval.reason}" if approval.reason else ""
    return line(what, f"{f', {outcome}' if outcome else ''}{by}{at}{why}")


def too_late(message: str, details: Mapping[str, Any]) -> str:
    """What a hub says to whoever decides what is decided: `denied already by ann`.

    Args:
        message: all of it, in the hub's words.
        details: what it says for programs.
    """
    state, by = details.get("state"), details.get("decided_by_name") or details.get("decided_by")
    if not isinstance(state, str):
        return message
    return f"{state} already by {by}" if by and state not in _NOBODYS else f"{state} already"


def about(approval: ApprovalInfo, now: datetime) -> Sequence[tuple[str, Line]]:
    """Who asks, what holds it and until when: names, and a line for each."""
    labels = " ".join(f"{key}={value}" for key, value in sorted(approval.labels.items()))
    rule = f": {approval.rule_reason}" if approval.rule_reason else ""
    lines = [
        (
            "from",
            line(
                Span(approval.sandbox_name, Role.ACCENT),
                f" of {approval.owner}",
                Span(f" {_in_brief(labels, _LABELS)}" if labels else "", Role.MUTED),
            ),
        ),
        ("program", _caller(approval)),
        ("held by", line(approval.rule, rule)),
        ("asked", line(ago(approval.created_at, now))),
    ]
    if approval.is_pending:
        then = _AT_DEADLINE.get(approval.on_deadline, f"then {approval.on_deadline}")
        lines.append(("decide", line(countdown(approval.deadline_at, now), f" left, {then}")))
    else:
        lines.append(("decided", decision(approval, now)))
    return lines


def fields(approval: ApprovalInfo) -> Fields:
    """What a filter looks at."""
    return Fields.of(
        approval.id,
        summary(approval),
        str(approval.caller.get("program", "")),
        _decider(approval) if approval.decided_by else None,
        labels=approval.labels,
        method=approval.method,
        owner=approval.owner,
        rule=approval.rule,
        sandbox=approval.sandbox_name,
        state=approval.state,
    )


def _caller(approval: ApprovalInfo) -> Line:
    said = approval.caller
    if not said:
        return line(Span("not told", Role.MUTED))
    program, pid, uid = (_in_brief(said.get(key, "?"), _PROGRAM) for key in ("program", "pid", "uid"))
    return line(f"{program} (pid {pid}, uid {uid})", Span(", as the guest says", Role.MUTED))


def _in_brief(text: object, most: int) -> str:
    """What others chose, of a bounded length and without room for what looks like lines of ours.

    SAFETY: the call and its deadline stand below, and must not be pushed out of sight.
    """
    return cut(" ".join(printable(str(text)).split()), most)


def _is_by_somebody(approval: ApprovalInfo) -> bool:
    return bool(approval.decided_by) and approval.state not in _NOBODYS


def _decider(approval: ApprovalInfo) -> str:
    return approval.decided_by_name or approval.decided_by or "somebody"
