"""The table of approvals."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from cloche_hub.domain.approval import SHORT_BYTES, Approval, ApprovalState, Decision, move
from cloche_hub.errors import BadRequest, Conflict, NotFound
from cloche_hub.store import approvals, sandboxes
from tests.hub.domain.examples import MOMENT, approval, sandbox
from tests.hub.store.memory import Memory, memory

LATER = MOMENT + timedelta(seconds=30)
EVERY = tuple(ApprovalState)


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        sandboxes.insert(opened, sandbox())
        yield opened


def _edited() -> Approval:
    asked = approval(id="apr_2d", callback="cb_2", created_at=LATER)
    return move(
        asked, Decision.EDIT, at=LATER, by="tok_1", by_name="ops", reason="less", params='{"amount":1}'
    )


async def test_an_approval_reads_back_as_it_was_written_newest_first(database: Memory) -> None:
    approvals.insert(database, approval())
    approvals.insert(database, _edited())

    assert await approvals.fetch(database, states=EVERY, limit=9) == [_edited(), approval()]
    assert await approvals.fetch(database, states=EVERY, limit=1) == [_edited()]
    assert approvals.get(database, approval().id) == approval()


async def test_they_are_chosen_by_state_sandbox_and_owner(database: Memory) -> None:
    approvals.insert(database, approval())
    approvals.insert(database, _edited())
    pending = (ApprovalState.PENDING,)

    assert await approvals.fetch(database, states=pending, limit=9) == [approval()]
    assert await approvals.fetch(database, states=pending, limit=9, owner="admin") == [approval()]
    assert not await approvals.fetch(database, states=pending, limit=9, owner="ann")
    assert not await approvals.fetch(database, states=pending, limit=9, sandbox="sb_other")
    assert await approvals.count_pending(database) == 1


def _plan(database: Memory, sql: str, values: Sequence[object]) -> list[str]:
    return [row["detail"] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize("states", [(ApprovalState.PENDING,), EVERY])
@pytest.mark.parametrize(
    ("index", "filters"),
    [
        ("approvals_by_state (state=?)", {}),
        ("approvals_by_owner_and_state (owner=? AND state=?)", {"owner": "ann"}),
        ("approvals_by_sandbox_and_state (sandbox=? AND state=?)", {"sandbox": "sb_1"}),
        ("approvals_by_sandbox_and_state (sandbox=? AND state=?)", {"sandbox": "sb_1", "owner": "ann"}),
    ],
)
def test_a_list_looks_at_no_approval_that_is_not_in_it(
    database: Memory, states: Sequence[ApprovalState], index: str, filters: dict[str, str]
) -> None:
    wanted = {"sandbox": None, "owner": None, **filters}
    plan = _plan(database, *approvals.select_newest(states=states, limit=9, **wanted))
    read = [step for step in plan if "approvals" in step]
    assert read.count("SEARCH approvals USING PRIMARY KEY (id=?)") == 1
    assert len(read) == 1 + len(states)
    assert all(index in step for step in read if "PRIMARY KEY" not in step), plan


@pytest.mark.parametrize("owner", [None, "ann"])
def test_an_id_s_beginning_is_looked_up_and_never_searched_for(database: Memory, owner: str | None) -> None:
    plan = _plan(database, *approvals.select_meant("apr_", owner=owner))
    where = "PRIMARY KEY (id>?" if owner is None else "COVERING INDEX approvals_by_owner (owner=? AND id>?"
    assert len(plan) == 1
    assert plan[0].startswith(f"SEARCH approvals USING {where}")


async def test_long_parameters_are_cut_in_a_list_only(database: Memory) -> None:
    short, long = '"' + "x" * (SHORT_BYTES - 2) + '"', '"' + "x" * (SHORT_BYTES - 1) + '"'
    for number, (asked, approved) in enumerate([(short, "1"), (short, long), (long, "1")]):
        asked_for = approval(id=f"apr_{number}", callback=f"cb_{number}", params=asked)
        approvals.insert(database, move(asked_for, Decision.EDIT, at=LATER, by="tok_1", params=approved))

    listed = await approvals.fetch(database, states=EVERY, limit=9)
    assert [(one.params, one.approved_params, one.params_bytes) for one in listed] == [
        (None, None, SHORT_BYTES + 1),
        (None, None, SHORT_BYTES),
        (short, "1", SHORT_BYTES),
    ]
    found = await approvals.find(database, "apr_2")
    assert (found.params, found.approved_params, found.params_sha256) == (long, "1", listed[0].params_sha256)


async def test_what_came_to_nothing_keeps_no_long_parameters(database: Memory) -> None:
    asked = approval(params='"' + "x" * SHORT_BYTES + '"')
    approvals.insert(database, asked)
    approvals.update(database, move(asked, Decision.DENY, at=LATER, by="tok_1", reason="no"))
    (row,) = database.execute("SELECT params, params_bytes FROM approvals")
    assert tuple(row) == (None, SHORT_BYTES + 2)


async def test_a_decision_is_written(database: Memory) -> None:
    approvals.insert(database, approval())
    denied = move(approval(), Decision.DENY, at=LATER, by="tok_1", by_name="ops", reason="no")

    approvals.update(database, denied)

    assert approvals.get(database, denied.id) == denied
    assert await approvals.count_pending(database) == 0


async def test_an_approval_is_found_by_the_beginning_of_its_id(database: Memory) -> None:
    approvals.insert(database, approval())
    approvals.insert(database, _edited())

    assert await approvals.find(database, "apr_2c") == approval()
    assert await approvals.find(database, "apr_2d") == _edited()
    with pytest.raises(BadRequest, match=r"could be any of: apr_2c9m4x7qk1tz, apr_2d; give more"):
        await approvals.find(database, "apr_2")


@pytest.mark.parametrize("reference", ["", "apr_9"])
async def test_what_is_not_there_is_not_found(database: Memory, reference: str) -> None:
    approvals.insert(database, approval())
    with pytest.raises(NotFound, match="no approval"):
        await approvals.find(database, reference)


async def test_another_owner_s_approval_does_not_exist(database: Memory) -> None:
    approvals.insert(database, approval())
    with pytest.raises(NotFound):
        await approvals.find(database, approval().id, owner="ann")


def test_one_call_has_one_approval(database: Memory) -> None:
    approvals.insert(database, approval())
    with pytest.raises(Conflict, match=f"has approval {approval().id} already"):
        approvals.insert(database, approval(id="apr_3"))


def test_an_id_that_comes_twice_is_a_defect(database: Memory) -> None:
    approvals.insert(database, approval())
    with pytest.raises(sqlite3.IntegrityError):
        approvals.insert(database, approval(callback="cb_2"))


def test_what_never_was_cannot_be_decided(database: Memory) -> None:
    with pytest.raises(NotFound, match="no approval 'apr_2c9m4x7qk1tz'"):
        approvals.update(database, approval())
    with pytest.raises(NotFound):
        approvals.get(database, approval().id)
