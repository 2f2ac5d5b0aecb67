"""The table of approvals. Nothing is decided here, except that a decision finds its approval still pending."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from cloche_hub.domain.approval import SHORT_BYTES, Approval, ApprovalState, OnDeadline, cut
from cloche_hub.domain.times import from_text, to_text
from cloche_hub.errors import BadRequest, Conflict, NotFound
from cloche_hub.store.rows import Executes, Fetches, map_to_text, text_to_map

_MEANT = 8

_COLUMNS = """
    id, sandbox, sandbox_name, owner, labels, callback, method, params_sha256, params_bytes, caller, rule, rule_reason,
    state, created_at, deadline_at, on_deadline, decided_at, decided_by, decided_by_name, reason
"""


async def fetch(
    database: Fetches,
    *,
    states: Collection[ApprovalState],
    limit: int,
    sandbox: str | None = None,
    owner: str | None = None,
) -> Sequence[Approval]:
    """The newest approvals, newest first; with long parameters cut.

    Args:
        database: where to read.
        states: in these states only.
        limit: at most so many.
        sandbox: of this sandbox only; None: of all.
        owner: of this owner's sandboxes only; None: of everybody's.
    """
    sql, values = select_newest(states=states, limit=limit, sandbox=sandbox, owner=owner)
    return [cut(_approval(row)) for row in await database.fetch(sql, values)]


def select_newest(
    *, states: Collection[ApprovalState], limit: int, sandbox: str | None, owner: str | None
) -> tuple[str, Sequence[object]]:
    """The statement of `fetch` and its values: what it costs depends on the limit, never on the size of the table."""
    filters = {"sandbox": sandbox, "owner": owner}
    wanted = {column: value for column, value in filters.items() if value is not None}
    conditions = "".join(f" AND {column} = ?" for column in wanted)
    newest = f"""
        SELECT id, created_at FROM (
            SELECT id, created_at FROM approvals
            WHERE state = ?{conditions} ORDER BY created_at DESC, id DESC LIMIT ?
        )
    """  # noqa: S608 - column names of ours
    of_each_state = " UNION ALL ".join([newest] * len(states))
    values = [value for state in states for value in (str(state), *wanted.values(), limit)]
    sql = f"""
        SELECT {_COLUMNS},
            CASE WHEN params_bytes <= ? THEN params END AS params,
            CASE WHEN params_bytes <= ? THEN approved_params END AS approved_params
        FROM approvals
        WHERE id IN (SELECT id FROM ({of_each_state}) ORDER BY created_at DESC, id DESC LIMIT ?)
        ORDER BY created_at DESC, id DESC
    """  # noqa: S608 - only the number of states varies
    return sql, (SHORT_BYTES, SHORT_BYTES, *values, limit)


async def find(database: Fetches, reference: str, *, owner: str | None = None) -> Approval:
    """The approval a reference means, whole: an id, or the beginning of one.

    Args:
        database: where to read.
        reference: as a person gave it.
        owner: look among those of this owner's sandboxes only; None: among everybody's.

    Raises:
        BadRequest: several are meant.
        NotFound: none is.
    """
    sql, values = select_meant(reference, owner=owner)
    # The first of those that begin so is the one that is called so, if there is one.
    meant = [row["id"] for row in await database.fetch(sql, values)]
    if len(meant) > 1 and meant[0] != reference:
        raise BadRequest(f"{reference!r} could be any of: {', '.join(meant)}; give more of it")
    rows = await database.fetch("SELECT * FROM approvals WHERE id = ?", meant[:1]) if meant else ()
    if not reference or not rows:
        raise _unknown(reference)
    return _approval(rows[0])


def select_meant(reference: str, *, owner: str | None) -> tuple[str, Sequence[object]]:
    """The statement for the first ids that begin so, and its values: it looks at no others."""
    owned, values = ("", ()) if owner is None else ("owner = ? AND", (owner,))
    sql = f"""
        SELECT id FROM approvals
        WHERE {owned} id >= ? AND id < ? || char(1114111)
        ORDER BY id LIMIT ?
    """  # noqa: S608 - a column name of ours
    return sql, (*values, reference, reference, _MEANT)


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
                id, sandbox, sandbox_name, owner, labels, callback, method, params, params_sha256,
                params_bytes, caller, rule, rule_reason, state, created_at, deadline_at, on_deadline, decided_at,
                decided_by, decided_by_name, reason, approved_params
            ) VALUES (
                :id, :sandbox, :sandbox_name, :owner, :labels, :callback, :method, :params, :params_sha256,
                :params_bytes, :caller, :rule, :rule_reason, :state, :created_at, :deadline_at, :on_deadline,
                :decided_at, :decided_by, :decided_by_name, :reason, :approved_params
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
            reason = :reason, params = :params, approved_params = :approved_params
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
        "params_sha256": approval.params_sha256,
        "params_bytes": approval.params_bytes,
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
        params_sha256=row["params_sha256"],
        params_bytes=row["params_bytes"],
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
