"""Numbered scripts bring a database up to date, each whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_hub.errors import StoreFailed
from cloche_hub.store.migrate import check_version, migrate, migration_scripts

ONE = "CREATE TABLE one (x); INSERT INTO one VALUES (1);"
TWO = "CREATE TABLE two (x);"
BAD = "CREATE TABLE three (x); INSERT INTO nowhere VALUES (1); CREATE TABLE four (x);"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    yield opened
    opened.close()


def tables(connection: sqlite3.Connection) -> list[str]:
    return [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    ]


def test_each_script_runs_once(connection: sqlite3.Connection) -> None:
    migrate(connection, [ONE])
    migrate(connection, [ONE, TWO])
    migrate(connection, [ONE, TWO])
    assert tables(connection) == ["one", "two"]
    assert connection.execute("SELECT count(*) FROM one").fetchone() == (1,)
    assert check_version(connection, latest=2) == 2


def test_a_script_that_fails_leaves_the_schema_the_one_before_it_left(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, [ONE, BAD])
    assert tables(connection) == ["one"]
    assert check_version(connection, latest=2) == 1
    assert not connection.in_transaction


def test_a_script_that_cannot_even_begin_says_so(tmp_path: Path) -> None:
    path = tmp_path / "db"
    holder = sqlite3.connect(path, isolation_level=None)
    waiter = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            migrate(waiter, [ONE])
    finally:
        waiter.close()
        holder.close()


def test_a_schema_newer_than_the_program_is_refused_in_clear_words(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA user_version = 9")
    with pytest.raises(
        StoreFailed, match=r"written by a newer Cloche \(schema 9; this one knows up to 1\): upgrade"
    ):
        migrate(connection, [ONE])
    assert tables(connection) == []


def test_this_installations_scripts_make_every_table(connection: sqlite3.Connection) -> None:
    migrate(connection)
    assert tables(connection) == ["approvals", "audit", "audit_head", "recordings", "sandboxes", "tokens"]
    assert check_version(connection, latest=len(migration_scripts())) == len(migration_scripts())


def test_a_gap_in_the_scripts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0002_two.sql").write_text(TWO)
    (tmp_path / "migrations" / "notes.txt").write_text("not a script")
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    with pytest.raises(StoreFailed, match="lacks database scripts"):
        migration_scripts()


def test_an_installation_without_scripts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "migrations").mkdir()
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    with pytest.raises(StoreFailed, match="lacks database scripts"):
        migration_scripts()
