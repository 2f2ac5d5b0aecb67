"""Calls that wait for a human: held, decided once, and told to whoever waits.

Rules:
- An approval and its record in the audit are durable together before anybody can see it; a decision and its record
  before anybody acts on it.
- The first decision stands: it is made inside the store's change, on the approval as it is there.
- An edit cannot do what the policy in force denies: whoever may decide a call may not make another one of it.
- What nobody waits for any more cannot be approved: its caller has given up, its sandbox has ended, or the hub that
  knew its caller is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import cast

import structlog

from cloche_hub.domain.approval import Approval, ApprovalState, Decision, cut, decision_of, move
from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.callback import digest_of
from cloche_hub.domain.policy import Call, Policy, Verdict, decide
from cloche_hub.errors import CodedError, Conflict, Forbidden, HubError, NotFound
from cloche_hub.ports import Store, Transaction
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_hub.services.held import HUB
from cloche_hub.services.records import Change, Records
from cloche_wire.aio.bounds import within

_log = structlog.get_logger(__name__)

TOPIC = "approval"
"""Of the changes published here; the key is the approval's id, the value the approval."""

_AUDIT_NAMES = {
    ApprovalState.APPROVED: AuditName.APPROVAL_APPROVED,
    ApprovalState.EDITED: AuditName.APPROVAL_EDITED,
    ApprovalState.DENIED: AuditName.APPROVAL_DENIED,
    ApprovalState.EXPIRED: AuditName.APPROVAL_EXPIRED,
    ApprovalState.ABANDONED: AuditName.APPROVAL_ABANDONED,
}
_RESTARTED = "the hub was started anew, and whoever waited for it is gone"
# Approvals of one reading when a killed hub's are given up: each may hold its parameters.
_PAGE = 50


@dataclass(slots=True, eq=False)
class _Wait:
    """Somebody who waits for a decision."""

    approval: Approval
    decided: asyncio.Future[Approval]
    is_durable: bool = False


