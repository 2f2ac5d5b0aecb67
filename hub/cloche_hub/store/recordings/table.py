"""The table of recordings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from cloche_hub.domain.times import from_text, to_text
from cloche_hub.errors import BadRequest, NotFound
from cloche_hub.ports import Header, RecordingKind, RecordingRow
from cloche_hub.store.rows import Executes, Fetches

_MEANT = 8

TOTAL = "SELECT coalesce(sum(size_bytes), 0) AS total FROM recordings WHERE ended_at IS NOT NULL"


async def fetch(
    database: Fetches, *, sandbox: str | None, owner: str | None, limit: int
) -> Sequence[RecordingRow]:
    """The newest recordings, newest first; of one sandbox, of one owner, or all."""
    sql, values = select_newest(sandbox=sandbox, owner=owner, limit=limit)
    return [_row(row) for row in await database.fetch(sql, values)]


def select_newest(*, sandbox: str | None, owner: str | None, limit: int) -> tuple[str, Sequence[object]]:
    """The statement of `fetch` and its values: what it costs depends on the limit, never on the size of the table."""
    filters = {"sandbox": sandbox, "owner": owner}
    wanted = {column: value for column, value in filters.items() if value is not None}
    where = " AND ".join(f"{column} = ?" for column in wanted) or "1"
    sql = f"SELECT * FROM recordings WHERE {where} ORDER BY started_at DESC, id DESC LIMIT ?"  # noqa: S608 - ours
    return sql, (*wanted.values(), limit)


async def find(database: Fetches, reference: str, *, owner: str | None = None) -> RecordingRow:
    """The recording a reference means: an id, or the beginning of one.

    Args:
        database: where to read.
        reference: as a person gave it.
        owner: look among this owner's only; None: among everybody's.

    Raises:
        BadRequest: several are meant.
        NotFound: none is.
    """
    # Nothing is no beginning of anything.
    sql, values = select_meant(reference, owner=owner)
    rows = await database.fetch(sql, values) if reference else ()
    # The first of those that begin so is the one that is called so, if there is one.
    if len(rows) > 1 and rows[0]["id"] != reference:
        meant = ", ".join(row["id"] for row in rows)
        raise BadRequest(f"{reference!r} could be any of: {meant}; give more of it")
    if not rows:
        raise NotFound(f"no recording {reference!r}; `cloche record ls` lists them")
    return _row(rows[0])


def select_meant(reference: str, *, owner: str | None) -> tuple[str, Sequence[object]]:
    """The statement for the first that begin so, and its values: it looks at no others."""
    owned, values = ("", ()) if owner is None else ("owner = ? AND", (owner,))
    sql = f"""
        SELECT * FROM recordings
        WHERE {owned} id >= ? AND id < ? || char(1114111)
        ORDER BY id LIMIT ?
    """  # noqa: S608 - a column name of ours
    return sql, (*values, reference, reference, _MEANT)


async def fetch_unfinished(database: Fetches) -> Sequence[RecordingRow]:
    """Those that are under way, or were when a hub was killed."""
    return [_row(row) for row in await database.fetch("SELECT * FROM recordings WHERE ended_at IS NULL")]


async def fetch_oldest(database: Fetches, *, limit: int) -> Sequence[RecordingRow]:
    """Finished ones, in the order in which they ended."""
    sql = "SELECT * FROM recordings WHERE ended_at IS NOT NULL ORDER BY ended_at, id LIMIT ?"
    return [_row(row) for row in await database.fetch(sql, (limit,))]


async def total_bytes(database: Fetches) -> int:
    """What all finished ones take on disk."""
    (row,) = await database.fetch(TOTAL)
    return int(row["total"])


async def known(database: Fetches, ids: Sequence[str]) -> set[str]:
    """Which of these are recordings."""
    marks = ", ".join("?" * len(ids))
    rows = await database.fetch(f"SELECT id FROM recordings WHERE id IN ({marks})", ids)  # noqa: S608 - marks only
    return {row["id"] for row in rows}


def insert(tx: Executes, header: Header) -> None:
    """Adds a recording that begins."""
    tx.execute(
        """
        INSERT INTO recordings (
            id, kind, of, sandbox, sandbox_name, owner, title, rows, cols, term, command, started_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            header.id,
            str(header.kind),
            header.of,
            header.sandbox,
            header.sandbox_name,
            header.owner,
            header.title,
            header.rows,
            header.cols,
            header.term,
            None if header.command is None else json.dumps(header.command),
            to_text(header.started_at),
        ),
    )


def finish(tx: Executes, row: RecordingRow) -> bool:
    """Writes what has become of a recording, once; returns whether that was not known yet."""
    cursor = tx.execute(
        """
        UPDATE recordings SET
            ended_at = ?, duration_s = ?, size_bytes = ?, text_bytes = ?, sha256 = ?, is_cut = ?
        WHERE id = ? AND ended_at IS NULL
        """,
        (
            row.ended_at and to_text(row.ended_at),
            row.duration_s,
            row.size_bytes,
            row.text_bytes,
            row.sha256,
            row.is_cut,
            row.id,
        ),
    )
    return cursor.rowcount > 0


def get(tx: Executes, recording_id: str) -> RecordingRow | None:
    """A recording as the store has it; None if it is gone."""
    found = tx.execute("SELECT * FROM recordings WHERE id = ?", (recording_id,)).fetchone()
    return None if found is None else _row(found)


def delete(tx: Executes, recording_id: str) -> bool:
    """Removes a recording's row; returns whether there was one."""
    return tx.execute("DELETE FROM recordings WHERE id = ?", (recording_id,)).rowcount > 0


def _row(row: sqlite3.Row) -> RecordingRow:
    header = Header(
        id=row["id"],
        kind=RecordingKind(row["kind"]),
        of=row["of"],
        sandbox=row["sandbox"],
        sandbox_name=row["sandbox_name"],
        owner=row["owner"],
        title=row["title"],
        rows=row["rows"],
        cols=row["cols"],
        term=row["term"],
        command=None if row["command"] is None else tuple(json.loads(row["command"])),
        started_at=from_text(row["started_at"]),
    )
    return RecordingRow(
        header=header,
        ended_at=None if row["ended_at"] is None else from_text(row["ended_at"]),
        duration_s=row["duration_s"],
        size_bytes=row["size_bytes"],
        text_bytes=row["text_bytes"],
        sha256=row["sha256"],
        is_cut=bool(row["is_cut"]),
    )
