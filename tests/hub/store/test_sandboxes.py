"""The table of sandboxes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.references import resolve
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import BadRequest, Conflict, NotFound
from cloche_hub.store import sandboxes
from tests.hub.domain.examples import MOMENT, sandbox
from tests.hub.domain.test_references import population, references
from tests.hub.store.memory import Memory, memory

FULL = sandbox(
    image="sha256hex",
    labels={"app": "shöp"},
    env={"A": "b\n"},
    accelerator="tcg",
    expires_at=MOMENT + timedelta(seconds=60),
    ended_at=MOMENT,
    end_reason="because",
    timings=MappingProxyType({"clone": 0.123}),
    lease_s=0.5,
)


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        yield opened


@pytest.mark.parametrize("one", [sandbox(), FULL])
def test_a_sandbox_reads_back_as_it_was_written(database: Memory, one: Sandbox) -> None:
    sandboxes.insert(database, one)
    assert sandboxes.get(database, one.id) == one


async def test_an_update_writes_everything_that_may_change(database: Memory) -> None:
    sandboxes.insert(database, sandbox())
    changed = replace(FULL, state=State.FAILED)
    sandboxes.update(database, changed)
    assert await sandboxes.fetch_one(database, changed.id) == changed


async def test_what_never_was_is_not_found(database: Memory) -> None:
    with pytest.raises(NotFound, match="no sandbox 'sb_x'"):
        sandboxes.update(database, sandbox(id="sb_x"))
    with pytest.raises(NotFound):
        sandboxes.get(database, "sb_x")
    with pytest.raises(NotFound):
        await sandboxes.fetch_one(database, "sb_x")


def test_an_owner_has_a_name_once_among_its_live_sandboxes(database: Memory) -> None:
    sandboxes.insert(database, sandbox(id="sb_1", name="web", state=State.FAILED))
    with pytest.raises(
        Conflict, match="name 'web' is taken: admin has sandbox sb_1 of that name, which is failed"
    ) as refusal:
        sandboxes.insert(database, sandbox(id="sb_2", name="web"))
    assert refusal.value.details == {"sandbox": "sb_1", "name": "web"}


def test_another_owner_and_a_removed_sandbox_do_not_take_a_name(database: Memory) -> None:
    sandboxes.insert(database, sandbox(id="sb_1", name="web", owner="ann"))
    sandboxes.insert(database, sandbox(id="sb_2", name="web", owner="bob", state=State.REMOVED))
    sandboxes.insert(database, sandbox(id="sb_3", name="web", owner="bob"))


def test_an_id_that_exists_is_a_defect_not_a_conflict(database: Memory) -> None:
    sandboxes.insert(database, sandbox(name="a"))
    with pytest.raises(sqlite3.IntegrityError):
        sandboxes.insert(database, sandbox(name="b"))


async def test_a_list_is_newest_first_and_has_removed_ones_only_if_asked(database: Memory) -> None:
    for number in range(6):
        sandboxes.insert(
            database,
            sandbox(
                id=f"sb_{number}",
                name=f"web-{number}",
                owner="ann" if number % 3 else "bob",
                created_at=MOMENT + timedelta(seconds=number),
                state=State.REMOVED if number % 2 else State.RUNNING,
            ),
        )

    async def listed(owner: str | None, ended: int) -> str:
        return "".join(one.id[-1] for one in await sandboxes.fetch_all(database, owner=owner, ended=ended))

    assert await listed(None, 0) == "420"
    assert await listed(None, 9) == "543210"
    assert await listed(None, 1) == "5420"
    assert await listed("ann", 0) == "42"
    assert await listed("ann", 1) == "542"
    assert await listed("bob", 9) == "30"


@given(references, population, st.sampled_from(["ann", "bob"]), st.sampled_from(["ann", "bob", None]))
def test_a_reference_means_in_the_table_what_it_means_among_all(
    reference: str, everybody: list[Sandbox], caller: str, owner: str | None
) -> None:
    with memory() as database:
        kept: list[Sandbox] = []
        for one in everybody:
            try:
                sandboxes.insert(database, one)
            except Conflict:
                continue
            kept.append(one)
        seen = [one for one in kept if owner in (None, one.owner)]
        found = _told(lambda: asyncio.run(sandboxes.find(database, reference, caller=caller, owner=owner)))
        assert found == _told(lambda: resolve(reference, seen, owner=caller))


async def test_more_candidates_than_are_read_do_not_hide_the_one_meant(database: Memory) -> None:
    for number in range(sandboxes.MAX_CANDIDATES * 2):
        sandboxes.insert(database, sandbox(id=f"sb_{number:03}", name=f"web-{number:03}", owner="ann"))
        sandboxes.insert(database, sandbox(id=f"sb_x{number:03}", name="web", owner=f"o{number:03}"))
    meant = sandbox(id="sb_zz", name="web", owner="zoe")
    sandboxes.insert(database, meant)
    shortest = sandbox(id="sb_", name="zz", owner="zoe")
    sandboxes.insert(database, shortest)
    assert await sandboxes.find(database, "sb_", caller="ann", owner=None) == shortest
    assert await sandboxes.find(database, "web", caller="zoe", owner=None) == meant
    assert await sandboxes.find(database, "sb_zz", caller="ann", owner=None) == meant
    with pytest.raises(BadRequest, match="could be any of"):
        await sandboxes.find(database, "web", caller="ann", owner=None)


@pytest.mark.parametrize("reference", ["%", "_", "sb%", "' OR 1=1 --", "\U0010ffff", "w*"])
async def test_a_reference_is_never_a_pattern(database: Memory, reference: str) -> None:
    sandboxes.insert(database, sandbox(name="web"))
    with pytest.raises(NotFound):
        await sandboxes.find(database, reference, caller="admin", owner=None)


def _told(find: object) -> object:
    assert callable(find)
    try:
        return find()
    except (BadRequest, NotFound) as refusal:
        return refusal.message


async def test_a_removed_sandbox_is_found_by_its_whole_name_the_callers_own_first_then_the_newest(
    database: Memory,
) -> None:
    for number, owner in enumerate(("ann", "ann", "bob", "bob")):
        at = MOMENT + timedelta(seconds=number)
        removed = sandbox(id=f"sb_{number}", name="web", owner=owner, state=State.REMOVED, created_at=at)
        sandboxes.insert(database, removed)
    sandboxes.insert(database, sandbox(id="sb_9", name="live"))

    async def found(reference: str, caller: str = "ann", owner: str | None = None) -> str | None:
        one = await sandboxes.find_removed(database, reference, caller=caller, owner=owner)
        return None if one is None else one.id

    assert await found("web") == "sb_1"
    assert await found("web", caller="zoe") == "sb_3"
    assert await found("web", owner="bob") == "sb_3"
    assert await found("sb_0") == "sb_0"
    for nothing in ("we", "live", "sb_9", "%"):
        assert await found(nothing) is None
