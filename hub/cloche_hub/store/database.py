"""The hub's SQLite database: one writer with group commit, two readers, opened and closed in good order.

Everything acknowledged survives `kill -9` and a power cut: WAL with `synchronous=FULL`, which syncs each commit.
Rule: aiosqlite is used here only, and through its public face.
Rule: what lets clients in has a reader of its own (`door`), so that nobody's long query keeps others out.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from cloche_hub.domain.audit import Head
from cloche_hub.errors import StoreFailed
from cloche_hub.store.audit_search import add_functions
from cloche_hub.store.group_commit import Pending, WriterConnection, told
from cloche_hub.store.home import make_private_file
from cloche_hub.store.migrate import migrate
from cloche_hub.store.rows import Values
from cloche_hub.store.transaction import Transaction

T = TypeVar("T")

BUSY_TIMEOUT_S = 5.0
"""How long to wait for another program's lock: a backup, an administrator's shell."""
_OLDEST_SQLITE = (3, 37, 0)
# Rows fetched in one turn by aiosqlite's iteration, which is not used here.
_CHUNK = 64


def utc_now() -> datetime:
    """The host's clock."""
    return datetime.now(UTC)


class Reader:
    """Reads what is committed, one query after another.

    Args:
        connection: to read with.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        """The rows of one query, all at once: bound it. Sees everything acknowledged so far.

        Cancelling it before its turn has it never run.

        Raises:
            StoreFailed: the database failed.
        """
        # aiosqlite runs whatever it was handed, also for those who are gone: so they wait here.
        async with self._turn:
            try:
                return list(await self._connection.execute_fetchall(sql, values))
            except ValueError:
                raise StoreFailed("the database is closed") from None
            except sqlite3.Error as error:
                raise told(error) from None


class Database:
    """An open database; make one with `open_database`."""

    def __init__(
        self,
        writer: aiosqlite.Connection,
        reader: aiosqlite.Connection,
        door: aiosqlite.Connection,
        queue: deque[Pending[Any]],
    ) -> None:
        self._writer = writer
        self._reader = Reader(reader)
        self.door = Reader(door)
        """For the queries that let clients in."""
        self._queue = queue

    async def write(self, change: Callable[[Transaction], T]) -> T:
        """Makes a change and returns what it returned, once that is durable.

        The change runs on the database's thread, possibly more than once; it must be a plain function of what it is
        given. If it raises, it has not happened, and this raises the same. Cancelling this leaves open whether the
        change happens; it happens whole or not at all.

        Raises:
            NoSpace: the disk is full; the change has not happened.
            StoreFailed: the database failed; the class says what is known.
        """
        pending = Pending(change)
        self._queue.append(pending)
        try:
            await self._writer.commit()
        except ValueError:  # what aiosqlite raises once it is closed
            raise StoreFailed("the database is closed") from None
        except sqlite3.Error as error:  # it was being closed
            raise told(error) from None
        return pending.outcome()

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        """The rows of one query; see `Reader.fetch`."""
        return await self._reader.fetch(sql, values)


@asynccontextmanager
async def open_database(
    path: Path, *, announce: Callable[[Head], None], clock: Callable[[], datetime] = utc_now
) -> AsyncIterator[Database]:
    """Opens the database, makes or migrates it if need be, and closes it at the end.

    Args:
        path: its file; the folder must exist.
        announce: called in the event loop with the end of the audit chain, at once and after each commit that moved it.
        clock: dates audit events.

    Raises:
        StoreFailed: it cannot be opened, is damaged, or was written by a newer version.
    """
    loop = asyncio.get_running_loop()
    queue: deque[Pending[Any]] = deque()

    def hand_over(head: Head) -> None:
        loop.call_soon_threadsafe(announce, head)

    connect_writer = partial(_connect_writer, path, queue, clock=clock, announce=hand_over)
    try:
        # At the end the readers close first: closing the last connection empties the log into the database.
        async with (
            _on_a_thread(connect_writer) as writer,
            _on_a_thread(partial(_connect_reader, path)) as reader,
            _on_a_thread(partial(_connect_reader, path)) as door,
        ):
            yield Database(writer, reader, door, queue)
    except sqlite3.Error as error:
        raise told(error) from error


@asynccontextmanager
async def _on_a_thread(connect: Callable[[], sqlite3.Connection]) -> AsyncIterator[aiosqlite.Connection]:
    """A connection with a thread of its own; raises what `connect` raises."""
    failures: list[Exception] = []

    def connect_or_stand_in() -> sqlite3.Connection:
        try:
            return connect()
        except Exception as error:  # the edge of a thread: raised again below
            # aiosqlite does not wait for the thread of a connection that failed, which may then outlive the event
            # loop it reports to. So it gets one that works, and closes it in good order.
            failures.append(error)
            return sqlite3.connect(":memory:")

    async with aiosqlite.Connection(connect_or_stand_in, _CHUNK) as connection:
        for failure in failures:
            raise failure
        yield connection


def _connect_reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA query_only = ON")
    add_functions(connection)
    return connection


def _connect_writer(
    path: Path,
    queue: deque[Pending[Any]],
    *,
    clock: Callable[[], datetime],
    announce: Callable[[Head], None],
) -> WriterConnection:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreFailed(f"SQLite {sqlite3.sqlite_version} is too old; Cloche needs 3.37 or newer")
    try:
        # SQLite gives the files beside the database the mode of the database itself.
        make_private_file(path)
    except OSError as error:
        raise StoreFailed(f"cannot use the database {path}: {error.strerror}") from None
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S, factory=WriterConnection)
    try:
        connection.row_factory = sqlite3.Row
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreFailed(
                f"the file system of {path} cannot hold the database: set CLOCHE_HOME to a local disk"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # So that REPLACE, too, meets the triggers that guard the audit.
        connection.execute("PRAGMA recursive_triggers = ON")
        migrate(connection)
        connection.prepare(queue, clock=clock, announce=announce)
        announce(connection.head)
    except BaseException:
        connection.close()
        raise
    return connection
