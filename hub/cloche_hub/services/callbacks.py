"""Callbacks: what programs in sandboxes ask of the outside, from the guest's channel to the answer.

    form ──► policy ──deny──► refused
               └──► handler? ──nobody──► no_handler
                      └──► allow, or ask and wait for a decision ──► handler ──► recorded ──► answered

Rules:
- Whose call it is, the link says; of what the guest says only the form is believed.
- Nothing is told before it is durable: the call and what holds it before the guest hears that it is taken, the
  decision before a handler is asked, the handler's answer before the guest has it.
- A sandbox that asks too often is refused before anything is recorded of it: rows are for ever.
- Every call that was recorded has an end that is, whoever goes away and however full the disk.
- A call that waits costs its text once, and those of a sandbox and of the hub are bounded together.
- The only bound of a handler's time is the caller's patience: who gives up takes the call back everywhere.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import timedelta

from cloche_hub.domain.approval import Approval, ApprovalState, Outcome
from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.callback import CallbackRequest, digest_of, parse_callback
from cloche_hub.domain.callback_json import parse_canonical
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.policy import Call, Decision, Policy, Verdict, decide
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import (
    BadRequest,
    CallbackFailed,
    Cancelled,
    CodedError,
    Forbidden,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    NoHandler,
    NoSpace,
    ShuttingDown,
    TimedOut,
    Unsupported,
)
from cloche_hub.ports import Store, Transaction
from cloche_hub.services.approvals import Approvals
from cloche_hub.services.budget import Budget
from cloche_hub.services.callback_handlers import CallbackHandlers, HandlerCall, Registration
from cloche_hub.services.callback_rates import CallbackRates
from cloche_hub.services.clock import Clock
from cloche_hub.services.fair import FairTurns
from cloche_hub.services.held import HUB
from cloche_hub.services.records import Change, Records, noting
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within
from cloche_wire.errors import TOLD_BY_HANDLERS

KIND = "callback"
"""The one kind of channel that a guest may open, and what the hub opens to a handler."""
SANDBOX_BYTES = 8 << 20
"""Of parameters of one sandbox's calls that are under way, as they lie in memory."""
HUB_BYTES = 64 << 20
"""Of all sandboxes' together."""
MAX_MESSAGE = 1000
"""Characters of a handler's error."""

# What becomes of a handler whose program or whose link is gone.
_HANDLER_GONE = (Cancelled, LinkLost, LinkSilent, ShuttingDown)
# What the hub says when a guest's link ends; a guest that takes a call back says something else.
_SANDBOX_GONE = (Cancelled, LinkLost, LinkSilent, MachineFailed, ShuttingDown)


