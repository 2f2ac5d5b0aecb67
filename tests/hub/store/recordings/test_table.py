"""The table of recordings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from cloche_hub.errors import BadRequest, NotFound
from cloche_hub.ports import RecordingKind, RecordingRow
from cloche_hub.store.recordings import table
from tests.hub.store.memory import Memory, memory
from tests.support.casts import STARTED, header

LATER = STARTED + timedelta(seconds=30)
FIRST = RecordingRow(header())
SECOND = RecordingRow(
    header(
        id="rec_7m",
        kind=RecordingKind.EXEC,
        of="ex_1",
        sandbox="sb_2",
        owner="bob",
        command=("echo", "a b", "é"),
        started_at=LATER,
    ),
    ended_at=LATER,
    duration_s=1.25,
    size_bytes=300,
    text_bytes=4000,
    sha256="0" * 64,
    is_cut=True,
)


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        yield opened


def insert(database: Memory, *rows: RecordingRow) -> None:
    for row in rows:
        table.insert(database, row.header)
        if row.ended_at is not None:
            table.finish(database, row)


async def test_recordings_read_back_as_they_were_written_newest_first(database: Memory) -> None:
    insert(database, FIRST, SECOND)
    assert await table.fetch(database, sandbox=None, owner=None, limit=9) == [SECOND, FIRST]
    assert await table.fetch(database, sandbox=None, owner=None, limit=1) == [SECOND]


async def test_they_are_chosen_by_sandbox_and_owner(database: Memory) -> None:
    insert(database, FIRST, SECOND)
    assert await table.fetch(database, sandbox="sb_1", owner=None, limit=9) == [FIRST]
    assert await table.fetch(database, sandbox=None, owner="bob", limit=9) == [SECOND]
    assert await table.fetch(database, sandbox="sb_1", owner="bob", limit=9) == []


def _plan(database: Memory, sql: str, values: Sequence[object]) -> list[str]:
    return [row["detail"] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize(
    ("index", "filters"),
    [
        ("SCAN recordings USING INDEX recordings_by_start", {}),
        ("SEARCH recordings USING INDEX recordings_by_owner (owner=?)", {"owner": "ann"}),
        ("SEARCH recordings USING INDEX recordings_by_sandbox (sandbox=?)", {"sandbox": "sb_1"}),
        (
            "SEARCH recordings USING INDEX recordings_by_sandbox (sandbox=?)",
            {"sandbox": "sb_1", "owner": "ann"},
        ),
    ],
)
def test_a_list_sorts_nothing(database: Memory, index: str, filters: dict[str, str]) -> None:
    wanted = {"sandbox": None, "owner": None, **filters}
    assert _plan(database, *table.select_newest(limit=9, **wanted)) == [index]


@pytest.mark.parametrize("owner", [None, "ann"])
def test_an_id_s_beginning_is_looked_up_and_never_searched_for(database: Memory, owner: str | None) -> None:
    (step,) = _plan(database, *table.select_meant("rec_", owner=owner))
    where = "PRIMARY KEY (id>?" if owner is None else "INDEX recordings_by_owner_and_id (owner=? AND id>?"
    assert step.startswith(f"SEARCH recordings USING {where}")


async def test_a_recording_is_found_by_the_beginning_of_its_id(database: Memory) -> None:
    insert(database, FIRST, SECOND)
    assert await table.find(database, "rec_7k") == FIRST
    assert await table.find(database, "rec_", owner="bob") == SECOND
    with pytest.raises(
        BadRequest, match=r"'rec_7' could be any of: rec_7k2m9qx4tn0c, rec_7m; give more of it"
    ):
        await table.find(database, "rec_7")


async def test_a_whole_id_means_one_though_others_begin_so(database: Memory) -> None:
    insert(database, SECOND, RecordingRow(replace(FIRST.header, id="rec_7m1")))
    assert await table.find(database, "rec_7m") == SECOND


@pytest.mark.parametrize(("reference", "owner"), [("", None), ("rec_9", None), ("rec_7k", "bob")])
async def test_what_is_not_there_or_another_owners_is_not_found(
    database: Memory, reference: str, owner: str | None
) -> None:
    insert(database, FIRST)
    with pytest.raises(NotFound, match="`cloche record ls` lists them"):
        await table.find(database, reference, owner=owner)


async def test_the_unfinished_and_the_oldest_are_told_apart(database: Memory) -> None:
    older = replace(SECOND, header=replace(SECOND.header, id="rec_8"), ended_at=STARTED)
    insert(database, FIRST, SECOND, older)
    assert await table.fetch_unfinished(database) == [FIRST]
    assert await table.fetch_oldest(database, limit=9) == [older, SECOND]
    assert await table.fetch_oldest(database, limit=1) == [older]
    assert await table.total_bytes(database) == 600


def test_what_they_take_is_summed_up_without_reading_them(database: Memory) -> None:
    (step,) = _plan(database, table.TOTAL, ())
    assert step == "SEARCH recordings USING COVERING INDEX recordings_by_end (ended_at>?)"


async def test_an_empty_table_takes_nothing(database: Memory) -> None:
    assert await table.total_bytes(database) == 0


async def test_a_row_is_deleted_once(database: Memory) -> None:
    insert(database, FIRST, SECOND)
    assert await table.known(database, [FIRST.id, "rec_0", SECOND.id]) == {FIRST.id, SECOND.id}
    assert [table.delete(database, FIRST.id), table.delete(database, FIRST.id)] == [True, False]
    assert await table.known(database, [FIRST.id]) == set()


def test_an_id_that_comes_twice_is_a_defect(database: Memory) -> None:
    insert(database, FIRST)
    with pytest.raises(sqlite3.IntegrityError):
        insert(database, FIRST)
