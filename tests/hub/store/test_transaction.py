"""What a change may do: sandboxes, tokens and audit, together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cloche_hub.domain.audit import GENESIS, AuditEvent, chain
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.sandbox import State
from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.errors import Conflict
from cloche_hub.store.transaction import Transaction
from tests.hub.domain.examples import MOMENT, sandbox
from tests.hub.store.memory import Memory, memory


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        yield opened


@pytest.fixture
def tx(database: Memory) -> Transaction:
    return Transaction(database.connection, GENESIS, lambda: MOMENT)


def test_appended_events_form_a_chain_dated_by_the_stores_clock(tx: Transaction) -> None:
    first = tx.append_audit(AuditName.HUB_STARTED, actor="hub")
    second = tx.append_audit(AuditName.SANDBOX_CREATED, actor="tok_a", sandbox="sb_a", detail={"name": "web"})
    assert first == chain(GENESIS, at=MOMENT, event="hub.started", actor="hub", sandbox=None, detail={})
    assert second == chain(
        first.head, at=MOMENT, event="sandbox.created", actor="tok_a", sandbox="sb_a", detail={"name": "web"}
    )
    assert type(second.event) is str
    assert tx.head == second.head


def test_an_event_that_cannot_be_kept_leaves_the_chain_as_it_was(tx: Transaction) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        tx.append_audit(AuditName.HUB_STARTED, actor="hub", detail={"x": 0.5})  # type: ignore[dict-item] # the point
    assert tx.head == GENESIS


def test_a_change_sees_what_it_has_done(tx: Transaction) -> None:
    tx.insert_sandbox(sandbox())
    running = replace(tx.sandbox(sandbox().id), state=State.RUNNING)
    tx.update_sandbox(running)
    assert tx.sandbox(running.id) == running
    with pytest.raises(Conflict):
        tx.insert_sandbox(sandbox(id="sb_other"))


def test_tokens_are_added_and_revoked(tx: Transaction) -> None:
    token, _ = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    tx.insert_token(token)
    assert tx.revoke_token(token.id, at=MOMENT) == replace(token, revoked_at=MOMENT)


def test_an_event_is_in_the_table_when_it_is_appended(tx: Transaction, database: Memory) -> None:
    event: AuditEvent = tx.append_audit(AuditName.HUB_STARTED, actor="hub")
    (row,) = database.execute("SELECT * FROM audit").fetchall()
    assert row["hash"] == event.hash
