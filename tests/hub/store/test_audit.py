"""The table of audit events."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

import pytest

from cloche_hub.domain.audit import GENESIS, AuditEvent, Head, Verified, chain, verify
from cloche_hub.errors import AuditBroken, ShuttingDown
from cloche_hub.store import audit
from cloche_hub.store.audit import PAGE, Audit
from cloche_hub.store.head_watch import HeadWatch
from cloche_hub.store.rows import Values
from tests.hub.domain.examples import MOMENT
from tests.hub.store.memory import Memory, memory

COUNT = PAGE + 10


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        yield opened


@pytest.fixture
def watch() -> HeadWatch:
    return HeadWatch()


def append(database: Memory, count: int = 1) -> list[AuditEvent]:
    """Appends events about sandboxes a and b by turns."""
    events = []
    head = audit.load_head(database)
    for _ in range(count):
        sandbox = "sb_a" if head.seq % 2 == 0 else "sb_b"
        event = chain(
            head, at=MOMENT, event="exec.exited", actor="tok_a", sandbox=sandbox, detail={"n": head.seq}
        )
        audit.insert(database, event)
        head = event.head
        events.append(event)
    audit.save_head(database, head)
    return events


async def test_events_read_back_as_they_were_written(database: Memory, watch: HeadWatch) -> None:
    events = append(database, 3)
    assert await Audit(database, watch).page() == events


async def test_a_page_has_what_comes_after_an_event_and_no_more_than_a_page(
    database: Memory, watch: HeadWatch
) -> None:
    events = append(database, COUNT)
    chained = Audit(database, watch)
    assert await chained.page(after=3, limit=2) == events[3:5]
    assert await chained.page(limit=COUNT) == events[:PAGE]
    assert await chained.page(after=PAGE) == events[PAGE:]
    assert await chained.page(after=1, sandbox="sb_a", limit=2) == [events[2], events[4]]


async def test_a_tail_is_the_newest_events_in_order(database: Memory, watch: HeadWatch) -> None:
    events = append(database, COUNT)
    chained = Audit(database, watch)
    assert await chained.tail(limit=2) == events[-2:]
    assert await chained.tail(limit=COUNT) == events[-PAGE:]
    assert await chained.tail(limit=2, sandbox="sb_a") == [events[-4], events[-2]]


async def test_following_gives_the_past_and_then_what_comes(database: Memory, watch: HeadWatch) -> None:
    events = append(database, COUNT)
    watch.announce(events[-1].head)
    async with asyncio.timeout(10), aclosing(Audit(database, watch).follow(after=2)) as following:
        assert [await anext(following) for _ in range(COUNT - 2)] == events[2:]
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(_next(following))
            await asyncio.sleep(0)
            (fresh,) = append(database)
            assert not waiting.done()
            watch.announce(fresh.head)
            assert await waiting == fresh


async def test_following_one_sandbox_passes_over_the_others(database: Memory, watch: HeadWatch) -> None:
    following = Audit(database, watch).follow(after=0, sandbox="sb_b")
    async with asyncio.timeout(10), aclosing(following), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_next(following))
        await asyncio.sleep(0)
        (of_a,) = append(database)
        watch.announce(of_a.head)
        await asyncio.sleep(0)
        (of_b,) = append(database)
        watch.announce(of_b.head)
        assert await waiting == of_b


async def test_following_ends_when_the_store_is_closed(database: Memory, watch: HeadWatch) -> None:
    async with asyncio.timeout(10), aclosing(Audit(database, watch).follow(after=0)) as following:
        watch.close()
        with pytest.raises(ShuttingDown):
            await anext(following)


async def test_a_chain_in_the_table_verifies(database: Memory, watch: HeadWatch) -> None:
    assert await Audit(database, watch).verify() == Verified(0, GENESIS.hash)
    events = append(database, COUNT)
    assert await Audit(database, watch).verify() == Verified(COUNT, events[-1].hash)


async def test_verifying_keeps_up_with_a_chain_that_grows_meanwhile(
    database: Memory, watch: HeadWatch
) -> None:
    append(database, 3)
    growing = Growing(database.connection)
    assert (await Audit(growing, watch).verify()).events == 3 + Growing.ROUNDS


class Growing(Memory):
    """Gets one more event after any read for a while, and always after a read that seemed to be the last."""

    ROUNDS = 5

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.left = self.ROUNDS

    async def fetch(self, sql: str, values: Values = ()) -> Sequence[sqlite3.Row]:
        rows = await super().fetch(sql, values)
        if self.left or not rows:
            self.left -= 1
            append(self)
        return rows


@pytest.mark.parametrize(
    ("tamper", "seq", "said"),
    [
        ("UPDATE audit SET actor = 'x' WHERE seq = 2", 2, "its hash does not match"),
        (
            "UPDATE audit SET at = 'yesterday' WHERE seq = 2",
            2,
            "it cannot be read: 'yesterday' is not a time",
        ),
        (
            "UPDATE audit SET detail = '{ }' WHERE seq = 2",
            2,
            "it cannot be read: it is not a JSON object in canonical",
        ),
        ("DELETE FROM audit WHERE seq = 2", 2, "expected event 2, found event 3"),
        ("DELETE FROM audit WHERE seq > 4", 5, "it is missing: the chain should end with event 5"),
        ("UPDATE audit_head SET hash = 'x'", 5, "should end with event 5 and its recorded hash"),
        ("UPDATE audit_head SET seq = 4", 4, "should end with event 4 and its recorded hash"),
        ("DELETE FROM audit_head", 1, "should end with event 0"),
    ],
)
async def test_whatever_is_changed_in_the_file_is_found(
    database: Memory, watch: HeadWatch, tamper: str, seq: int, said: str
) -> None:
    append(database, 5)
    _disarm(database)
    database.execute(tamper)
    with pytest.raises(AuditBroken, match=f"broken at event {seq}: .*{said}"):
        await Audit(database, watch).verify()


async def test_a_tail_names_an_event_it_cannot_read(database: Memory, watch: HeadWatch) -> None:
    append(database, 3)
    _disarm(database)
    database.execute("UPDATE audit SET detail = '[]' WHERE seq = 2")
    with pytest.raises(AuditBroken, match="broken at event 2"):
        await Audit(database, watch).tail(limit=3)


@pytest.mark.parametrize(
    "change",
    ["UPDATE audit SET actor = 'x'", "DELETE FROM audit", "INSERT OR REPLACE INTO audit SELECT * FROM audit"],
)
def test_the_table_refuses_our_own_mistakes(database: Memory, change: str) -> None:
    database.execute("PRAGMA recursive_triggers = ON")  # as the hub's connection has it: REPLACE deletes
    append(database, 2)
    with pytest.raises(sqlite3.IntegrityError, match="audit events are never"):
        database.execute(change)


async def test_a_chain_whose_end_was_cut_off_goes_on_with_a_gap_that_shows(
    database: Memory, watch: HeadWatch
) -> None:
    events = append(database, 5)
    _disarm(database)
    database.execute("DELETE FROM audit WHERE seq > 3")
    assert audit.load_head(database) == events[-1].head
    append(database, 2)
    with pytest.raises(AuditBroken, match="expected event 4, found event 6"):
        await Audit(database, watch).verify()


def test_a_head_that_was_put_back_does_not_make_two_events_of_one_number(database: Memory) -> None:
    events = append(database, 5)
    audit.save_head(database, Head(2, "x"))
    assert audit.load_head(database) == events[-1].head


def test_what_is_in_the_table_is_what_the_domain_verifies(database: Memory) -> None:
    append(database, 5)
    rows = database.execute(audit.SELECT_PAGE, (0, 10)).fetchall()
    assert verify([audit.event_of(row) for row in rows], end=audit.load_head(database)).events == 5


def _disarm(database: Memory) -> None:
    database.execute("DROP TRIGGER audit_is_never_changed")
    database.execute("DROP TRIGGER audit_is_never_shortened")


async def _next(following: AsyncGenerator[AuditEvent, None]) -> AuditEvent:
    return await anext(following)


def note(database: Memory, sandbox: str, *events: tuple[str, str]) -> None:
    """Appends events about what is called so."""
    head = audit.load_head(database)
    for event, name in events:
        chained = chain(
            head,
            at=MOMENT,
            event=event,
            actor="tok_a",
            sandbox=sandbox,
            detail={event.split(".", maxsplit=1)[0]: name},
        )
        audit.insert(database, chained)
        head = chained.head
    audit.save_head(database, head)


async def test_what_has_begun_and_has_no_end_is_found(database: Memory, watch: HeadWatch) -> None:
    note(
        database,
        "sb_a",
        *[("exec.started", "1"), ("exec.started", "2"), ("exec.exited", "1"), ("exec.started", "3")],
        *[("exec.failed", "3"), ("console.opened", "2"), ("console.opened", "5"), ("console.closed", "5")],
        *[("callback.requested", "c"), ("callback.refused", "c"), ("callback.requested", "c")],
        *[("callback.requested", "d"), ("callback.answered", "d"), ("callback.failed", "never begun")],
    )
    note(database, "sb_b", ("exec.exited", "2"), ("exec.started", "4"))
    chained = Audit(database, watch)
    assert [(one.seq, one.event) for one in await chained.unended("sb_a")] == [
        (2, "exec.started"),
        (6, "console.opened"),
        (11, "callback.requested"),
    ]
    assert [one.detail for one in await chained.unended("sb_b")] == [{"exec": "4"}]
    assert await chained.unended("sb_c") == []