class Callbacks:
    """Serves the calls of guests.

    Args:
        store, records: for the audit.
        approvals: holds what policy wants a person to decide.
        handlers: who answers.
        policy: the one in force now.
        rates: how often a sandbox may ask.
        clock: dates approvals.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        approvals: Approvals,
        handlers: CallbackHandlers,
        policy: Callable[[], Policy],
        rates: CallbackRates,
        clock: Clock,
    ) -> None:
        self.store, self.records, self.approvals, self.handlers = store, records, approvals, handlers
        self.rates = rates
        self.clock, self._policy = clock, policy
        self.on_event: Callable[[str, str], None] = lambda _sandbox_id, _text: None
        """Told the sandbox and one line for each thing that is recorded of a call; must not wait and must not raise."""
        self._turns = FairTurns()
        self._held = Budget("parameters of callbacks that are under way", own=SANDBOX_BYTES, every=HUB_BYTES)

    async def serve(self, sandbox: Sandbox, channel: Channel) -> None:
        """Serves a channel that a guest has opened, to its end. Cancelling fails the call.

        Args:
            sandbox: whose link the channel is on.
            channel: offered, not yet accepted.

        Raises:
            Unsupported: guests open callbacks and nothing else.
            TooLarge: with its parameters, those of the calls under way would be too many bytes.
            CodedError: why there is no result.
        """
        if channel.kind != KIND:
            raise Unsupported(f"the hub serves callbacks to a guest, and no {channel.kind[:60]!r}")
        # The guest chooses what there is to parse and to match: 40 ms of it in the worst case.
        async with self._turns.turn(sandbox.id):
            channel.require_live()
            request, decision = self._decide(sandbox, channel)
        with self._held.taken(sandbox.id, sys.getsizeof(request.text)):
            await _Run(self, sandbox, request, decision).run(channel)

    def _decide(self, sandbox: Sandbox, channel: Channel) -> tuple[CallbackRequest, Decision]:
        """What is asked, and what the policy says of it. Of the parameters only their text is kept from here on."""
        request, params = parse_callback(channel.params)
        channel.forget_request()
        call = Call(request.method, params, sandbox.owner, sandbox.labels)
        return request, decide(self._policy(), call)


class _Run:
    """One call."""

    def __init__(
        self, callbacks: Callbacks, sandbox: Sandbox, request: CallbackRequest, decision: Decision
    ) -> None:
        self._callbacks, self._sandbox = callbacks, sandbox
        self._request, self._decision = request, decision
        self._approval: Approval | None = None
        # Whether the audit may have the call, and whether it has its end.
        self._is_recorded = self._is_over = False
        # Who a failure is put down to.
        self._blamed = HUB

    async def run(self, channel: Channel) -> None:
        timeout_s = self._request.timeout_s
        try:
            async with while_wanted(channel), within(timeout_s):
                await self._serve(channel)
        except asyncio.CancelledError:
            await self._record_failure(Cancelled("the hub has given it up"))
            raise
        except TimeoutError:
            late = TimedOut(f"no answer within the caller's {timeout_s:g} s")
            await self._record_failure(late)
            raise late from None
        except Exception as error:
            await self._record_failure(_why(error, is_wanted=channel.is_live))
            raise

    async def _serve(self, channel: Channel) -> None:
        await self._refuse_or_begin()
        # Streams carry nothing here: a window would only be room for a hostile guest's bytes.
        channel.accept({"callback": self._request.callback}, window=0)
        params = self._request.text
        if self._approval is not None:
            decided = await self._callbacks.approvals.wait(
                self._approval, deadline_s=self._decision.deadline_s
            )
            await self._require_let_pass(decided)
            params = decided.final_params
        registration = self._handler()
        if registration is None:
            await self._refuse(self._no_handler("any more"))
        else:
            result = await self._ask(registration, params)
            await self._record_answer(registration, result)
            channel.close({"result": result.encode()})

    # Before the call is taken.

    async def _refuse_or_begin(self) -> None:
        """Records the call with what policy makes of it; raises what refuses it."""
        await self._callbacks.rates.admit(self._sandbox.id)
        refusal = self._refusal()
        if refusal is not None:
            await self._write_first(_both(self._requested(), self._refused(refusal)))
            self._is_over = True
            raise refusal
        if self._decision.verdict is not Verdict.ASK:
            await self._write_first(self._requested())
            return
        self._approval = self._new_approval()
        self._is_recorded = True
        try:
            await self._callbacks.approvals.open(self._approval, after=self._requested())
        except Exception:
            # Neither the approval nor the call is in the store.
            self._is_over = True
            raise

    def _refusal(self) -> CodedError | None:
        if self._decision.verdict is Verdict.DENY:
            return Forbidden(self._decision.refusal, rule=self._decision.rule)
        return None if self._handler() is not None else self._no_handler()

    async def _write_first(self, change: Change) -> None:
        self._is_recorded = True
        try:
            await self._callbacks.store.write(change)
        except Exception:
            self._is_recorded = False
            raise

    def _new_approval(self) -> Approval:
        request, decision, now = self._request, self._decision, self._callbacks.clock.now()
        return Approval(
            id=new_id("apr"),
            sandbox=self._sandbox.id,
            sandbox_name=self._sandbox.name,
            owner=self._sandbox.owner,
            labels=self._sandbox.labels,
            callback=request.callback,
            method=request.method,
            params=request.text,
            params_sha256=request.sha256,
            params_bytes=request.size,
            caller=request.caller,
            rule=decision.rule,
            rule_reason=decision.reason or None,
            state=ApprovalState.PENDING,
            created_at=now,
            deadline_at=now + timedelta(seconds=decision.deadline_s),
            on_deadline=decision.on_deadline,
        )

    # Once it is taken.

    async def _require_let_pass(self, decided: Approval) -> None:
        """Refuses the call unless somebody let it pass, or nobody decided and that means to let it pass."""
        if decided.outcome is not Outcome.LET_THROUGH:
            refusal = TimedOut if decided.state is ApprovalState.EXPIRED else Forbidden
            await self._refuse(refusal(f"not approved: {decided.reason}", approval=decided.id))

    async def _ask(self, registration: Registration, params: str) -> str:
        """The handler's answer as canonical JSON."""
        call = HandlerCall(
            callback=self._request.callback,
            sandbox=self._sandbox.id,
            sandbox_name=self._sandbox.name,
            owner=self._sandbox.owner,
            labels=self._sandbox.labels,
            method=self._request.method,
            params=params,
            approval=None if self._approval is None else self._approval.id,
        )
        try:
            return _checked(await registration.answer(call))
        except CodedError as error:
            self._blamed = registration.token
            raise _told(error) from None

    async def _record_answer(self, registration: Registration, result: str) -> None:
        self._is_over = True
        detail = digest_of(result, what="result")
        change = self._noting(AuditName.CALLBACK_ANSWERED, registration.token, detail)
        if not await self._callbacks.records.keep(change):
            raise NoSpace(
                "the callback was answered, but the hub cannot record it now: its disk is full or its database fails"
            )

    async def _refuse(self, refusal: CodedError) -> None:
        self._is_over = True
        await self._callbacks.records.keep(self._refused(refusal))
        raise refusal

    async def _record_failure(self, error: CodedError) -> None:
        """Ends a call that has no end yet, and its approval with it."""
        if not self._is_recorded or self._is_over:
            return
        self._is_over = True
        change = self._noting(AuditName.CALLBACK_FAILED, self._blamed, _detail_of(error))
        if self._approval is None:
            await self._callbacks.records.keep(change)
        else:
            await self._callbacks.approvals.abandon(self._approval, error.message, after=change)

    # Helpers.

    def _handler(self) -> Registration | None:
        sandbox = self._sandbox
        return self._callbacks.handlers.find(
            sandbox=sandbox.id, owner=sandbox.owner, method=self._request.method
        )

    def _no_handler(self, since: str = "") -> NoHandler:
        what = f"nobody who is connected to the hub answers {self._request.method!r}"
        return NoHandler(f"{what} {since}".rstrip(), method=self._request.method)

    def _requested(self) -> Change:
        decision = self._decision
        detail = {"rule": decision.rule, "verdict": str(decision.verdict), **self._request.audit_detail()}
        return self._noting(AuditName.CALLBACK_REQUESTED, self._sandbox.id, detail)

    def _refused(self, error: CodedError) -> Change:
        detail = _detail_of(error)
        if self._decision.verdict is Verdict.DENY:
            detail["rule"] = self._decision.rule
        return self._noting(AuditName.CALLBACK_REFUSED, HUB, detail)

    def _noting(self, event: AuditName, actor: str, detail: dict[str, Json]) -> Change:
        about: dict[str, Json] = {"callback": self._request.callback, "method": self._request.method}
        if self._approval is not None:
            about["approval"] = self._approval.id
        self._callbacks.on_event(self._sandbox.id, f"{event} {self._request.method}")
        return noting(event, actor=actor, sandbox=self._sandbox.id, detail={**about, **detail})


