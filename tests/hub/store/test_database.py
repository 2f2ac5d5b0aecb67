"""The database as a whole: durable, private, closed in good order, and honest about its failures."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit import GENESIS, Head
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import Conflict, StoreFailed
from cloche_hub.store import database as database_module
from cloche_hub.store.database import Database, Reader, open_database, utc_now
from cloche_hub.store.offline import verify_file
from cloche_hub.store.store import open_store
from cloche_hub.store.transaction import Transaction
from tests.hub.domain.examples import sandbox

ROOT = Path(__file__).parents[3]


def append(tx: Transaction) -> int:
    return tx.append_audit(AuditName.EXEC_EXITED, actor="tok_a").seq


def ignore(head: Head) -> None:
    pass


async def test_a_write_returns_what_the_change_returned_and_reads_see_it(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        assert await database.write(append) == 1
        assert [row["seq"] for row in await database.fetch("SELECT seq FROM audit WHERE seq > ?", (0,))] == [
            1
        ]


SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT count(*) FROM n"


async def test_who_comes_in_waits_for_nobodys_query(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database, asyncio.TaskGroup() as tasks:
        order: list[str] = []

        async def read(name: str, reader: Database | Reader, sql: str) -> None:
            await reader.fetch(sql)
            order.append(name)

        tasks.create_task(read("slow", database, SLOW))
        tasks.create_task(read("behind it", database, "SELECT 1"))
        tasks.create_task(read("at the door", database.door, "SELECT * FROM tokens"))
    assert order == ["at the door", "slow", "behind it"]


async def test_a_query_of_one_who_is_gone_never_runs(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(database.fetch("SELECT 1"))
            gone = tasks.create_task(database.fetch("this would fail"))
            await asyncio.sleep(0)
            gone.cancel()
        assert gone.cancelled()
        assert len(await database.fetch("SELECT 1")) == 1


async def test_a_write_raises_what_the_change_raised(tmp_path: Path) -> None:
    def change(tx: Transaction) -> None:
        append(tx)
        raise Conflict("no")

    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        with pytest.raises(Conflict):
            await database.write(change)
        assert not await database.fetch("SELECT * FROM audit")


async def test_writes_that_wait_for_the_disk_together_share_a_commit(tmp_path: Path) -> None:
    heads: list[Head] = []
    busy, release = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> int:
        busy.set()
        assert release.wait(10)
        return append(tx)

    async with (
        asyncio.timeout(20),
        open_database(tmp_path / "hub.db", announce=heads.append) as database,
        asyncio.TaskGroup() as tasks,
    ):
        first = tasks.create_task(database.write(hold))
        await asyncio.to_thread(busy.wait, 10)
        others = [tasks.create_task(database.write(append)) for _ in range(100)]
        await asyncio.sleep(0)
        release.set()
        assert await first == 1
        assert sorted([await other for other in others]) == list(range(2, 102))
    assert [head.seq for head in heads] == [0, 1, 101]


async def test_who_awaits_a_write_finds_the_head_announced(tmp_path: Path) -> None:
    heads: list[Head] = []
    async with open_database(tmp_path / "hub.db", announce=heads.append) as database:
        assert heads == [GENESIS]
        await database.write(append)
        assert heads[-1].seq == 1


async def test_a_write_whose_caller_gives_up_happens_whole_or_not_at_all(tmp_path: Path) -> None:
    busy, release = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        append(tx)
        busy.set()
        assert release.wait(10)
        append(tx)

    async with asyncio.timeout(20), open_database(tmp_path / "hub.db", announce=ignore) as database:
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(database.write(hold))
            await asyncio.to_thread(busy.wait, 10)
            writing.cancel()
        release.set()
        assert await database.write(append) == 3


async def test_every_commit_is_synced_and_the_reader_cannot_write(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        pragmas = await database.write(
            lambda tx: [
                tx.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers")
            ]
        )
        assert pragmas == ["wal", 2, 1, 1]
        with pytest.raises(StoreFailed, match="readonly"):
            await database.fetch("DELETE FROM tokens")


async def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.touch(mode=0o644)
    async with open_database(path, announce=ignore) as database:
        await database.write(append)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["hub.db", "hub.db-wal", "hub.db-shm"], 0o600)


async def test_closing_leaves_one_file_and_refuses_what_comes_later(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        await database.write(append)
    assert [file.name for file in tmp_path.iterdir()] == ["hub.db"]
    with pytest.raises(StoreFailed, match="is closed"):
        await database.write(append)
    with pytest.raises(StoreFailed, match="is closed"):
        await database.fetch("SELECT 1")


async def test_writes_under_way_when_the_database_closes_are_made_or_refused(tmp_path: Path) -> None:
    async def outcome() -> bool:
        try:
            await database.write(append)
        except StoreFailed:
            return False
        return True

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        async with open_database(tmp_path / "hub.db", announce=ignore) as database:
            writes = [tasks.create_task(outcome()) for _ in range(50)]
            await asyncio.sleep(0)
        writes += [tasks.create_task(outcome()) for _ in range(5)]
    made = [await write for write in writes]
    assert made == [True] * 50 + [False] * 5
    assert verify_file(tmp_path / "hub.db").events == 50


async def test_a_write_that_meets_a_closing_database_is_refused() -> None:
    class Closing:
        async def commit(self) -> None:
            raise sqlite3.ProgrammingError("Cannot operate on a closed database.")

    closing: Any = Closing()
    with pytest.raises(StoreFailed, match="closed database"):
        await Database(closing, closing, closing, deque()).write(append)


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"precious" * 1000)
    with pytest.raises(StoreFailed, match="is damaged"):
        async with open_database(path, announce=ignore):
            pass
    assert path.read_bytes() == b"precious" * 1000


async def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        await database.write(append)
    connection = sqlite3.connect(tmp_path / "hub.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreFailed, match="newer Cloche"):
        async with open_database(tmp_path / "hub.db", announce=ignore):
            pass


async def test_a_place_where_no_database_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "hub.db").symlink_to("/etc/passwd")
    with pytest.raises(StoreFailed, match=f"cannot use the database {tmp_path}/hub.db"):
        async with open_database(tmp_path / "hub.db", announce=ignore):
            pass


async def test_a_file_system_without_what_the_log_needs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A database in memory answers as such a file system does: it stays in another journal mode.
    monkeypatch.setattr(database_module, "make_private_file", lambda _: None)
    with pytest.raises(StoreFailed, match="set CLOCHE_HOME to a local disk"):
        async with open_database(Path(":memory:"), announce=ignore):
            pass


async def test_a_sqlite_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreFailed, match=r"is too old; Cloche needs 3\.37"):
        async with open_database(tmp_path / "hub.db", announce=ignore):
            pass


async def test_a_failing_query_is_told_as_the_stores_error(tmp_path: Path) -> None:
    async with open_database(tmp_path / "hub.db", announce=ignore) as database:
        with pytest.raises(StoreFailed, match="no such table"):
            await database.fetch("SELECT * FROM nowhere")


async def test_an_error_of_sqlites_in_the_body_does_not_leave_as_such(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="words"):
        async with open_database(tmp_path / "hub.db", announce=ignore):
            raise sqlite3.OperationalError("words")


def test_the_hosts_clock_knows_its_zone() -> None:
    assert utc_now().utcoffset() is not None


def test_every_acknowledged_write_survives_kill_9_in_the_middle_of_a_storm(tmp_path: Path) -> None:
    home = tmp_path / "home"
    acknowledged: dict[int, str] = {}
    for round_ in range(3):
        acknowledged |= _killed_storm(home, round_, lines=200)
        # First as it lies there, log and all, without a hub; then by the next hub.
        assert verify_file(home / "hub.db").events >= max(acknowledged)
        asyncio.run(_check_all_there(home, acknowledged))


def test_a_log_cut_off_anywhere_opens_to_whole_changes_only(tmp_path: Path) -> None:
    """What a power cut leaves: the log written up to some byte."""
    home = tmp_path / "home"
    _killed_storm(home, 0, lines=200)
    log = (home / "hub.db-wal").read_bytes()
    for number in range(12):
        cut = len(log) * number // 12 + number
        torn = tmp_path / f"torn{number}"
        torn.mkdir()
        shutil.copy(home / "hub.db", torn / "hub.db")
        (torn / "hub.db-wal").write_bytes(log[:cut])
        asyncio.run(_check_all_there(torn, {}))


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, to mount a disk of its own")
def test_a_disk_that_is_really_full_fails_changes_and_harms_none(tmp_path: Path) -> None:
    mount = "mount -t tmpfs -o size=1500k tmpfs"
    # SAFETY: fixed commands; the mount lives in a namespace of its own and ends with the process.
    if subprocess.run(["unshare", "-Urm", "sh", "-c", f"{mount} {tmp_path}"], check=False).returncode:
        pytest.skip("this host lets nobody mount a disk of its own")
    done = subprocess.run(
        [
            "unshare",
            "-Urm",
            "sh",
            "-c",
            f'{mount} "$1" && exec "$2" -m tests.hub.store.fill_disk "$1/home"',
            "sh",
            str(tmp_path),
            sys.executable,
        ],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert set(told["outcomes"]) == {"kept", "NoSpace"}
    assert told["events"] == told["outcomes"]["kept"]
    assert told["again"] == "kept"
    assert told["after"] == told["reopened"] == told["events"] + 1


def _killed_storm(home: Path, round_: int, *, lines: int) -> dict[int, str]:
    """What a storm of writes had acknowledged when it was killed."""
    storm = subprocess.Popen(
        [sys.executable, "-m", "tests.hub.store.write_storm", str(home), str(round_)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    # A storm that hangs is killed too: then the lines end early.
    guard = threading.Timer(60, storm.kill)
    guard.start()
    try:
        assert storm.stdout is not None
        told = [storm.stdout.readline() for _ in range(lines)]
        storm.kill()
        told += storm.stdout.readlines()
    finally:
        guard.cancel()
        storm.kill()
        storm.wait(10)
        assert storm.stdout is not None
        storm.stdout.close()
    assert storm.returncode == -9
    acknowledged = [line.decode().split() for line in told]
    assert len(acknowledged) >= lines
    return {int(seq): sandbox_id for seq, sandbox_id in acknowledged}


async def _check_all_there(home: Path, acknowledged: dict[int, str]) -> None:
    async with asyncio.timeout(60), open_store(home) as store:
        verified = await store.audit.verify()
        created: dict[int, str | None] = {}
        while page := await store.audit.page(after=max(created, default=0)):
            created |= {event.seq: event.sandbox for event in page}
        assert acknowledged.items() <= created.items()
        # A change inserts a sandbox and speaks of it: never one without the other.
        assert {one.id for one in await store.sandboxes()} == set(created.values())
        assert verified.events == len(created)
        # And it goes on.
        await store.write(
            lambda tx: tx.insert_sandbox(sandbox(id=f"sb_go{verified.events}", name=f"go{verified.events}"))
        )
        await store.write(
            lambda tx: tx.append_audit(
                AuditName.SANDBOX_CREATED, actor="hub", sandbox=f"sb_go{verified.events}"
            )
        )
        assert (await store.audit.verify()).events == verified.events + 1
