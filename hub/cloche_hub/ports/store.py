"""What outlives the hub: rows, and the audit chain."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from cloche_hub.domain.approval import Approval, ApprovalState
from cloche_hub.domain.audit import AuditEvent, Head, Json, Verified
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.audit_filter import Term
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token


class Transaction(Protocol):
    """Changes that become durable together or not at all; valid only inside the function given to `Store.write`."""

    def insert_sandbox(self, sandbox: Sandbox) -> None:
        """Adds a row.

        Raises:
            Conflict: its owner has a live sandbox of that name.
        """
        ...

    def update_sandbox(self, sandbox: Sandbox) -> None:
        """Replaces the row with the sandbox's id."""
        ...

    def insert_token(self, token: Token) -> None:
        """Adds a token."""
        ...

    def revoke_token(self, token_id: str, *, at: datetime) -> Token:
        """Ends a token for good.

        Raises:
            NotFound, WrongState: there is none, or it has been revoked already.
        """
        ...

    def tokens(self) -> Sequence[Token]:
        """Every token, oldest first, as this change sees them."""
        ...

    def insert_approval(self, approval: Approval) -> None:
        """Adds an approval.

        Raises:
            Conflict: its call has one already.
        """
        ...

    def update_approval(self, approval: Approval) -> None:
        """Replaces what may change of the approval with its id. Raises NotFound."""
        ...

    def approval(self, approval_id: str) -> Approval:
        """The approval with this id, as this change sees it. Raises NotFound."""
        ...

    def append_audit(
        self,
        event: AuditName,
        *,
        actor: str,
        sandbox: str | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> AuditEvent:
        """Adds an event to the end of the chain."""
        ...


class Store(Protocol):
    """What outlives the hub."""

    async def write(self, change: Callable[[Transaction], object]) -> object:
        """Runs `change` in a transaction and returns what it returned, once that is durable. Cancelling does not undo it.

        Raises:
            CodedError: what `change` raised, or NoSpace; nothing of it is kept.
        """
        ...

    async def sandboxes(self, *, ended: bool = False, owner: str | None = None) -> Sequence[Sandbox]:
        """All live sandboxes, newest first; with `ended` also the newest of the removed ones.

        Args:
            ended: removed ones too.
            owner: this owner's only; None: everybody's.
        """
        ...

    async def find_sandbox(self, reference: str, *, caller: str, owner: str | None = None) -> Sandbox:
        """The sandbox a reference means; removed ones by their id.

        Raises:
            BadRequest, NotFound: several are meant, or none.
        """
        ...

    async def removed_sandbox(
        self, reference: str, *, caller: str, owner: str | None = None
    ) -> Sandbox | None:
        """The removed sandbox with this id or name, the caller's own first, then the newest; None if none was."""
        ...

    async def unended_work(self, sandbox_id: str) -> Sequence[AuditEvent]:
        """The events of what has begun in a sandbox and has no end in the audit, in order.

        Raises:
            AuditBroken: the audit is not as we write it.
        """
        ...

    async def token(self, token_id: str) -> Token | None:
        """The token with this id, revoked or not; None if there is none."""
        ...

    async def tokens(self) -> Sequence[Token]:
        """Every token, oldest first."""
        ...

    async def approvals(
        self,
        *,
        states: Collection[ApprovalState],
        limit: int,
        sandbox: str | None = None,
        owner: str | None = None,
    ) -> Sequence[Approval]:
        """The newest approvals in these states, newest first; of one sandbox, of one owner's sandboxes, or of all.

        Long parameters are cut.
        """
        ...

    async def find_approval(self, reference: str, *, owner: str | None = None) -> Approval:
        """The approval whose id is, or begins with, a reference, whole; among this owner's, or everybody's.

        Raises:
            BadRequest, NotFound: several are meant, or none.
        """
        ...

    async def pending_approvals(self) -> int:
        """How many approvals wait for a decision."""
        ...


class AuditLog(Protocol):
    """What is committed of the audit chain."""

    @property
    def head(self) -> Head:
        """Where the chain ends now."""
        ...

    async def tail(self, *, limit: int, sandbox: str | None = None) -> Sequence[AuditEvent]:
        """The newest events, oldest of them first."""
        ...

    async def page(self, *, after: int = 0) -> Sequence[AuditEvent]:
        """The first events after a number, in order; none if there are no more. Raises AuditBroken."""
        ...

    async def numbers(
        self, terms: Sequence[Term], *, first: int, last: int, owner: str | None = None
    ) -> Sequence[int]:
        """The numbers of the events from `first` to `last` for which all terms hold, in order."""
        ...

    async def events(self, numbers: Sequence[int], *, owner: str | None = None) -> Sequence[AuditEvent]:
        """The events with these numbers, of an owner's sandboxes or of all, in order. Raises AuditBroken."""
        ...

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """What these sandboxes and tokens are called."""
        ...

    async def wait_beyond(self, seq: int) -> Head:
        """Waits until the chain goes beyond an event; returns where it ends then. Raises ShuttingDown."""
        ...

    def follow(self, *, after: int, sandbox: str | None = None) -> AsyncGenerator[AuditEvent]:
        """Every event after a number, each as soon as it is committed; never ends.

        Raises:
            ShuttingDown: the store is being closed.
        """
        ...

    async def verify(self) -> Verified:
        """Verifies the whole chain.

        Raises:
            AuditBroken: names the first bad event.
        """
        ...
