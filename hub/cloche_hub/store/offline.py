"""The audit chain without a hub: verified and exported from a file, which is only read.

A file is a hub's database (of a running hub, a killed one, or a copy) or an export: one event a line, the head last.

Rule: nothing is written, not even beside the file, except that SQLite itself recovers the log of a killed hub.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TextIO

from cloche_hub.domain.audit import (
    AuditEvent,
    Head,
    Verified,
    Verifier,
    broken,
    event_to_line,
    head_to_line,
    line_to_item,
)
from cloche_hub.errors import AuditBroken, StoreFailed
from cloche_hub.store.audit import PAGE, SELECT_HEAD, SELECT_PAGE, event_of, head_of
from cloche_hub.store.group_commit import told
from cloche_hub.store.migrate import check_version, migration_scripts

_MAGIC = b"SQLite format 3\0"
MAX_LINE = 4 << 20
"""Characters of one line of an export: more than the largest event needs."""


def verify_file(path: Path, *, noted: Iterable[Head] = ()) -> Verified:
    """Verifies the chain in a database or in an export.

    Args:
        path: the file.
        noted: heads somebody kept elsewhere; each must lie on the chain.

    Raises:
        AuditBroken: names the first bad event and why.
        StoreFailed: the file cannot be read, or is neither.
    """
    noted = tuple(noted)
    _check_regular(path)
    undisturbed = not _log_of(path).exists()
    try:
        return _verify(path, noted)
    except (AuditBroken, StoreFailed):
        # A hub that has just started may have rewritten what was read as if nobody could: look again.
        if undisturbed and _log_of(path).exists():
            return _verify(path, noted)
        raise


def export_file(path: Path, out: TextIO) -> Verified:
    """Writes the chain in a file as an export and verifies it on the way; `verify_file` reads it.

    Args:
        path: the file.
        out: where to write, in UTF-8, with line ends left alone.

    Raises:
        AuditBroken: names the first bad event and why; the export ends before it, and has no head.
        StoreFailed: the file cannot be read.
    """
    _check_regular(path)
    verifier = Verifier()
    end = None
    for item in _items(path):
        if isinstance(item, Head):
            end = item
        else:
            verifier.check(item)
            out.write(event_to_line(item) + "\n")
    verified = verifier.finish(end)
    out.write(head_to_line(verifier.head) + "\n")
    return verified


def _verify(path: Path, noted: Iterable[Head]) -> Verified:
    verifier = Verifier(noted=noted)
    end = None
    for item in _items(path):
        if isinstance(item, Head):
            end = item
        elif end is not None:
            raise broken(item.seq, "it comes after the head, where nothing should")
        else:
            verifier.check(item)
    if end is None:
        raise broken(verifier.head.seq + 1, "the file ends without the head: its last lines are missing")
    return verifier.finish(end)


def _check_regular(path: Path) -> None:
    # SAFETY: a pipe or a device could keep whoever reads it waiting for ever.
    try:
        status = path.stat()
    except OSError as error:
        raise StoreFailed(f"cannot read {path}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise StoreFailed(f"{path} is not a regular file; give a hub's database or an export")


def _neither(path: Path) -> StoreFailed:
    return StoreFailed(f"{path} is neither a hub's database nor an export")


def _items(path: Path) -> Iterator[AuditEvent | Head]:
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_MAGIC)) == _MAGIC
        yield from _rows(path) if is_database else _lines(path)
    except OSError as error:
        raise StoreFailed(f"cannot read {path}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise _neither(path) if "no such table" in str(error) else told(error) from None


def _lines(path: Path) -> Iterator[AuditEvent | Head]:
    last = 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        while line := lines.readline(MAX_LINE):
            # Whatever was changed in an export, its lines are objects; text that is none was never one.
            if last == 0 and not line.startswith("{"):
                raise _neither(path)
            try:
                item = line_to_item(line.removesuffix("\n"))
            except ValueError as error:
                raise broken(last + 1, f"its line cannot be read: {error}") from None
            last = item.seq
            yield item


def _rows(path: Path) -> Iterator[AuditEvent | Head]:
    with closing(_open(path)) as connection:
        check_version(connection, latest=len(migration_scripts()))
        last = 0
        while True:
            # The head first, and again each time: a running hub may append between two reads.
            end = head_of(connection.execute(SELECT_HEAD).fetchall())
            rows = connection.execute(SELECT_PAGE, (last, PAGE)).fetchall()
            if not rows:
                yield end
                return
            for row in rows:
                yield event_of(row)
            last = rows[-1]["seq"]


def _open(path: Path) -> sqlite3.Connection:
    # Without a log beside it no hub has the database open: `immutable` reads it without making one.
    mode = "mode=ro" if _log_of(path).exists() else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # A text that is no UTF-8 was never recorded: let it through, for its hash to fail.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