def _why(error: Exception, *, is_wanted: bool) -> CodedError:
    """Why a call failed, as the hub knows it: what a guest says as it takes a call back decides nothing."""
    if not isinstance(error, CodedError):
        return InternalError("the hub failed; its log has the cause")
    if is_wanted or isinstance(error, _SANDBOX_GONE):
        return error
    return Cancelled("its caller gave up")


def _detail_of(error: CodedError) -> dict[str, Json]:
    return {"code": error.code, "reason": error.message[:500]}


def _both(first: Change, second: Change) -> Change:
    def change(transaction: Transaction) -> None:
        first(transaction)
        second(transaction)

    return change


def _checked(result: object) -> str:
    """A handler's result as canonical JSON."""
    if not isinstance(result, bytes):
        raise CallbackFailed("its handler answered without a result")
    try:
        return parse_canonical(result, what="the result")[1]
    except BadRequest as error:
        raise CallbackFailed(f"its handler answered with no good result: {error.message}") from None


def _told(error: CodedError) -> CodedError:
    """A handler's error as the guest hears it: what it means for the call, and nothing of the hub's own troubles."""
    if isinstance(error, _HANDLER_GONE):
        return LinkLost(
            "the program that answers it has gone away; whether the call was carried out is not known"
        )
    message = error.message if len(error.message) <= MAX_MESSAGE else f"{error.message[: MAX_MESSAGE - 1]}…"
    if isinstance(error, TOLD_BY_HANDLERS):
        return type(error)(message)
    return CallbackFailed(f"its handler failed: {message}" if message else "its handler failed")
