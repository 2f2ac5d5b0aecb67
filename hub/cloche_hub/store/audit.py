"""The table of audit events: appending inside a change, reading in pages, following, verifying.

Rule: no reader ever holds more than a page, so a million events need no more memory than a thousand.
Rule: a follower reads the table; what it is told in between is only that there is more. So a slow one loses nothing
and costs nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence

from cloche_hub.domain.audit import (
    GENESIS,
    AuditEvent,
    Head,
    Verified,
    Verifier,
    broken,
    canonical,
    parse_object,
)
from cloche_hub.domain.audit_events import WORKS, Work
from cloche_hub.domain.audit_filter import Term
from cloche_hub.domain.times import from_text, to_text
from cloche_hub.store import audit_search
from cloche_hub.store.head_watch import HeadWatch
from cloche_hub.store.rows import Executes, Fetches, Values

PAGE = 500
"""Events read at once."""

SELECT_PAGE = "SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?"
SELECT_HEAD = "SELECT seq, hash FROM audit_head"
# Once through the sandbox's events. A guest names its callbacks and may use a name again: the last of them is under way.
SELECT_UNENDED = """
SELECT * FROM audit WHERE seq IN (
    SELECT max(iif(event = :begun, seq, 0)) FROM audit
    WHERE sandbox = :sandbox AND event IN (SELECT value FROM json_each(:events)) AND json_valid(detail)
    GROUP BY json_extract(detail, :key)
    HAVING 2 * sum(event = :begun) > count(*)
)
"""


class Audit:
    """What is committed of the audit chain."""

    def __init__(self, database: Fetches, watch: HeadWatch) -> None:
        self._database = database
        self._watch = watch

    @property
    def head(self) -> Head:
        """Where the committed chain ends now."""
        return self._watch.head

    async def page(
        self, *, after: int = 0, sandbox: str | None = None, limit: int = PAGE
    ) -> Sequence[AuditEvent]:
        """The first events after a number, in order.

        Args:
            after: the number of the last event already known.
            sandbox: only those about this sandbox (an id).
            limit: at most so many, and never more than `PAGE`.

        Raises:
            AuditBroken: a row is not as we write them.
        """
        limit = min(limit, PAGE)
        if sandbox is None:
            rows = await self._database.fetch(SELECT_PAGE, (after, limit))
        else:
            rows = await self._database.fetch(
                "SELECT * FROM audit WHERE sandbox = ? AND seq > ? ORDER BY seq LIMIT ?",
                (sandbox, after, limit),
            )
        return [event_of(row) for row in rows]

    async def tail(self, *, limit: int, sandbox: str | None = None) -> Sequence[AuditEvent]:
        """The newest events, oldest of them first; at most `PAGE`.

        Raises:
            AuditBroken: a row is not as we write them.
        """
        limit = min(limit, PAGE)
        if sandbox is None:
            rows = await self._database.fetch("SELECT * FROM audit ORDER BY seq DESC LIMIT ?", (limit,))
        else:
            rows = await self._database.fetch(
                "SELECT * FROM audit WHERE sandbox = ? ORDER BY seq DESC LIMIT ?", (sandbox, limit)
            )
        return [event_of(row) for row in reversed(rows)]

    async def numbers(
        self, terms: Sequence[Term], *, first: int, last: int, owner: str | None = None
    ) -> Sequence[int]:
        """The numbers of the events between two, both included, for which all terms hold; in order.

        Args:
            terms: none: all events.
            first, last: what is looked at; bound how many that are.
            owner: only those about this owner's sandboxes.
        """
        return await audit_search.numbers(self._database, terms, first=first, last=last, owner=owner)

    async def events(self, numbers: Sequence[int], *, owner: str | None = None) -> Sequence[AuditEvent]:
        """The events with these numbers, in order; those that are not there are left out.

        Args:
            numbers: bound how many.
            owner: only those about this owner's sandboxes.

        Raises:
            AuditBroken: a row is not as we write them.
        """
        return [event_of(row) for row in await audit_search.rows(self._database, numbers, owner=owner)]

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """What these sandboxes and tokens are called."""
        return await audit_search.names(self._database, ids)

    async def wait_beyond(self, seq: int) -> Head:
        """Waits until the chain goes beyond an event; returns where it ends then. Cancelling loses nothing.

        Raises:
            ShuttingDown: the store is being closed.
        """
        return await self._watch.wait_beyond(seq)

    async def unended(self, sandbox: str) -> Sequence[AuditEvent]:
        """What has begun in a sandbox (an id) and has no end, in order. Reads all that is recorded of the sandbox.

        Raises:
            AuditBroken: a row is not as we write them.
        """
        rows = [
            row
            for work in WORKS
            for row in await self._database.fetch(SELECT_UNENDED, _unended_values(work, sandbox))
        ]
        return sorted(map(event_of, rows), key=lambda event: event.seq)

    async def follow(self, *, after: int, sandbox: str | None = None) -> AsyncGenerator[AuditEvent]:
        """Every event after a number, those of the past first, then each as soon as it is committed; never ends.

        Stop it whenever you like: it holds nothing between two events. Close it with `contextlib.aclosing`.

        Raises:
            ShuttingDown: the store is being closed.
            AuditBroken: a row is not as we write them.
        """
        while True:
            known = self.head.seq
            events = await self.page(after=after, sandbox=sandbox)
            for event in events:
                after = event.seq
                yield event
            if not events:
                await self._watch.wait_beyond(known)

    async def verify(self) -> Verified:
        """Verifies the whole chain, also while it grows.

        Raises:
            AuditBroken: names the first bad event and why.
        """
        verifier = Verifier()
        while True:
            # The head first: events that come between the two reads are in the page, and make another round.
            rows = await self._database.fetch(SELECT_HEAD)
            events = await self.page(after=verifier.head.seq)
            if not events:
                return verifier.finish(head_of(rows))
            for event in events:
                verifier.check(event)


def _unended_values(work: Work, sandbox: str) -> Values:
    return {
        "begun": work.begun,
        "sandbox": sandbox,
        "events": json.dumps([work.begun, *work.ends]),
        "key": f"$.{work.key}",
    }


def insert(tx: Executes, event: AuditEvent) -> None:
    """Appends an event that has been chained."""
    tx.execute(
        """
        INSERT INTO audit (seq, at, event, actor, sandbox, detail, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            event.seq,
            to_text(event.at),
            event.event,
            event.actor,
            event.sandbox,
            canonical(event.detail),
            event.prev_hash,
            event.hash,
        ),
    )


