"""The table of sandboxes. Nothing is decided here, except that one owner has a name once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from cloche_hub.domain.references import check_reference, resolve
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.domain.times import from_text, to_text
from cloche_hub.errors import Conflict, NotFound
from cloche_hub.store.rows import Executes, Fetches, map_to_text, text_to_map

MAX_CANDIDATES = 64
"""Rows a reference is resolved among; where there are more, it is ambiguous in any case."""


async def fetch_all(database: Fetches, *, owner: str | None, ended: int) -> Sequence[Sandbox]:
    """Every live sandbox, and the newest `ended` of the removed ones; newest first.

    Args:
        database: where to read.
        owner: this owner's only; None: everybody's.
        ended: at most so many removed ones.
    """
    rows = await database.fetch(
        """
        SELECT * FROM sandboxes
        WHERE (:owner IS NULL OR owner = :owner)
          AND (state <> 'removed' OR id IN (
              SELECT id FROM sandboxes
              WHERE state = 'removed' AND (:owner IS NULL OR owner = :owner)
              ORDER BY created_at DESC LIMIT :ended))
        ORDER BY created_at DESC, id
        """,
        {"owner": owner, "ended": ended},
    )
    return [_sandbox(row) for row in rows]


async def fetch_one(database: Fetches, sandbox_id: str) -> Sandbox:
    """The sandbox with this id, removed or not.

    Raises:
        NotFound: there never was one.
    """
    rows = await database.fetch("SELECT * FROM sandboxes WHERE id = ?", (sandbox_id,))
    return _one(rows, sandbox_id)


async def find(database: Fetches, reference: str, *, caller: str, owner: str | None) -> Sandbox:
    """The sandbox a reference means, removed ones by their id (`domain.references` has the rules).

    Args:
        database: where to read.
        reference: an id, a name, or how one begins.
        caller: the owner who asks; its own names come first.
        owner: look among this owner's only; None: among everybody's.

    Raises:
        BadRequest: several are meant, or the reference can mean none.
        NotFound: none is.
    """
    check_reference(reference)
    # In the order of the rules, so that the limit can only cut off what comes after an answer. The last character
    # there is makes the second bound: together with the first it means "begins with", in a form indexes serve.
    rows = await database.fetch(
        """
        SELECT * FROM sandboxes
        WHERE (:owner IS NULL OR owner = :owner)
          AND ((id >= :reference AND id < :reference || char(1114111))
            OR (state <> 'removed' AND name >= :reference AND name < :reference || char(1114111)))
        ORDER BY id = :reference DESC,
                 state <> 'removed' AND name = :reference AND owner = :caller DESC,
                 state <> 'removed' AND name = :reference DESC,
                 state = 'removed',
                 name, id
        LIMIT :limit
        """,
        {"reference": reference, "caller": caller, "owner": owner, "limit": MAX_CANDIDATES},
    )
    return resolve(reference, [_sandbox(row) for row in rows], owner=caller)


async def find_removed(
    database: Fetches, reference: str, *, caller: str, owner: str | None
) -> Sandbox | None:
    """The removed sandbox with this id or, in full, this name: the caller's own first, then the newest.

    Args:
        database: where to read.
        reference: an id or a name.
        caller: the owner who asks.
        owner: look among this owner's only; None: among everybody's.
    """
    rows = await database.fetch(
        """
        SELECT * FROM sandboxes
        WHERE state = 'removed' AND (id = :reference OR name = :reference) AND (:owner IS NULL OR owner = :owner)
        ORDER BY id = :reference DESC, owner = :caller DESC, created_at DESC
        LIMIT 1
        """,
        {"reference": reference, "caller": caller, "owner": owner},
    )
    return _sandbox(rows[0]) if rows else None


def insert(tx: Executes, sandbox: Sandbox) -> None:
    """Adds a sandbox.

    Raises:
        Conflict: its owner has a live one of that name; says which.
    """
    try:
        tx.execute(
            """
            INSERT INTO sandboxes (
                id, name, owner, recipe, image, flavor, labels, env, state, accelerator, created_at, lease_s,
                expires_at, ended_at, end_reason, timings
            ) VALUES (
                :id, :name, :owner, :recipe, :image, :flavor, :labels, :env, :state, :accelerator, :created_at,
                :lease_s, :expires_at, :ended_at, :end_reason, :timings
            )
            """,
            _values(sandbox),
        )
    except sqlite3.IntegrityError:
        holder = tx.execute(
            "SELECT id, state FROM sandboxes WHERE name = ? AND owner = ? AND state <> 'removed'",
            (sandbox.name, sandbox.owner),
        ).fetchone()
        if holder is None:
            raise
        raise Conflict(
            f"name {sandbox.name!r} is taken: {sandbox.owner} has sandbox {holder['id']} of that name, which is "
            f"{holder['state']}; choose another name, or remove that one with: cloche rm {holder['id']}",
            sandbox=holder["id"],
            name=sandbox.name,
        ) from None


def update(tx: Executes, sandbox: Sandbox) -> None:
    """Writes everything that may change about a sandbox: all but its id, name, owner, recipe, flavor and birth.

    Raises:
        NotFound: there never was one with its id.
    """
    cursor = tx.execute(
        """
        UPDATE sandboxes SET
            image = :image, labels = :labels, env = :env, state = :state, accelerator = :accelerator,
            lease_s = :lease_s, expires_at = :expires_at, ended_at = :ended_at, end_reason = :end_reason,
            timings = :timings
        WHERE id = :id
        """,
        _values(sandbox),
    )
    if cursor.rowcount == 0:
        raise _unknown(sandbox.id)


def get(tx: Executes, sandbox_id: str) -> Sandbox:
    """The sandbox with this id, as this change sees it.

    Raises:
        NotFound: there never was one.
    """
    return _one(tx.execute("SELECT * FROM sandboxes WHERE id = ?", (sandbox_id,)).fetchall(), sandbox_id)


def _one(rows: Sequence[sqlite3.Row], sandbox_id: str) -> Sandbox:
    if not rows:
        raise _unknown(sandbox_id)
    return _sandbox(rows[0])


def _unknown(sandbox_id: str) -> NotFound:
    return NotFound(f"no sandbox {sandbox_id!r}; `cloche ls` lists them", sandbox=sandbox_id)


def _values(sandbox: Sandbox) -> dict[str, object]:
    return {
        "id": sandbox.id,
        "name": sandbox.name,
        "owner": sandbox.owner,
        "recipe": sandbox.recipe,
        "image": sandbox.image,
        "flavor": sandbox.flavor,
        "labels": map_to_text(sandbox.labels),
        "env": map_to_text(sandbox.env),
        "state": str(sandbox.state),
        "accelerator": sandbox.accelerator,
        "created_at": to_text(sandbox.created_at),
        "lease_s": sandbox.lease_s,
        "expires_at": sandbox.expires_at and to_text(sandbox.expires_at),
        "ended_at": sandbox.ended_at and to_text(sandbox.ended_at),
        "end_reason": sandbox.end_reason,
        "timings": map_to_text(sandbox.timings),
    }


def _sandbox(row: sqlite3.Row) -> Sandbox:
    return Sandbox(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        recipe=row["recipe"],
        image=row["image"],
        flavor=row["flavor"],
        labels=text_to_map(row["labels"]),
        env=text_to_map(row["env"]),
        state=State(row["state"]),
        accelerator=row["accelerator"],
        created_at=from_text(row["created_at"]),
        lease_s=row["lease_s"],
        expires_at=_moment(row["expires_at"]),
        ended_at=_moment(row["ended_at"]),
        end_reason=row["end_reason"],
        timings=text_to_map(row["timings"]),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else from_text(text)
