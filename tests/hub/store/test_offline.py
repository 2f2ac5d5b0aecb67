"""Verifying and exporting a chain without a hub."""

from __future__ import annotations

import asyncio
import io
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit import GENESIS, Head, Verified
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import AuditBroken, StoreFailed
from cloche_hub.store import offline
from cloche_hub.store.audit import PAGE
from cloche_hub.store.offline import export_file, verify_file
from cloche_hub.store.store import Store, open_store
from cloche_hub.store.transaction import Transaction

COUNT = PAGE + 7


async def write_some(store: Store, count: int) -> Head:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(store.write(append))
    return store.audit.head


def append(tx: Transaction) -> None:
    tx.append_audit(AuditName.EXEC_EXITED, actor="tok_a", detail={"n": tx.head.seq, "text": "é\n"})


async def make(home: Path, count: int = COUNT) -> Head:
    async with open_store(home) as store:
        return await write_some(store, count)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Head]:
    home = tmp_path_factory.mktemp("offline") / "home"
    return home / "hub.db", asyncio.run(make(home))


@pytest.fixture
def database(template: tuple[Path, Head], tmp_path: Path) -> Path:
    """A closed database of `COUNT` events, the test's own."""
    return Path(shutil.copy(template[0], tmp_path / "hub.db"))


@pytest.fixture
def head(template: tuple[Path, Head]) -> Head:
    return template[1]


def export(database: Path, to: Path) -> list[str]:
    with to.open("w", encoding="utf-8", newline="\n") as out:
        export_file(database, out)
    return to.read_text(encoding="utf-8").splitlines()


def test_a_closed_database_verifies_and_nothing_is_left_beside_it(database: Path, head: Head) -> None:
    before = database.read_bytes()
    database.chmod(0o400)
    assert verify_file(database) == Verified(COUNT, head.hash)
    assert database.read_bytes() == before
    assert list(database.parent.iterdir()) == [database]


async def test_the_database_of_a_running_hub_verifies_with_its_newest_events(tmp_path: Path) -> None:
    async with open_store(tmp_path / "home") as store:
        for expected in (3, 6):
            head = await write_some(store, 3)
            assert verify_file(tmp_path / "home" / "hub.db") == Verified(expected, head.hash)


def test_an_empty_chain_verifies(tmp_path: Path) -> None:
    asyncio.run(make(tmp_path / "home", 0))
    assert verify_file(tmp_path / "home" / "hub.db") == Verified(0, GENESIS.hash)


def test_an_export_verifies_as_its_database_does(database: Path, head: Head, tmp_path: Path) -> None:
    lines = export(database, tmp_path / "audit.ndjson")
    assert len(lines) == COUNT + 1
    assert verify_file(tmp_path / "audit.ndjson") == Verified(COUNT, head.hash)


def test_an_export_of_an_export_is_the_same(database: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert export(database, once) == export(once, twice)


def test_a_head_noted_elsewhere_must_be_on_the_chain(database: Path, head: Head) -> None:
    assert verify_file(database, noted=[head]).events == COUNT
    with pytest.raises(AuditBroken, match="event 5: its hash is not the one that was noted"):
        verify_file(database, noted=iter([Head(5, "f" * 64)]))


def _drop(number: int) -> Any:
    return lambda lines: lines[:number] + lines[number + 1 :]


@pytest.mark.parametrize(
    ("tamper", "seq", "said"),
    [
        (_drop(0), 1, "expected event 1, found event 2"),
        (_drop(6), 7, "expected event 7, found event 8"),
        (_drop(COUNT), COUNT + 1, "the file ends without the head"),
        (_drop(COUNT - 1), COUNT, "it is missing: the chain should end with"),
        (lambda lines: [], 1, "the file ends without the head"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], 4, "expected event 4, found event 5"),
        (lambda lines: [*lines, lines[0]], 1, "it comes after the head"),
        (
            lambda lines: [*lines[:2], lines[2].replace("tok_a", "tok_b"), *lines[3:]],
            3,
            "its hash does not match",
        ),
        (lambda lines: [*lines[:2], lines[2] + " ", *lines[3:]], 3, "its line cannot be read"),
        (lambda lines: [*lines[:2], "", *lines[2:]], 3, "its line cannot be read"),
        (lambda lines: [*lines[:2], "x" * (offline.MAX_LINE + 1), *lines[2:]], 3, "its line cannot be read"),
    ],
)
def test_whatever_is_changed_in_an_export_is_found(
    database: Path, tmp_path: Path, tamper: Any, seq: int, said: str
) -> None:
    path = tmp_path / "audit.ndjson"
    lines = export(database, path)
    path.write_text("".join(f"{line}\n" for line in tamper(lines)), encoding="utf-8", newline="\n")
    with pytest.raises(AuditBroken, match=f"broken at event {seq}: .*{said}"):
        verify_file(path)