class Approvals:
    """The approvals of this hub. Use it inside `running`.

    Args:
        store, records: where they are kept.
        clock: dates them.
        changes: told of each change.
        policy: the one in force now, which edited calls must pass.
        on_waiting: told of each approval that begins to wait; must not wait nor raise.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        clock: Clock,
        changes: Changes,
        *,
        policy: Callable[[], Policy],
        on_waiting: Callable[[Approval], object] = lambda _approval: None,
    ) -> None:
        self._store, self._records = store, records
        self._clock, self.changes, self._on_waiting = clock, changes, on_waiting
        self._policy = policy
        self.on_event: Callable[[str, str], None] = lambda _sandbox_id, _text: None
        """Told the sandbox and one line for each thing that becomes of an approval; must not wait and must not raise."""
        self._waits: dict[str, _Wait] = {}
        self._decisions = asyncio.TaskGroup()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Gives up what a killed hub has left, then serves; on leaving, decisions under way are carried out."""
        async with self._decisions:
            await self._take_up()
            yield

    @property
    def waiting(self) -> int:
        """How many wait for a decision now."""
        return sum(wait.is_durable and not wait.decided.done() for wait in self._waits.values())

    def pending(self) -> Sequence[str]:
        """The ids of those that wait for a decision now, the newest first."""
        return [approval_id for approval_id in reversed(self._waits) if self.get_pending(approval_id)]

    def get_pending(self, approval_id: str) -> Approval | None:
        """One that waits for a decision; None if it does not any more."""
        wait = self._waits.get(approval_id)
        return wait.approval if wait and wait.is_durable and not wait.decided.done() else None

    # For whoever waits.

    async def open(self, approval: Approval, *, after: Change) -> None:
        """Adds an approval. From then on it can be seen and decided: `wait` for that, or `abandon` it.

        Cancelling leaves open whether it was added: it must be abandoned then as well.

        Args:
            approval: a pending one.
            after: what becomes durable together with it, and stands before it in the audit.

        Raises:
            Conflict: its call has an approval already.
            NoSpace, StoreFailed: it could not be recorded; there is none.
        """
        wait = _Wait(approval, asyncio.get_running_loop().create_future())
        # Before it is written: it may be decided as soon as it is.
        self._waits[approval.id] = wait
        try:
            await self._store.write(_adding(approval, after))
        except (CodedError, HubError):
            del self._waits[approval.id]
            raise
        wait.is_durable = True
        self._tell_event(approval)
        if not wait.decided.done():
            self._publish(approval)
            self._on_waiting(approval)

    async def wait(self, approval: Approval, *, deadline_s: float) -> Approval:
        """The approval as it was decided; after the deadline it is expired. Cancelling decides nothing.

        Raises:
            NoSpace, StoreFailed: it has expired, and that cannot be recorded.
        """
        try:
            async with within(deadline_s):
                return await self._waits[approval.id].decided
        except TimeoutError:
            return await self._expire(approval, f"nobody decided within {deadline_s:g} s")
        finally:
            self._waits.pop(approval.id, None)

    async def abandon(self, approval: Approval, reason: str, *, after: Change) -> bool:
        """Gives up an approval, unless it is decided or never came to be; returns whether that is durable.

        From the call on nobody can approve it. Cancelling leaves it given up. Raises nothing.

        Args:
            approval: as it was opened.
            reason: why nobody waits any more.
            after: becomes durable together with it, and stands before it in the audit.
        """
        self._waits.pop(approval.id, None)
        change = _giving_up(approval, after, self._clock, reason)
        if not await self._records.keep(change):
            return False
        with contextlib.suppress(CodedError, HubError):
            given_up = await self._store.find_approval(approval.id)
            if given_up.state is ApprovalState.ABANDONED:
                self._tell_event(given_up)
            self._publish(given_up)
        return True

    # For operators.

    async def approve(
        self, approval_id: str, *, params: str | None, by: str, by_name: str | None = None
    ) -> Approval:
        """Lets a call pass.

        Args:
            approval_id: the approval's.
            params: canonical JSON to call with instead of what was asked; None: as it was asked.
            by, by_name: the operator's token's id and name.

        Raises:
            Conflict: it has been decided already, or nobody waits for it; says by whom or why.
            Forbidden: it is edited to what the policy denies; names the rule, and the call waits on.
            NotFound: there is none.
            NoSpace, StoreFailed: it could not be recorded; nothing is decided.
        """
        if params is not None:
            self._require_not_denied(await self._store.find_approval(approval_id), params)
        return await self._decide(approval_id, None, by=by, by_name=by_name, params=params)

    async def deny(self, approval_id: str, *, reason: str, by: str, by_name: str | None = None) -> Approval:
        """Refuses a call; the guest is told the reason. Raises BadRequest without one, and what `approve` does."""
        return await self._decide(approval_id, Decision.DENY, by=by, by_name=by_name, reason=reason)

    # Decisions.

    def _require_not_denied(self, approval: Approval, params: str) -> None:
        # What a call asks and of whom never changes, so this need not be done inside the store's change; whether it
        # still waits is told there.
        if not approval.is_pending or decision_of(approval, params) is not Decision.EDIT:
            return
        edited = Call(approval.method, json.loads(params), approval.owner, approval.labels)
        policy_says = decide(self._policy(), edited)
        if policy_says.verdict is Verdict.DENY:
            raise Forbidden(
                f"the edited call is {policy_says.refusal}; approval {approval.id} waits on",
                rule=policy_says.rule,
            )

    async def _expire(self, approval: Approval, reason: str) -> Approval:
        try:
            return await self._decide(approval.id, Decision.EXPIRE, by=HUB, reason=reason)
        except Conflict:
            # Somebody decided in that very moment.
            return await self._store.find_approval(approval.id)

    async def _decide(
        self,
        approval_id: str,
        what: Decision | None,
        *,
        by: str,
        by_name: str | None = None,
        reason: str | None = None,
        params: str | None = None,
    ) -> Approval:
        """Decides; None: lets it pass, with other parameters or as it is. Cancelling does not take that back."""
        is_waited_for = approval_id in self._waits
        now = self._clock.now()

        def change(transaction: Transaction) -> Approval:
            approval = transaction.approval(approval_id)
            if approval.is_pending and not is_waited_for:
                raise Conflict(
                    f"approval {approval.id} is abandoned: nobody waits for it any more",
                    approval=approval.id,
                    state=str(ApprovalState.ABANDONED),
                    decided_by=HUB,
                    decided_by_name=HUB,
                )
            decision = what or decision_of(approval, params)
            edited = params if decision is Decision.EDIT else None
            decided = move(approval, decision, at=now, by=by, by_name=by_name, reason=reason, params=edited)
            _record(transaction, decided)
            return decided

        decided: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        # Whoever decided may be gone by the time it fails: then nobody looks at it here.
        decided.add_done_callback(lambda done: done.cancelled() or done.exception())
        # In a task of its own: once it is written, whoever waits must learn of it, whatever becomes of who decided.
        self._decisions.create_task(self._carry_out(change, decided))
        return await asyncio.shield(decided)

    async def _carry_out(
        self, change: Callable[[Transaction], Approval], outcome: asyncio.Future[Approval]
    ) -> None:
        try:
            decided = cast(Approval, await self._store.write(change))
        except Exception as error:
            # The edge of a task: it is for whoever decides, whatever it is.
            outcome.set_exception(error)
            return
        wait = self._waits.get(decided.id)
        if wait is not None and not wait.decided.done():
            wait.decided.set_result(decided)
        self._tell_event(decided)
        self._publish(decided)
        outcome.set_result(decided)

    async def _take_up(self) -> None:
        """Gives up what nobody waits for since the last hub ended."""
        given_up = 0
        while page := await self._store.approvals(states=[ApprovalState.PENDING], limit=_PAGE):
            for approval in page:
                if not await self.abandon(approval, _RESTARTED, after=lambda _transaction: None):
                    # A full disk: those left cannot be approved either, and the next start gives them up.
                    return
            given_up += len(page)
        if given_up:
            _log.info("approvals_abandoned", approvals=given_up)

    def _tell_event(self, approval: Approval) -> None:
        by = "" if approval.decided_by_name is None else f" by {approval.decided_by_name}"
        state = "asked for" if approval.is_pending else str(approval.state)
        self.on_event(approval.sandbox, f"approval of {approval.method} {state}{by} ({approval.id})")

    def _publish(self, approval: Approval) -> None:
        # What waits is in memory anyway. What is decided would be kept for whoever follows and does not read.
        told = approval if approval.is_pending else cut(approval)
        self.changes.publish(TOPIC, approval.id, told)


