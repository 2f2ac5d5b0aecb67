"""A database in memory with today's schema, for tests of one table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cloche_hub.store.migrate import migrate
from cloche_hub.store.rows import Values


class Memory:
    """Reads and writes at once, as both faces of a database that table modules know."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Values = (), /) -> sqlite3.Cursor:
        return self.connection.execute(sql, values)

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        return self.connection.execute(sql, values).fetchall()


@contextmanager
def memory() -> Iterator[Memory]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield Memory(connection)
    finally:
        connection.close()
