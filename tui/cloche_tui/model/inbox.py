"""The calls of all sandboxes that wait for a person, and what became of those that did in this sitting. Pure.

Rules:
- What waits stands first, the nearest deadline on top; then what is decided, the newest first.
- Nothing is decided here: the hub says what each call has become.
- What was not told as waiting after a connection was lost does not wait any more; how it was decided is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cloche import ApprovalInfo, Event
from cloche_tui.model.current import Current

MOST_DECIDED = 200
"""Of those that are decided, so many are kept."""


class Inbox:
    """What waits, and what has waited."""

    def __init__(self) -> None:
        self._pending: dict[str, ApprovalInfo] = {}
        self._decided: dict[str, ApprovalInfo] = {}
        self._current = Current()

    @property
    def pending(self) -> Sequence[ApprovalInfo]:
        """Those that wait, the nearest deadline first."""
        return sorted(self._pending.values(), key=lambda one: (one.deadline_at, one.created_at, one.id))

    @property
    def decided(self) -> Sequence[ApprovalInfo]:
        """Those that were decided in this sitting, the newest first."""
        return sorted(self._decided.values(), key=_decided_at, reverse=True)

    @property
    def waiting(self) -> int:
        """How many wait: the number of the badge."""
        return len(self._pending)

    @property
    def next_deadline(self) -> datetime | None:
        """The nearest one; None: nothing waits."""
        return min((one.deadline_at for one in self._pending.values()), default=None)

    def waiting_of(self, sandbox_id: str) -> int:
        """How many of a sandbox wait."""
        return sum(one.sandbox == sandbox_id for one in self._pending.values())

    def get(self, approval_id: str) -> ApprovalInfo | None:
        """One that waits or has waited."""
        return self._pending.get(approval_id) or self._decided.get(approval_id)

    # What the hub tells.

    def begin(self) -> None:
        """A new subscription: what is not told as current any more is gone."""
        self._current.begin()

    def apply(self, event: Event) -> None:
        """One of them waits, has been decided, or is none of ours any more."""
        approval = event.value
        assert isinstance(approval, ApprovalInfo)
        self._pending.pop(approval.id, None)
        self._decided.pop(approval.id, None)
        if event.change == "gone":
            return
        if approval.is_pending:
            self._pending[approval.id] = approval
        else:
            self._keep(approval)
        self._current.tell(approval.id)

    def end_of_current(self) -> None:
        """All that wait have been told."""
        for approval_id in self._current.end(self._pending.keys()):
            del self._pending[approval_id]

    @property
    def is_known(self) -> bool:
        """Whether the hub has told all that wait, once."""
        return self._current.is_known

    def _keep(self, approval: ApprovalInfo) -> None:
        self._decided[approval.id] = approval
        if len(self._decided) > MOST_DECIDED:
            oldest = min(self._decided.values(), key=_decided_at)
            del self._decided[oldest.id]


def _decided_at(approval: ApprovalInfo) -> tuple[datetime, str]:
    return approval.decided_at or approval.created_at, approval.id
