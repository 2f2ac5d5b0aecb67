"""Approvals: held, decided once, told to whoever waits. On the real store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.approval import Approval, ApprovalState
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.policy_text import parse_policy
from cloche_hub.errors import BadRequest, CodedError, Conflict, Forbidden, NoSpace, NotFound, StoreFailed
from cloche_hub.ports import Transaction
from cloche_hub.services.approvals import TOPIC, Approvals
from cloche_hub.services.changes import Change, Changes, News
from cloche_hub.services.clock import Clock
from cloche_hub.services.records import Records, noting
from cloche_hub.store.store import open_store
from tests.hub.domain.examples import MOMENT, approval, sandbox
from tests.support.hub import FlakyStore, until, within
from tests.support.links import outcome

ID = approval().id
POLICY = parse_policy(
    """
    default = "ask"
    [[rule]]
    name = "large payments"
    methods = ["pay.*"]
    owners = ["admin"]
    labels = { team = "ml" }
    params = [{ at = "amount", at_least = 100 }]
    verdict = "deny"
    reason = "not from here"
    """,
    where="policy",
)


class Held:
    """Approvals on a store of their own; from `holding`."""

    def __init__(self, store: FlakyStore, approvals: Approvals, records: Records, news: News) -> None:
        self.store, self.approvals, self.records, self.news = store, approvals, records, news
        self.rung: list[str] = []

    async def names(self) -> list[str]:
        return [event.event for event in await self.store.audit.tail(limit=100)]

    async def state(self) -> ApprovalState:
        return (await self.store.find_approval(ID)).state

    async def open(self, **changes: Any) -> Approval:
        """An approval that waits."""
        pending = approval(**changes)
        await self.approvals.open(pending, after=_nothing)
        return pending

    async def published(self) -> tuple[str, str, str]:
        """What is told next to subscribers: the topic, the key and the state."""
        change = await within(self.news.next())
        assert isinstance(change, Change)
        assert isinstance(change.value, Approval)
        return change.topic, change.key, change.value.state


def _nothing(_transaction: Transaction) -> None:
    pass


@contextlib.asynccontextmanager
async def holding(home: Path, *, refuses: NoSpace | None = None) -> AsyncIterator[Held]:
    async with open_store(home) as real:
        store = FlakyStore(real)
        with contextlib.suppress(Conflict, StoreFailed):
            await store.write(lambda transaction: transaction.insert_sandbox(sandbox()))
        store.refuses = refuses
        changes, records, rung = Changes(), Records(store), list[str]()
        approvals = Approvals(
            store,
            records,
            Clock(now=lambda: MOMENT),
            changes,
            policy=lambda: POLICY,
            on_waiting=lambda waiting: rung.append(waiting.id),
        )
        with changes.subscribed() as news:
            async with approvals.running():
                held = Held(store, approvals, records, news)
                held.rung = rung
                yield held


async def test_an_approval_that_waits_is_kept_told_and_counted(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        assert await held.store.find_approval(ID) == pending
        assert await held.names() == ["approval.requested"]
        assert await held.published() == (TOPIC, ID, "pending")
        assert (held.approvals.waiting, held.rung) == (1, [ID])


async def test_what_waits_is_seen_by_nobody_before_it_is_durable(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        held.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(held.open())
            await until(lambda: held.store.waiting)
            assert (held.approvals.waiting, held.rung) == (0, [])
            held.store.gate.set()
        assert held.approvals.waiting == 1


async def test_what_cannot_be_recorded_does_not_wait(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        held.store.refuses = NoSpace("full")
        with pytest.raises(NoSpace):
            await held.open()
        held.store.refuses = None
        assert (held.approvals.waiting, held.rung) == (0, [])
        with pytest.raises(NotFound):
            await held.approvals.approve(ID, params=None, by="tok_1")


async def test_whoever_waits_gets_the_decision(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(within(held.approvals.wait(pending, deadline_s=60)))
            decided = await held.approvals.approve(ID, params=None, by="tok_1")
        assert waiting.result() == decided == await held.store.find_approval(ID)
        assert (decided.state, decided.decided_by) == ("approved", "tok_1")
        assert held.approvals.waiting == 0
        await held.published()
        assert await held.names() == ["approval.requested", "approval.approved"]


async def test_a_decision_that_came_before_the_wait_is_not_missed(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        await held.approvals.deny(ID, reason="no", by="tok_1")
        assert (await within(held.approvals.wait(pending, deadline_s=60))).reason == "no"
        assert await held.published() == (TOPIC, ID, "denied")


async def test_edited_parameters_are_kept_beside_what_was_asked(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        edited = await held.approvals.approve(ID, params='{"amount":1}', by="tok_1")
        assert (edited.state, edited.final_params, edited.params) == (
            "edited",
            '{"amount":1}',
            pending.params,
        )
        (event,) = [
            event
            for event in await held.store.audit.tail(limit=9)
            if event.event == AuditName.APPROVAL_EDITED
        ]
        assert event.actor == "tok_1"
        assert event.detail["params_bytes"] == len('{"amount":1}')
        assert "amount" not in str(event.detail)


async def test_the_same_parameters_are_no_edit(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        assert (await held.approvals.approve(ID, params=pending.params, by="tok_1")).state == "approved"


async def test_an_edit_cannot_do_what_a_rule_denies_and_the_call_waits_on(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.open()
        with pytest.raises(Forbidden, match="denied by rule 'large payments': not from here") as raised:
            await held.approvals.approve(ID, params='{"amount":500}', by="tok_1")
        assert raised.value.details["rule"] == "large payments"
        assert (await held.state(), held.approvals.waiting) == ("pending", 1)
        assert await held.names() == ["approval.requested"]
        assert (await held.approvals.approve(ID, params='{"amount":2}', by="tok_1")).state == "edited"


async def test_what_was_asked_is_approved_as_it_is_whatever_the_policy_says_by_now(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open(params='{"amount":500}')
        assert (await held.approvals.approve(ID, params=pending.params, by="tok_1")).state == "approved"


async def test_an_edit_that_comes_second_learns_who_was_first_and_not_what_a_rule_says(
    tmp_path: Path,
) -> None:
    async with holding(tmp_path) as held:
        await held.open()
        await held.approvals.deny(ID, reason="no", by="tok_1")
        with pytest.raises(Conflict):
            await held.approvals.approve(ID, params='{"amount":500}', by="tok_2")


async def test_of_two_who_decide_at_once_the_first_wins_and_the_other_learns_who(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        held.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(held.approvals.deny(ID, reason="no", by="tok_1"))
            await until(lambda: held.store.waiting == 1)
            second = tasks.create_task(outcome(held.approvals.approve(ID, params=None, by="tok_2")))
            await until(lambda: held.store.waiting == 2)
            held.store.gate.set()
        late = second.result()
        assert isinstance(late, Conflict)
        assert late.details["decided_by"] == "tok_1"
        assert await within(held.approvals.wait(pending, deadline_s=60)) == first.result()
        assert await held.names() == ["approval.requested", "approval.denied"]


async def test_a_denial_without_a_reason_decides_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.open()
        with pytest.raises(BadRequest):
            await held.approvals.deny(ID, reason=" ", by="tok_1")
        assert held.approvals.waiting == 1
        assert await held.state() == "pending"


async def test_a_decision_that_cannot_be_recorded_is_none(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.open()
        held.store.refuses = NoSpace("full")
        with pytest.raises(NoSpace):
            await held.approvals.approve(ID, params=None, by="tok_1")
        held.store.refuses = None
        assert held.approvals.waiting == 1
        assert (await held.approvals.approve(ID, params=None, by="tok_1")).state == "approved"


async def test_who_decides_may_go_away_and_whoever_waits_still_learns_of_it(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        held.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(within(held.approvals.wait(pending, deadline_s=60)))
            operator = tasks.create_task(held.approvals.approve(ID, params=None, by="tok_1"))
            await until(lambda: held.store.waiting)
            operator.cancel()
            await until(operator.done)
            held.store.gate.set()
        assert waiting.result().state == "approved"


# Deadlines.


async def test_what_nobody_decides_in_time_has_expired(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        expired = await within(held.approvals.wait(pending, deadline_s=0.01))
        assert (expired.state, expired.decided_by) == ("expired", "hub")
        assert await held.names() == ["approval.requested", "approval.expired"]
        with pytest.raises(Conflict, match="is expired already by hub"):
            await held.approvals.approve(ID, params=None, by="tok_1")


async def test_a_decision_on_its_way_at_the_deadline_stands(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        held.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(held.approvals.approve(ID, params=None, by="tok_1"))
            await until(lambda: held.store.waiting == 1)
            waiting = tasks.create_task(within(held.approvals.wait(pending, deadline_s=0.01)))
            await until(lambda: held.store.waiting == 2)
            held.store.gate.set()
        assert waiting.result().state == "approved"


async def test_an_expiry_that_cannot_be_recorded_lets_nothing_pass(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        held.store.refuses = NoSpace("full")
        with pytest.raises(NoSpace):
            await within(held.approvals.wait(pending, deadline_s=0.01))
        held.store.refuses = None
        with pytest.raises(Conflict, match="nobody waits for it any more"):
            await held.approvals.approve(ID, params=None, by="tok_1")


# What nobody waits for.


async def test_what_is_given_up_cannot_be_approved(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        assert await held.published() == (TOPIC, ID, "pending")
        assert await held.approvals.abandon(pending, "its caller gave up", after=_nothing)
        assert await held.published() == (TOPIC, ID, "abandoned")
        assert held.approvals.waiting == 0
        with pytest.raises(Conflict, match="abandoned already by hub") as raised:
            await held.approvals.approve(ID, params=None, by="tok_1")
        assert raised.value.details["state"] == "abandoned"


async def test_what_is_given_up_cannot_be_approved_although_that_cannot_be_recorded_yet(
    tmp_path: Path,
) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        held.store.refuses = NoSpace("full")
        assert not await held.approvals.abandon(pending, "its caller gave up", after=_nothing)
        held.store.refuses = None
        with pytest.raises(Conflict, match="nobody waits for it any more") as raised:
            await held.approvals.approve(ID, params=None, by="tok_1")
        assert (raised.value.details["state"], raised.value.details["decided_by"]) == ("abandoned", "hub")
        await held.records.catch_up()
        assert await held.state() == "abandoned"


async def test_giving_up_what_is_decided_changes_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        pending = await held.open()
        await held.approvals.approve(ID, params=None, by="tok_1")
        failed = noting(AuditName.CALLBACK_FAILED, actor="hub")
        assert await held.approvals.abandon(pending, "its caller gave up", after=failed)
        assert await held.state() == "approved"
        assert await held.names() == ["approval.requested", "approval.approved", "callback.failed"]


async def test_giving_up_what_never_came_to_be_keeps_what_goes_with_it(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        failed = noting(AuditName.CALLBACK_FAILED, actor="hub")
        assert await held.approvals.abandon(approval(), "its caller gave up", after=failed)
        assert await held.names() == ["callback.failed"]


async def test_giving_up_what_was_being_added_leaves_nothing_pending(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        held.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            adding = tasks.create_task(held.open())
            await until(lambda: held.store.waiting)
            adding.cancel()
            await until(adding.done)
            held.store.gate.set()
            await held.approvals.abandon(approval(), "its caller gave up", after=_nothing)
        assert held.approvals.waiting == 0
        assert await held.store.pending_approvals() == 0


# After a killed hub.


async def test_what_a_killed_hub_has_left_is_given_up_and_the_audit_says_so(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        for number in range(60):
            await held.open(id=f"apr_{number}", callback=f"cb_{number}")
    async with holding(tmp_path) as held:
        assert await held.store.pending_approvals() == 0
        given_up = await held.store.approvals(states=[ApprovalState.ABANDONED], limit=100)
        assert len(given_up) == 60
        assert {one.decided_by for one in given_up} == {"hub"}
        assert "started anew" in str(given_up[0].reason)
        assert (await held.names()).count("approval.abandoned") == 60
        await held.store.audit.verify()


async def test_on_a_full_disk_it_is_left_and_still_cannot_be_approved(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.open()
    async with holding(tmp_path, refuses=NoSpace("full")) as held:
        held.store.refuses = None
        assert await held.state() == "pending"
        assert held.approvals.waiting == 0
        error = await outcome(held.approvals.approve(ID, params=None, by="tok_1"))
        assert isinstance(error, CodedError)
        assert error.code == "conflict"
        await held.records.catch_up()
        assert await held.state() == "abandoned"