def _adding(approval: Approval, after: Change) -> Change:
    def change(transaction: Transaction) -> None:
        after(transaction)
        transaction.insert_approval(approval)
        transaction.append_audit(
            AuditName.APPROVAL_REQUESTED,
            actor=approval.sandbox,
            sandbox=approval.sandbox,
            detail={
                **_about(approval),
                "rule": approval.rule,
                "params_sha256": approval.params_sha256,
                "params_bytes": approval.params_bytes,
                "deadline_ms": round((approval.deadline_at - approval.created_at).total_seconds() * 1000),
                "on_deadline": str(approval.on_deadline),
            },
        )

    return change


def _giving_up(approval: Approval, after: Change, clock: Clock, reason: str) -> Change:
    now = clock.now()

    def change(transaction: Transaction) -> None:
        after(transaction)
        try:
            current = transaction.approval(approval.id)
        except NotFound:
            # Its caller gave up while it was being added, and it never was.
            return
        if current.is_pending:
            _record(transaction, move(current, Decision.ABANDON, at=now, by=HUB, reason=reason))

    return change


def _record(transaction: Transaction, decided: Approval) -> None:
    detail: dict[str, Json] = _about(decided)
    if decided.reason is not None:
        detail["reason"] = decided.reason
    if decided.state in (ApprovalState.APPROVED, ApprovalState.EDITED):
        detail |= digest_of(decided.final_params)
    transaction.update_approval(decided)
    transaction.append_audit(
        _AUDIT_NAMES[decided.state], actor=decided.decided_by or HUB, sandbox=decided.sandbox, detail=detail
    )


def _about(approval: Approval) -> dict[str, Json]:
    return {"approval": approval.id, "callback": approval.callback, "method": approval.method}
