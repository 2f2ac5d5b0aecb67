"""The inbox as a list to go through: its order, what is selected, and whether a key may decide it. Pure.

Rules:
- The selection belongs to a call and not to a row: it stays with the call when others come and go, and also when
  somebody else decides it.
- Without a person's move something is selected only where nothing is, where what was is gone, where the person here
  has decided it, or where a call arrives while what is selected was decided under the person's eyes. Then `guard`
  holds keys back, as it does wherever they could be meant for something else.
- `press` names the call: what is decided is what was selected as the key came, whatever is selected later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cloche import ApprovalInfo
from cloche_tui.model.guard import Cause, Guard
from cloche_tui.model.inbox import Inbox

Matches = Callable[[ApprovalInfo], bool]


@dataclass(frozen=True, slots=True)
class Decide:
    """A key that decides: this call, and no other."""

    approval: ApprovalInfo


@dataclass(frozen=True, slots=True)
class Held:
    """A key that decides nothing, and why."""

    why: str


class InboxList:
    """What is shown of an inbox."""

    def __init__(self) -> None:
        self.rows: Sequence[ApprovalInfo] = ()
        """What is shown, in order."""
        self.known = 0
        """How many there are, shown or not."""
        self.hidden = 0
        """How many wait that are not shown."""
        self.selected: ApprovalInfo | None = None
        self.guard = Guard()
        self._matches: Matches | None = None
        self._sent: set[str] = set()
        self._is_spent = False

    def show(self, inbox: Inbox, *, now: float) -> None:
        """Shows an inbox as it is now."""
        everything = [*inbox.pending, *inbox.decided]
        before, self.rows = (
            self.rows,
            [one for one in everything if self._matches is None or self._matches(one)],
        )
        self.known = len(everything)
        self.hidden = len(inbox.pending) - sum(one.is_pending for one in self.rows)
        if [one.id for one in before] != [one.id for one in self.rows]:
            self.guard = self.guard.changed(now=now)
        self._keep_selection(before, now)
        self._sent &= {one.id for one in inbox.pending}

    def filter(self, matches: Matches | None, inbox: Inbox, *, now: float) -> None:
        """Shows what matches only; None: everything."""
        self._matches = matches
        self.show(inbox, now=now)

    def waits(self, approval: ApprovalInfo) -> bool:
        """Whether a call can be decided here: it waits, and no decision of ours is on its way."""
        return approval.is_pending and approval.id not in self._sent

    # What a person does.

    def select(self, approval_id: str, *, now: float) -> None:
        """Goes to a call, if it is shown."""
        chosen = next((one for one in self.rows if one.id == approval_id), None)
        if chosen is None:
            return
        if self.selected is None or chosen.id != self.selected.id:
            self.guard = self.guard.moved(now=now)
        self.selected, self._is_spent = chosen, False

    def press(self, *, now: float) -> Decide | Held:
        """A key that decides was pressed."""
        if self.selected is None:
            return Held("no call is selected")
        self.guard, acts = self.guard.press(now=now)
        if not acts:
            return Held(f"nothing was decided: {self.guard.cause.value}")
        if not self.waits(self.selected):
            return Held("nothing was decided: this call does not wait any more")
        return Decide(self.selected)

    # What else happens.

    def disturb(self, cause: Cause, *, now: float) -> None:
        """The focus came, or keys went elsewhere."""
        self.guard = self.guard.hold(cause, now=now)

    def send(self, approval_id: str) -> None:
        """A decision of the person here is on its way: no key decides this call once more."""
        self._sent.add(approval_id)

    def fail(self, approval_id: str) -> None:
        """That decision came to nothing; the call waits on."""
        self._sent.discard(approval_id)

    def leave(self, approval_id: str, *, now: float) -> None:
        """The person here has decided a call: if it is still selected, goes on to the next one that waits."""
        if self.selected is not None and self.selected.id == approval_id:
            self._go_on(self.rows, now)

    def _keep_selection(self, before: Sequence[ApprovalInfo], now: float) -> None:
        was, place = self.selected, self._place(self.rows)
        if was is None or place is None:
            self._replace_gone(before, now)
            return
        self.selected = self.rows[place]
        if was.is_pending and not self.selected.is_pending:
            self._is_spent = True
            if was.id in self._sent:
                self._go_on(before, now)
        elif self._is_spent:
            known = {one.id for one in before}
            if any(self.waits(one) and one.id not in known for one in self.rows):
                self._select_by_itself(next(one for one in self.rows if self.waits(one)), now)

    def _replace_gone(self, before: Sequence[ApprovalInfo], now: float) -> None:
        # What stood nearest to it; without anything that was, the first one.
        place = min(self._place(before) or 0, len(self.rows) - 1)
        self._select_by_itself(self.rows[place] if self.rows else None, now)

    def _go_on(self, order: Sequence[ApprovalInfo], now: float) -> None:
        """To the next one that waits, in an order that still has the selected one among them; else it stays."""
        waiting = {one.id: one for one in self.rows if self.waits(one)}
        place = self._place(order) or 0
        follow = [one.id for one in (*order[place:], *reversed(order[:place])) if one.id in waiting]
        self._is_spent = True
        if follow:
            self._select_by_itself(waiting[follow[0]], now)

    def _select_by_itself(self, approval: ApprovalInfo | None, now: float) -> None:
        self.selected, self._is_spent = approval, False
        self.guard = self.guard.hold(Cause.ARRIVED, now=now)

    def _place(self, rows: Sequence[ApprovalInfo]) -> int | None:
        if self.selected is None:
            return None
        wanted = self.selected.id
        return next((place for place, one in enumerate(rows) if one.id == wanted), None)