def load_head(tx: Executes) -> Head:
    """Where the chain goes on.

    If the last events were deleted behind our back, the recorded head is beyond them: going on from there leaves a gap
    that verification will always find, where going on from the last row would hide it.
    """
    last = tx.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchall()
    return max(head_of(tx.execute(SELECT_HEAD).fetchall()), head_of(last), key=lambda head: head.seq)


def save_head(tx: Executes, head: Head) -> None:
    """Records where the chain ends."""
    tx.execute(
        "INSERT OR REPLACE INTO audit_head (only_row, seq, hash) VALUES (1, ?, ?)", (head.seq, head.hash)
    )


def head_of(rows: Sequence[sqlite3.Row]) -> Head:
    """The head in the rows of `SELECT_HEAD`; no row is an empty chain's."""
    return Head(rows[0]["seq"], rows[0]["hash"]) if rows else GENESIS


def event_of(row: sqlite3.Row) -> AuditEvent:
    """The event in a row.

    Raises:
        AuditBroken: the row is not as `insert` writes it.
    """
    try:
        return AuditEvent(
            seq=row["seq"],
            at=from_text(row["at"]),
            event=row["event"],
            actor=row["actor"],
            sandbox=row["sandbox"],
            detail=parse_object(row["detail"]),
            prev_hash=row["prev_hash"],
            hash=row["hash"],
        )
    except (TypeError, ValueError) as error:
        raise broken(row["seq"], f"it cannot be read: {error}") from None
