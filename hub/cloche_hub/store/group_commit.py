"""One writer: every change waiting when the disk is ready is written with the same commit.

A caller queues its change and asks the writer to commit. The writer works on its own thread and takes one request
after another; each takes *all* the changes queued by then, runs them in one transaction and commits it, so a request
whose change went with an earlier one finds nothing left to do. Under load a hundred changes share one fsync; alone, a
change waits for nobody.

Rule: a change that fails is rolled back to where it began and fails its caller only.
Rule: when SQLite gives up the whole transaction (a full disk), each change is tried again by itself, so that one
which is too large takes no other down. After an I/O error nothing is retried: all of them fail.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from cloche_hub.domain.audit import Head
from cloche_hub.errors import HubError, NoSpace, StoreFailed
from cloche_hub.store.audit import load_head, save_head
from cloche_hub.store.transaction import Transaction

T = TypeVar("T")

GROUP = 256
"""Changes of one transaction at most: bounds how long the first of them waits for the last."""


class Pending(Generic[T]):
    """A change that is waiting, and then its outcome."""

    def __init__(self, change: Callable[[Transaction], T]) -> None:
        self._change = change
        self._value: T | None = None
        self._error: BaseException | None = StoreFailed("the database was closed before the change was made")

    def run(self, tx: Transaction) -> None:
        """Runs the change; the outcome counts when the transaction is committed."""
        self._value, self._error = self._change(tx), None

    def fail(self, error: BaseException) -> None:
        """The change has not happened."""
        self._value, self._error = None, error

    def outcome(self) -> T:
        """What the change returned; raises what it failed with."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it ran, so this is its value, None included


class WriterConnection(sqlite3.Connection):
    """SQLite's connection whose `commit` carries out what is queued.

    A subclass, because `commit` is what aiosqlite calls on the database's thread.

    `prepare` must be called before anything else.
    """

    def prepare(
        self, queue: deque[Pending[Any]], *, clock: Callable[[], datetime], announce: Callable[[Head], None]
    ) -> None:
        """Gives the connection its work.

        Args:
            queue: changes to carry out, the oldest first; others append while this works.
            clock: dates audit events.
            announce: called on the database's thread after each commit that appended to the audit.
        """
        self._queue = queue
        self._clock = clock
        self._announce = announce
        self.head = load_head(self)

    def commit(self) -> None:
        """Carries out the queued changes in one transaction; their outcomes say how it went. Raises nothing."""
        group = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP))]
        if not group:
            return
        error = self._attempt(group)
        if error is None:
            return
        alone = len(group) == 1 or _is(error, sqlite3.SQLITE_IOERR)
        for pending in group:
            # Each gets an error of its own: one exception raised in two tasks would mix their tracebacks.
            failure = error if alone else self._attempt([pending])
            if failure is not None:
                pending.fail(told(failure))

    def _attempt(self, group: list[Pending[Any]]) -> sqlite3.Error | None:
        head = self.head
        try:
            self.execute("BEGIN IMMEDIATE")
            for pending in group:
                head = self._run(pending, head)
            if head != self.head:
                save_head(self, head)
            self.execute("COMMIT")
        except sqlite3.Error as error:
            if self.in_transaction:
                self.execute("ROLLBACK")
            return error
        if head != self.head:
            self.head = head
            self._announce(head)
        return None

    def _run(self, pending: Pending[Any], head: Head) -> Head:
        self.execute("SAVEPOINT change")
        tx = Transaction(self, head, self._clock)
        try:
            pending.run(tx)
        except (
            Exception
        ) as error:  # the edge of a change: whatever it raises is its caller's, and nobody else's
            if not self.in_transaction:
                raise  # SQLite has rolled back everything, the changes before this one too
            self.execute("ROLLBACK TO change")
            self.execute("RELEASE change")
            pending.fail(told(error) if isinstance(error, sqlite3.Error) else error)
            return head
        self.execute("RELEASE change")
        return tx.head


def told(error: sqlite3.Error) -> NoSpace | HubError:
    """An error of SQLite's as ours."""
    if _is(error, sqlite3.SQLITE_FULL):
        return NoSpace(
            "the disk of the hub's database is full; free some space, for example with: cloche prune"
        )
    if _is(error, sqlite3.SQLITE_CORRUPT) or _is(error, sqlite3.SQLITE_NOTADB):
        return StoreFailed(
            f"the hub's database is damaged ({error}): restore it, or move it away to start afresh"
        )
    if _is(error, sqlite3.SQLITE_BUSY):
        return StoreFailed("another program keeps the hub's database locked")
    return StoreFailed(f"the hub's database failed: {error}")


def _is(error: sqlite3.Error, code: int) -> bool:
    # The low byte is the error, the rest its kind. Errors of the module itself have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == code
