"""The hub's store as services see it: what to read, and one way to change it.

The face services know is `ports.Store`; this is its implementation on SQLite.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from cloche_hub.domain.approval import Approval, ApprovalState
from cloche_hub.domain.audit import AuditEvent
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token
from cloche_hub.store import approvals, sandboxes, tokens
from cloche_hub.store.audit import Audit
from cloche_hub.store.database import Database, open_database, utc_now
from cloche_hub.store.head_watch import HeadWatch
from cloche_hub.store.home import DATABASE_FILE, HomeLock
from cloche_hub.store.rows import Values
from cloche_hub.store.transaction import Transaction

T = TypeVar("T")

MAX_ENDED = 1000
"""Removed sandboxes that are listed; older ones are found by their ids."""


class Store:
    """An open store; make one with `open_store`."""

    def __init__(self, database: Database, audit: Audit) -> None:
        self._database = database
        self.audit = audit
        """The audit chain: reading, following, verifying."""

    async def write(self, change: Callable[[Transaction], T]) -> T:
        """Makes a change and returns what it returned, once that is durable.

        The change runs on the database's thread, possibly more than once; it must be a plain function of what it is
        given. If it raises, it has not happened, and this raises the same. Cancelling this leaves open whether the
        change happens; it happens whole or not at all.

        Raises:
            NoSpace: the disk is full; the change has not happened.
            StoreFailed: the database failed; the class says what is known.
        """
        return await self._database.write(change)

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        """The rows of one query, all at once; for what in the store has tables of its own. See `Reader.fetch`."""
        return await self._database.fetch(sql, values)

    async def sandboxes(self, *, ended: bool = False, owner: str | None = None) -> Sequence[Sandbox]:
        """All live sandboxes, newest first; with `ended` also the newest `MAX_ENDED` removed ones.

        Args:
            ended: removed ones too.
            owner: this owner's only; None: everybody's.
        """
        return await sandboxes.fetch_all(self._database, owner=owner, ended=MAX_ENDED if ended else 0)

    async def sandbox(self, sandbox_id: str) -> Sandbox:
        """The sandbox with this id, removed or not.

        Raises:
            NotFound: there never was one.
        """
        return await sandboxes.fetch_one(self._database, sandbox_id)

    async def find_sandbox(self, reference: str, *, caller: str, owner: str | None = None) -> Sandbox:
        """The sandbox a reference means, removed ones by their id (`domain.references` has the rules).

        Args:
            reference: an id, a name, or how one begins.
            caller: the owner who asks; its own names come first.
            owner: look among this owner's only; None: among everybody's.

        Raises:
            BadRequest: several are meant, or the reference can mean none.
            NotFound: none is.
        """
        return await sandboxes.find(self._database, reference, caller=caller, owner=owner)

    async def removed_sandbox(
        self, reference: str, *, caller: str, owner: str | None = None
    ) -> Sandbox | None:
        """The removed sandbox with this id or name, the caller's own first, then the newest; None if none was."""
        return await sandboxes.find_removed(self._database, reference, caller=caller, owner=owner)

    async def unended_work(self, sandbox_id: str) -> Sequence[AuditEvent]:
        """The events of what has begun in a sandbox and has no end in the audit, in order.

        Raises:
            AuditBroken: the audit is not as we write it.
        """
        return await self.audit.unended(sandbox_id)

    async def token(self, token_id: str) -> Token | None:
        """The token with this id, revoked or not; None if there is none."""
        return await tokens.fetch_one(self._database.door, token_id)

    async def approvals(
        self,
        *,
        states: Collection[ApprovalState],
        limit: int,
        sandbox: str | None = None,
        owner: str | None = None,
    ) -> Sequence[Approval]:
        """The newest approvals in these states, newest first; of one sandbox, of one owner's sandboxes, or of all.

        Long parameters are cut.
        """
        return await approvals.fetch(self._database, states=states, limit=limit, sandbox=sandbox, owner=owner)

    async def find_approval(self, reference: str, *, owner: str | None = None) -> Approval:
        """The approval whose id is, or begins with, a reference, whole; among this owner's, or everybody's.

        Raises:
            BadRequest, NotFound: several are meant, or none.
        """
        return await approvals.find(self._database, reference, owner=owner)

    async def pending_approvals(self) -> int:
        """How many approvals wait for a decision."""
        return await approvals.count_pending(self._database)

    async def tokens(self) -> Sequence[Token]:
        """Every token, oldest first."""
        return await tokens.fetch_all(self._database)


@asynccontextmanager
async def open_store(home: Path, *, clock: Callable[[], datetime] = utc_now) -> AsyncIterator[Store]:
    """Opens the store of a home and holds the home until the end; makes both if need be.

    Args:
        home: the hub's home folder.
        clock: dates audit events.

    Raises:
        HomeInUse: another hub has this home open; says which.
        StoreFailed: the home or the database cannot be used, is damaged, or was written by a newer version.
    """
    watch = HeadWatch()
    with HomeLock(home):
        async with open_database(home / DATABASE_FILE, announce=watch.announce, clock=clock) as database:
            try:
                yield Store(database, Audit(database, watch))
            finally:
                watch.close()
