"""The table of tokens: everything about them but their secrets."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from cloche_hub.domain.times import from_text, to_text
from cloche_hub.domain.tokens import Scope, Token
from cloche_hub.errors import NotFound, WrongState
from cloche_hub.store.rows import Executes, Fetches

_EVERY = "SELECT * FROM tokens ORDER BY created_at, id"


async def fetch_one(database: Fetches, token_id: str) -> Token | None:
    """The token with this id, revoked or not; None if there is none."""
    rows = await database.fetch("SELECT * FROM tokens WHERE id = ?", (token_id,))
    return _token(rows[0]) if rows else None


async def fetch_all(database: Fetches) -> Sequence[Token]:
    """Every token, oldest first."""
    return [_token(row) for row in await database.fetch(_EVERY)]


def every(tx: Executes) -> Sequence[Token]:
    """Every token as a change sees them, oldest first."""
    return [_token(row) for row in tx.execute(_EVERY)]


def insert(tx: Executes, token: Token) -> None:
    """Adds a token."""
    tx.execute(
        """
        INSERT INTO tokens (id, name, owner, scope, secret_hash, created_at, revoked_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (
            token.id,
            token.name,
            token.owner,
            str(token.scope),
            token.secret_hash,
            to_text(token.created_at),
            token.revoked_at and to_text(token.revoked_at),
        ),
    )


def revoke(tx: Executes, token_id: str, *, at: datetime) -> Token:
    """Ends a token for good.

    Raises:
        NotFound: there is no such token.
        WrongState: it has been revoked already.
    """
    changed = tx.execute(
        "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_text(at), token_id)
    ).rowcount
    row = tx.execute("SELECT * FROM tokens WHERE id = ?", (token_id,)).fetchone()
    if row is None:
        raise NotFound(f"no token {token_id!r}")
    if not changed:
        raise WrongState(f"token {token_id} was revoked already, on {row['revoked_at'][:10]}")
    return _token(row)


def _token(row: sqlite3.Row) -> Token:
    return Token(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        scope=Scope(row["scope"]),
        secret_hash=row["secret_hash"],
        created_at=from_text(row["created_at"]),
        revoked_at=None if row["revoked_at"] is None else from_text(row["revoked_at"]),
    )
