"""One commit for every change that waits; a change that fails takes no other down."""

from __future__ import annotations

import resource
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit import GENESIS, Head, verify
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import Conflict, NoSpace, StoreFailed
from cloche_hub.store.audit import SELECT_HEAD, SELECT_PAGE, event_of, head_of
from cloche_hub.store.group_commit import GROUP, Pending, WriterConnection, told
from cloche_hub.store.migrate import migrate
from cloche_hub.store.transaction import Transaction
from tests.hub.domain.examples import MOMENT, sandbox


class Writer:
    """A writer on a real file, with its queue, and what it has done."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=0, factory=WriterConnection)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA journal_mode = WAL")
        migrate(self.connection)
        self.queue: deque[Pending[Any]] = deque()
        self.heads: list[Head] = []
        self.statements: list[str] = []
        self.connection.prepare(self.queue, clock=lambda: MOMENT, announce=self.heads.append)
        self.connection.set_trace_callback(self.statements.append)

    def queued(self, *changes: Callable[[Transaction], Any]) -> list[Pending[Any]]:
        pending = [Pending(change) for change in changes]
        self.queue.extend(pending)
        return pending

    def commits(self) -> int:
        return self.statements.count("COMMIT")

    def seqs(self) -> list[int]:
        events = [event_of(row) for row in self.connection.execute(SELECT_PAGE, (0, 10_000))]
        verify(events, end=head_of(self.connection.execute(SELECT_HEAD).fetchall()))
        return [event.seq for event in events]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    opened = Writer(tmp_path / "hub.db")
    yield opened
    opened.connection.close()


def append(tx: Transaction) -> int:
    return tx.append_audit(AuditName.EXEC_EXITED, actor="tok_a", detail={"exit_code": 0}).seq


def append_and_fail(tx: Transaction) -> int:
    append(tx)
    raise Conflict("the change thinks better of it")


def fill_up(tx: Transaction) -> int:
    """Far more than `limit_pages` allows."""
    tx.execute("CREATE TABLE ballast (x)")
    for _ in range(200):
        tx.execute("INSERT INTO ballast VALUES (zeroblob(4000))")
    return append(tx)


def limit_pages(writer: Writer, spare: int) -> None:
    (count,) = writer.connection.execute("PRAGMA page_count").fetchone()
    writer.connection.execute(f"PRAGMA max_page_count = {count + spare}")


def test_all_changes_that_wait_share_one_commit(writer: Writer) -> None:
    pending = writer.queued(*[append] * 100)
    writer.connection.commit()
    assert [change.outcome() for change in pending] == list(range(1, 101))
    assert writer.commits() == 1
    assert writer.heads == [writer.connection.head]
    assert writer.seqs() == list(range(1, 101))


def test_a_group_is_bounded(writer: Writer) -> None:
    writer.queued(*[append] * (GROUP + 1))
    writer.connection.commit()
    assert len(writer.queue) == 1
    writer.connection.commit()
    assert writer.commits() == 2


def test_nothing_to_do_is_no_transaction(writer: Writer) -> None:
    writer.connection.commit()
    assert writer.statements == []
    assert writer.heads == []


def test_a_change_that_fails_leaves_no_trace_and_fails_its_caller_only(writer: Writer) -> None:
    before, failing, after = writer.queued(append, append_and_fail, append)
    writer.connection.commit()
    assert (before.outcome(), after.outcome()) == (1, 2)
    with pytest.raises(Conflict, match="thinks better"):
        failing.outcome()
    assert writer.commits() == 1
    assert writer.seqs() == [1, 2]


def test_a_statement_that_fails_is_told_as_the_stores_error(writer: Writer) -> None:
    (failing, fine) = writer.queued(lambda tx: tx.execute("INSERT INTO nowhere VALUES (1)"), append)
    writer.connection.commit()
    with pytest.raises(StoreFailed, match="no such table: nowhere"):
        failing.outcome()
    assert fine.outcome() == 1


def test_the_next_change_sees_what_the_one_before_it_did(writer: Writer) -> None:
    _, conflicting = writer.queued(
        lambda tx: tx.insert_sandbox(sandbox(id="sb_1")), lambda tx: tx.insert_sandbox(sandbox(id="sb_2"))
    )
    writer.connection.commit()
    with pytest.raises(Conflict, match="sb_1"):
        conflicting.outcome()


def test_a_change_returns_nothing_too(writer: Writer) -> None:
    (pending,) = writer.queued(lambda _: None)
    writer.connection.commit()
    assert pending.outcome() is None
    assert writer.heads == [], "nobody is told of a chain that has not moved"


def test_a_change_nobody_got_to_says_so(writer: Writer) -> None:
    (pending,) = writer.queued(append)
    with pytest.raises(StoreFailed, match="closed before"):
        pending.outcome()


def test_a_change_too_large_for_the_disk_fails_alone(writer: Writer) -> None:
    limit_pages(writer, spare=20)
    before, too_large, after = writer.queued(append, fill_up, append)
    writer.connection.commit()
    assert (before.outcome(), after.outcome()) == (1, 2)
    with pytest.raises(NoSpace, match="cloche prune"):
        too_large.outcome()
    assert writer.seqs() == [1, 2]
    assert writer.heads[-1].seq == 2


def test_a_change_that_only_the_commit_refuses_fails_alone(writer: Writer) -> None:
    writer.connection.execute("PRAGMA foreign_keys = ON")
    writer.connection.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
    writer.connection.execute(
        "CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)"
    )
    before, orphan, after = writer.queued(
        append, lambda tx: tx.execute("INSERT INTO children VALUES (1)"), append
    )
    writer.connection.commit()
    assert (before.outcome(), after.outcome()) == (1, 2)
    with pytest.raises(StoreFailed, match="FOREIGN KEY constraint failed"):
        orphan.outcome()
    assert not writer.connection.in_transaction
    assert writer.seqs() == [1, 2]


def test_a_full_disk_fails_every_change_and_a_freed_one_takes_them_again(writer: Writer) -> None:
    limit_pages(writer, spare=0)
    filling = writer.queued(*[append] * 100)
    while writer.queue:
        writer.connection.commit()
    kept = [change for change in filling if _kept(change)]
    assert len(kept) < 100
    assert writer.seqs() == list(range(1, len(kept) + 1))
    assert writer.connection.head.seq == len(kept)

    limit_pages(writer, spare=1000)
    (again,) = writer.queued(append)
    writer.connection.commit()
    assert again.outcome() == len(kept) + 1
    assert writer.seqs() == list(range(1, len(kept) + 2))


def test_after_an_error_of_the_disk_all_changes_fail_and_nothing_is_tried_twice(
    writer: Writer, tmp_path: Path
) -> None:
    (settled,) = writer.queued(append)
    writer.connection.commit()
    assert settled.outcome() == 1
    runs: list[int] = []

    def counted(tx: Transaction) -> int:
        runs.append(1)
        return append(tx)

    pending = writer.queued(*[counted] * 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses to let the log grow: to SQLite that is an I/O error.
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "hub.db-wal").stat().st_size + 10, hard))
    try:
        writer.connection.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for change in pending:
        with pytest.raises(StoreFailed, match="disk I/O error"):
            change.outcome()
    assert len(runs) == 3
    assert len({id(_error(change)) for change in pending}) == 3, "each caller has an exception of its own"

    (again,) = writer.queued(append)
    writer.connection.commit()
    assert again.outcome() == 2
    assert writer.seqs() == [1, 2]


def test_a_lock_another_program_holds_fails_every_change_in_clear_words(
    writer: Writer, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "hub.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        pending = writer.queued(append, append)
        writer.connection.commit()
    finally:
        other.close()
    for change in pending:
        with pytest.raises(StoreFailed, match="another program keeps the hub's database locked"):
            change.outcome()
    assert writer.connection.head == GENESIS


def test_a_writer_goes_on_where_the_chain_in_the_file_ends(tmp_path: Path) -> None:
    for expected in (1, 2):
        writer = Writer(tmp_path / "again.db")
        (pending,) = writer.queued(append)
        writer.connection.commit()
        writer.connection.close()
        assert pending.outcome() == expected


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (sqlite3.SQLITE_FULL, NoSpace, "is full"),
        (sqlite3.SQLITE_CORRUPT, StoreFailed, "is damaged"),
        (sqlite3.SQLITE_NOTADB, StoreFailed, "is damaged"),
        (sqlite3.SQLITE_BUSY | 5 << 8, StoreFailed, "locked"),
        (None, StoreFailed, "the hub's database failed: words"),
    ],
)
def test_sqlites_errors_are_told_in_our_words(code: int | None, kind: type[Exception], said: str) -> None:
    error = sqlite3.OperationalError("words")
    if code is not None:
        error.sqlite_errorcode = code
    with pytest.raises(kind, match=said):
        raise told(error)


def _kept(change: Pending[Any]) -> bool:
    return _error(change) is None


def _error(change: Pending[Any]) -> Exception | None:
    try:
        change.outcome()
    except (NoSpace, StoreFailed) as error:
        return error
    return None