def test_bytes_that_are_no_utf_8_break_an_export(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "audit.ndjson"
    export(database, path)
    path.write_bytes(path.read_bytes().replace(b"tok_a", b"tok_\xff", 1))
    with pytest.raises(AuditBroken, match=r"event 1: .*its hash does not match"):
        verify_file(path)


@pytest.mark.parametrize(
    ("change", "seq", "said"),
    [
        ("UPDATE audit SET actor = 'x' WHERE seq = 9", 9, "its hash does not match"),
        ("UPDATE audit SET actor = CAST(x'ff' AS TEXT) WHERE seq = 9", 9, "its hash does not match"),
        ("DELETE FROM audit WHERE seq = 9", 9, "expected event 9, found event 10"),
        ("DELETE FROM audit WHERE seq > 9", 10, "it is missing"),
        ("DELETE FROM audit", 1, "it is missing"),
    ],
)
def test_whatever_is_changed_in_a_database_is_found(database: Path, change: str, seq: int, said: str) -> None:
    _change(database, change)
    with pytest.raises(AuditBroken, match=f"broken at event {seq}: .*{said}"):
        verify_file(database)


def test_an_export_of_a_broken_chain_stops_before_the_break_and_has_no_head(database: Path) -> None:
    _change(database, "UPDATE audit SET actor = 'x' WHERE seq = 9")
    out = io.StringIO()
    with pytest.raises(AuditBroken, match="event 9"):
        export_file(database, out)
    assert len(out.getvalue().splitlines()) == 8
    assert '"head"' not in out.getvalue()


def test_a_hub_that_starts_while_a_closed_database_is_read_is_no_break(
    database: Path, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def disturbed(path: Path, noted: object) -> Verified:
        attempts.append(path)
        if len(attempts) == 1:
            path.with_name("hub.db-wal").touch()
            raise AuditBroken("pages changed under the reader")
        return Verified(COUNT, head.hash)

    monkeypatch.setattr(offline, "_verify", disturbed)
    assert verify_file(database) == Verified(COUNT, head.hash)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"", AuditBroken, "the file ends without the head"),
        (b"hello\n", StoreFailed, "is neither a hub's database nor an export"),
        (b"{}\n", AuditBroken, "event 1: its line cannot be read"),
        (b"SQLite format 3\0" + b"x" * 5000, StoreFailed, "is damaged"),
    ],
)
def test_a_file_that_is_something_else_is_refused(
    tmp_path: Path, content: bytes, kind: type[Exception], said: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(kind, match=said):
        verify_file(tmp_path / "file")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match=f"cannot read {tmp_path}/nothing: No such file"):
        verify_file(tmp_path / "nothing")
    with pytest.raises(StoreFailed, match="is not a regular file"):
        export_file(tmp_path, io.StringIO())


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    with pytest.raises(StoreFailed, match="is neither a hub's database nor an export"):
        verify_file(tmp_path / "other.db")


def test_a_database_of_a_newer_version_is_refused(database: Path) -> None:
    _change(database, "PRAGMA user_version = 99")
    with pytest.raises(StoreFailed, match="newer Cloche"):
        verify_file(database)


def test_a_path_with_every_odd_character_is_read(database: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a b?mode=rw#%41é"
    odd.mkdir()
    shutil.copy(database, odd / "hub.db")
    assert verify_file(odd / "hub.db").events == COUNT


def _change(database: Path, statement: str) -> None:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("DROP TRIGGER audit_is_never_changed")
    connection.execute("DROP TRIGGER audit_is_never_shortened")
    connection.execute(statement)
    connection.close()
