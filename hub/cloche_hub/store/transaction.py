"""What a change may do to the store: all of it is committed together, or nothing of it.

Rule: a change is a plain function. It runs on the database's thread, between other changes, possibly more than once
(only the last run counts): it looks at values, calls this, and does nothing else.
Rule: what a change says in the audit is committed with the change itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from cloche_hub.domain.approval import Approval
from cloche_hub.domain.audit import AuditEvent, Head, Json, chain
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token
from cloche_hub.store import approvals, audit, sandboxes, tokens
from cloche_hub.store.rows import Values


class Transaction:
    """One change in progress; of no use once the change has returned."""

    def __init__(self, connection: sqlite3.Connection, head: Head, clock: Callable[[], datetime]) -> None:
        self._connection = connection
        self._clock = clock
        self.head = head
        """Where the audit chain ends for this change."""

    def execute(self, sql: str, values: Values = (), /) -> sqlite3.Cursor:
        """Runs one statement; for the table modules."""
        return self._connection.execute(sql, values)

    def append_audit(
        self,
        event: AuditName,
        *,
        actor: str,
        sandbox: str | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> AuditEvent:
        """Appends an event to the chain.

        Args:
            event: what happened.
            actor: who caused it: a token's id, or `hub`.
            sandbox: the id of the sandbox it is about.
            detail: the rest; durations in whole milliseconds, never a secret.

        Raises:
            ValueError: the detail holds what an event cannot.
        """
        appended = chain(
            self.head, at=self._clock(), event=str(event), actor=actor, sandbox=sandbox, detail=detail or {}
        )
        audit.insert(self, appended)
        self.head = appended.head
        return appended

    def insert_sandbox(self, sandbox: Sandbox) -> None:
        """Adds a sandbox.

        Raises:
            Conflict: its owner has a live one of that name; says which.
        """
        sandboxes.insert(self, sandbox)

    def update_sandbox(self, sandbox: Sandbox) -> None:
        """Writes everything that may change about a sandbox.

        Raises:
            NotFound: there never was one with its id.
        """
        sandboxes.update(self, sandbox)

    def sandbox(self, sandbox_id: str) -> Sandbox:
        """The sandbox with this id, as it is now.

        Raises:
            NotFound: there never was one.
        """
        return sandboxes.get(self, sandbox_id)

    def insert_token(self, token: Token) -> None:
        """Adds a token."""
        tokens.insert(self, token)

    def revoke_token(self, token_id: str, *, at: datetime) -> Token:
        """Ends a token for good.

        Raises:
            NotFound: there is no such token.
            WrongState: it has been revoked already.
        """
        return tokens.revoke(self, token_id, at=at)

    def tokens(self) -> Sequence[Token]:
        """Every token as it is now, oldest first."""
        return tokens.every(self)

    def insert_approval(self, approval: Approval) -> None:
        """Adds an approval.

        Raises:
            Conflict: its call has one already.
        """
        approvals.insert(self, approval)

    def update_approval(self, approval: Approval) -> None:
        """Writes what was decided about an approval.

        Raises:
            NotFound: there never was one with its id.
        """
        approvals.update(self, approval)

    def approval(self, approval_id: str) -> Approval:
        """The approval with this id, as it is now.

        Raises:
            NotFound: there never was one.
        """
        return approvals.get(self, approval_id)
