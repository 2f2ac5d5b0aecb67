"""The store as services see it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.sandbox import State
from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.errors import HomeInUse, ShuttingDown
from cloche_hub.store.store import Store, open_store
from cloche_hub.store.transaction import Transaction
from tests.hub.domain.examples import MOMENT, sandbox


async def test_a_change_and_what_it_says_in_the_audit_are_one(store: Store) -> None:
    def create(tx: Transaction) -> int:
        tx.insert_sandbox(sandbox())
        return tx.append_audit(AuditName.SANDBOX_CREATED, actor="tok_a", sandbox=sandbox().id).seq

    assert await store.write(create) == 1
    assert await store.sandboxes() == [sandbox()]
    (event,) = await store.audit.tail(limit=10)
    assert (event.event, event.sandbox, event.at) == ("sandbox.created", sandbox().id, MOMENT)
    assert store.audit.head == event.head


async def test_sandboxes_are_listed_shown_and_found(store: Store) -> None:
    live = sandbox(id="sb_live", name="web", owner="ann")
    removed = sandbox(id="sb_old", name="web", owner="ann", state=State.REMOVED)
    await store.write(lambda tx: tx.insert_sandbox(live))
    await store.write(lambda tx: tx.insert_sandbox(removed))
    assert await store.sandboxes() == [live]
    assert await store.sandboxes(ended=True, owner="ann") == [live, removed]
    assert await store.sandboxes(ended=True, owner="bob") == []
    assert await store.sandbox("sb_old") == removed
    assert await store.find_sandbox("web", caller="bob") == live
    assert await store.find_sandbox("sb_o", caller="ann", owner="ann") == removed


async def test_tokens_are_kept(store: Store) -> None:
    token, _ = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    await store.write(lambda tx: tx.insert_token(token))
    assert await store.tokens() == [token]
    await store.write(lambda tx: tx.revoke_token(token.id, at=MOMENT))
    assert await store.token(token.id) == replace(token, revoked_at=MOMENT)


async def test_a_home_is_one_stores_and_free_after_it(home: Path) -> None:
    async with open_store(home):
        with pytest.raises(HomeInUse):
            async with open_store(home):
                pass
    async with open_store(home):
        pass


async def test_a_home_whose_database_cannot_be_opened_is_free_afterwards(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "hub.db").mkdir()
    for _ in range(2):
        with pytest.raises(Exception, match="cannot use the database"):
            async with open_store(home):
                pass


async def test_what_was_written_is_there_after_a_restart(home: Path) -> None:
    for expected in (1, 2):
        async with open_store(home) as store:
            event = await store.write(lambda tx: tx.append_audit(AuditName.HUB_STARTED, actor="hub"))
            assert event.seq == expected
            assert (await store.audit.verify()).events == expected


async def test_a_restarted_store_knows_its_head_before_anything_is_written(home: Path) -> None:
    async with open_store(home) as store:
        event = await store.write(lambda tx: tx.append_audit(AuditName.HUB_STARTED, actor="hub"))
    async with open_store(home) as store:
        assert store.audit.head == event.head


async def test_followers_hear_of_events_as_they_are_committed_and_of_the_end(home: Path) -> None:
    heard = []

    async def follow(store: Store) -> None:
        async with aclosing(store.audit.follow(after=0)) as following:
            for _ in range(10):
                heard.append((await anext(following)).seq)  # noqa: PERF401 - kept as far as it got
            enough.set()
            with pytest.raises(ShuttingDown):
                await anext(following)

    enough = asyncio.Event()
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks, open_store(home) as store:
        tasks.create_task(follow(store))
        for _ in range(10):
            await store.write(lambda tx: tx.append_audit(AuditName.EXEC_STARTED, actor="tok_a"))
        await enough.wait()
    assert heard == list(range(1, 11))
