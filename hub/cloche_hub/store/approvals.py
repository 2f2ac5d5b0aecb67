"""The table of approvals. Nothing is decided here, except that a decision finds its approval still pending."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from cloche_hub.domain.approval import Approval, ApprovalState, OnDeadline
from cloche_hub.domain.times import from_text, to_text
from cloche_hub.errors import BadRequest, Conflict, NotFound
from cloche_hub.store.rows import Executes, Fetches, map_to_text, text_to_map

_LISTED = 8


async def fetch(
    database: Fetches,
    *,
    states: Collection[ApprovalState],
    limit: int,
    sandbox: str | None = None,
    owner: str | None = None,
) -> Sequence[Approval]:
    """The newest approvals, newest first.

    Args:
        database: where to read.
        states: in these states only.
        limit: at most so many.
        sandbox: of this sandbox only; None: of all.
        owner: of this owner's sandboxes only; None: of everybody's.
    """
    marks = ", ".join("?" * len(states))
    rows = await database.fetch(
        f"""
        SELECT * FROM approvals
        WHERE state IN ({marks}) AND (? IS NULL OR sandbox = ?) AND (? IS NULL OR owner = ?)
        ORDER BY created_at DESC, id
        LIMIT ?
        """,  # noqa: S608 - only the number of marks varies
        (*map(str, states), sandbox, sandbox, owner, owner, limit),
    )
    return [_approval(row) for row in rows]


async def find(database: Fetches, reference: str, *, owner: str | None = None) -> Approval:
    """The approval a reference means: an id, or the beginning of one.

    Args:
        database: where to read.
        reference: as a person gave it.
        owner: look among those of this owner's sandboxes only; None: among everybody's.

    Raises:
        BadRequest: several are meant.
        NotFound: none is.
    """
    rows = await database.fetch(
        """
        SELECT * FROM approvals
        WHERE id >= :reference AND id < :reference || char(1114111) AND (:owner IS NULL OR owner = :owner)
        ORDER BY id = :reference DESC, id
        LIMIT :limit
        """,
        {"reference": reference, "owner": owner, "limit": _LISTED},
    )
    if not reference or not rows:
        raise NotFound(f"no approval {reference!r}; `cloche approvals ls --all` lists them")
    if len(rows) > 1 and rows[0]["id"] != reference:
        listed = ", ".join(row["id"] for row in rows)
        raise BadRequest(f"{reference!r} could be any of: {listed}; give more of it")
    return _approval(rows[0])


async def count_pending(database: Fetches) -> int:
    """How many wait for a decision."""
    (row,) = await database.fetch("SELECT count(*) AS waiting FROM approvals WHERE state = 'pending'")
    return int(row["waiting"])


def insert(tx: Executes, approval: Approval) -> None:
    """Adds an approval.

    Raises:
        Conflict: its call has one already.
    """
    try:
        tx.execute(
            """
            INSERT INTO approvals (
                id, sandbox, sandbox_name, owner, labels, callback, method, params, caller, rule, rule_reason, state,
                created_at, deadline_at, on_deadline, decided_at, decided_by, decided_by_name, reason, approved_params
            ) VALUES (
                :id, :sandbox, :sandbox_name, :owner, :labels, :callback, :method, :params, :caller, :rule,
                :rule_reason, :state, :created_at, :deadline_at, :on_deadline, :decided_at, :decided_by,
                :decided_by_name, :reason, :approved_params
            )
            """,
            _values(approval),
        )
    except sqlite3.IntegrityError:
        holder = tx.execute(
            "SELECT id FROM approvals WHERE sandbox = ? AND callback = ?",
            (approval.sandbox, approval.callback),
        ).fetchone()
        if holder is None:
            raise
        raise Conflict(
            f"callback {approval.callback} of this sandbox has approval {holder['id']} already",
            approval=holder["id"],
        ) from None


def update(tx: Executes, approval: Approval) -> None:
    """Writes a decision: everything that may change about an approval.

    Raises:
        NotFound: there never was one with its id.
    """
    cursor = tx.execute(
        """
        UPDATE approvals SET
            state = :state, decided_at = :decided_at, decided_by = :decided_by, decided_by_name = :decided_by_name,
            reason = :reason, approved_params = :approved_params
        WHERE id = :id
        """,
        _values(approval),
    )
    if cursor.rowcount == 0:
        raise _unknown(approval.id)


def get(tx: Executes, approval_id: str) -> Approval:
    """The approval with this id, as this change sees it.

    Raises:
        NotFound: there never was one.
    """
    row = tx.execute("SELECT * FROM approvals WHERE id = ?", (approval_id,)).fetchone()
    if row is None:
        raise _unknown(approval_id)
    return _approval(row)


def _unknown(approval_id: str) -> NotFound:
    return NotFound(f"no approval {approval_id!r}; `cloche approvals ls --all` lists them")


def _values(approval: Approval) -> dict[str, object]:
    return {
        "id": approval.id,
        "sandbox": approval.sandbox,
        "sandbox_name": approval.sandbox_name,
        "owner": approval.owner,
        "labels": map_to_text(approval.labels),
        "callback": approval.callback,
        "method": approval.method,
        "params": approval.params,
        "caller": map_to_text(approval.caller),
        "rule": approval.rule,
        "rule_reason": approval.rule_reason,
        "state": str(approval.state),
        "created_at": to_text(approval.created_at),
        "deadline_at": to_text(approval.deadline_at),
        "on_deadline": str(approval.on_deadline),
        "decided_at": approval.decided_at and to_text(approval.decided_at),
        "decided_by": approval.decided_by,
        "decided_by_name": approval.decided_by_name,
        "reason": approval.reason,
        "approved_params": approval.approved_params,
    }


def _approval(row: sqlite3.Row) -> Approval:
    return Approval(
        id=row["id"],
        sandbox=row["sandbox"],
        sandbox_name=row["sandbox_name"],
        owner=row["owner"],
        labels=text_to_map(row["labels"]),
        callback=row["callback"],
        method=row["method"],
        params=row["params"],
        caller=text_to_map(row["caller"]),
        rule=row["rule"],
        rule_reason=row["rule_reason"],
        state=ApprovalState(row["state"]),
        created_at=from_text(row["created_at"]),
        deadline_at=from_text(row["deadline_at"]),
        on_deadline=OnDeadline(row["on_deadline"]),
        decided_at=None if row["decided_at"] is None else from_text(row["decided_at"]),
        decided_by=row["decided_by"],
        decided_by_name=row["decided_by_name"],
        reason=row["reason"],
        approved_params=row["approved_params"],
    )
