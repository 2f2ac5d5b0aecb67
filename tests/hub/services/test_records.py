"""Endings are written down at once, or later in their order, and nothing they meet stops the hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.services.records import Records, noting, updating
from cloche_hub.store.store import open_store
from tests.hub.domain.examples import sandbox as example
from tests.support.hub import FlakyStore

FULL = NoSpace("the disk is full")


@asynccontextmanager
async def flaky_store(folder: Path) -> AsyncIterator[FlakyStore]:
    async with open_store(folder / "home") as store:
        yield FlakyStore(store)


def note(number: int) -> Callable[[Any], object]:
    return noting(AuditName.CACHE_PRUNED, actor="hub", detail={"number": number})


async def numbers(store: FlakyStore) -> list[object]:
    return [event.detail["number"] for event in await store.audit.tail(limit=100)]


async def test_what_can_be_written_is_durable_when_it_returns(tmp_path: Path) -> None:
    async with flaky_store(tmp_path) as store:
        assert await Records(store).keep(note(1)) is True
        assert await numbers(store) == [1]


@pytest.mark.parametrize("refusal", [FULL, StoreFailed("the database is locked")])
async def test_what_cannot_be_written_waits_and_keeps_its_order(
    tmp_path: Path, refusal: NoSpace | StoreFailed
) -> None:
    async with flaky_store(tmp_path) as store:
        records = Records(store)
        store.refuses = refusal
        assert [await records.keep(note(number)) for number in (1, 2)] == [False, False]
        store.refuses = None
        # A later one must not overtake those that wait.
        assert await records.keep(note(3)) is True
        assert await numbers(store) == [1, 2, 3]


async def test_catching_up_writes_what_waits_once(tmp_path: Path) -> None:
    async with flaky_store(tmp_path) as store:
        records = Records(store)
        store.refuses = FULL
        await records.keep(note(1))
        await records.catch_up()
        assert await numbers(store) == []
        store.refuses = None
        await asyncio.gather(records.catch_up(), records.catch_up())
        await records.catch_up()
        assert await numbers(store) == [1]


async def test_a_disk_that_stays_full_is_told_once_for_each_record_and_not_every_second(
    tmp_path: Path,
) -> None:
    async with flaky_store(tmp_path) as store:
        records = Records(store)
        store.refuses = FULL
        with structlog.testing.capture_logs() as logs:
            await records.keep(note(1))
            await records.keep(note(2))
            for _ in range(5):
                await records.catch_up()
        assert [(line["reason"], line["waiting"]) for line in logs] == [
            ("the disk is full", 1),
            ("the disk is full", 2),
        ]


async def test_a_change_that_can_never_be_written_does_not_hold_up_those_behind_it(tmp_path: Path) -> None:
    async with flaky_store(tmp_path) as store:
        records = Records(store)
        store.refuses = FULL
        await records.keep(lambda _transaction: 1 / 0)
        await records.keep(note(2))
        store.refuses = None
        await records.catch_up()
        assert await numbers(store) == [2]


async def test_cancelling_leaves_the_change_made_and_made_once(tmp_path: Path) -> None:
    async with flaky_store(tmp_path) as store, asyncio.TaskGroup() as tasks:
        records = Records(store)
        store.refuses = FULL
        await records.keep(note(1))
        store.refuses = None
        catching_up = tasks.create_task(records.catch_up())
        # Just when the store has taken it.
        store.on_write = lambda: catching_up.get_loop().call_soon(catching_up.cancel)
        await asyncio.wait({catching_up})
        store.on_write = lambda: None
        assert catching_up.cancelled()
        await records.keep(note(2))
        assert await numbers(store) == [1, 2]


async def test_a_row_and_its_event_are_written_together(tmp_path: Path) -> None:
    async with flaky_store(tmp_path) as store:
        before = example()
        await store.write(lambda transaction: transaction.insert_sandbox(before))
        change = updating(before, AuditName.SANDBOX_FAILED, actor="hub", detail={"reason": "x"})
        assert await Records(store).keep(change)
        (event,) = await store.audit.tail(limit=5)
        assert (event.event, event.sandbox, event.actor) == ("sandbox.failed", before.id, "hub")
