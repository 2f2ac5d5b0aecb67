"""The database's schema, brought up to date by numbered scripts.

Rule: `migrations/NNNN_what.sql` count from 0001 without a gap; `PRAGMA user_version` says how many have run.
Rule: a script runs whole or not at all. A script that has been released is never edited.
Rule: a schema newer than this program is refused, never guessed at.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from importlib import resources

from cloche_hub.errors import StoreFailed

_SCRIPT = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


def migration_scripts() -> Sequence[str]:
    """The scripts, first to last.

    Raises:
        StoreFailed: one of them is missing from this installation.
    """
    folder = resources.files("cloche_hub.store").joinpath("migrations")
    found = sorted((form[1], entry) for entry in folder.iterdir() if (form := _SCRIPT.fullmatch(entry.name)))
    if not found or [number for number, _ in found] != [f"{n:04}" for n in range(1, len(found) + 1)]:
        raise StoreFailed(
            f"this installation lacks database scripts (it has {[number for number, _ in found]})"
        )
    return [entry.read_text(encoding="utf-8") for _, entry in found]


def check_version(connection: sqlite3.Connection, *, latest: int) -> int:
    """The schema version of an open database.

    Raises:
        StoreFailed: it is newer than `latest`.
        sqlite3.Error: it cannot be read, or is no database.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > latest:
        raise StoreFailed(
            f"the database was written by a newer Cloche (schema {version}; this one knows up to {latest}): "
            "upgrade Cloche, or set CLOCHE_HOME to another folder"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, scripts: Sequence[str] | None = None) -> None:
    """Runs every script that has not run yet.

    Args:
        connection: in autocommit mode, with no transaction open.
        scripts: the whole list (default: this installation's).

    Raises:
        StoreFailed: the schema is newer than the scripts.
        sqlite3.Error: a script failed; the schema is as the one before it left it.
    """
    scripts = migration_scripts() if scripts is None else scripts
    version = check_version(connection, latest=len(scripts))
    for number, script in enumerate(scripts[version:], start=version + 1):
        try:
            # One executescript call: a BEGIN of its own keeps it from committing in between.
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
