"""Events of the audit, parts of its chain and whole databases of them, as tests of the dashboard want them."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloche import AuditEvent
from cloche.audit_search import AuditPart
from cloche_hub.store.migrate import migrate

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

_MANY = """
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < :count)
INSERT INTO audit (seq, at, event, actor, sandbox, detail, prev_hash, hash)
SELECT
    n,
    '2026-01-01T00:00:00.000000Z',
    iif(n % 100 = 0, 'exec.failed', 'exec.started'),
    'tok_1',
    'sb_' || (n % 10),
    '{"argv":["print","' || n || '"]}',
    printf('%064x', n - 1),
    printf('%064x', n)
FROM counted
"""


def event(
    number: int, name: str = "exec.started", *, sandbox: str | None = "sb_1", **detail: Any
) -> AuditEvent:
    """An event of now."""
    return AuditEvent(number, NOW, name, "tok_1", sandbox, detail, f"{number - 1:064x}", f"{number:064x}")


def all_of_them(head: int) -> AuditPart:
    """What a hub tells whoever wants and sees all."""
    return AuditPart(1, head, range(1, head + 1), head)


def part(first: int, last: int, *numbers: int, head: int = 1000) -> AuditPart:
    """A part of the chain, and what is wanted of it."""
    return AuditPart(first, last, numbers, head)


def write_many(home: Path, count: int) -> None:
    """A hub's database with so many events, each hundredth `exec.failed`. The chain does not hold."""
    home.mkdir(parents=True, mode=0o700)
    with contextlib.closing(sqlite3.connect(home / "hub.db", isolation_level=None)) as database:
        (home / "hub.db").chmod(0o600)
        migrate(database)
        database.execute("BEGIN")
        database.execute(_MANY, {"count": count})
        database.execute("UPDATE audit_head SET seq = ?, hash = ?", (count, f"{count:064x}"))
        database.execute("COMMIT")
