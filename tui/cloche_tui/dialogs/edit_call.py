"""Editing a call's parameters, and approving what came of it.

    editing ── the text is good and differs ──► review ── a key, once nothing was pressed for a moment ──► asks the hub
       ▲                                          │                                                          │
       └──────────────── back ────────────────────┴──────────────────── the hub refuses it ──────────────────┘

Rule: nothing is approved that was not shown as a difference first, and by no key that was pressed too early to have
been meant for that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from cloche import ApprovalInfo
from cloche.errors import CodedError
from cloche_tui.dialogs.decision import DecisionDialog
from cloche_tui.model.call_text import CallLine
from cloche_tui.model.edits import Good, Wrong, changes, check, editable, is_same
from cloche_tui.model.guard import Cause, Guard
from cloche_tui.model.roles import Role
from cloche_tui.widgets.call_view import CallView

_LARGE = 8 << 10
"""Characters from which on a text is judged a moment after it was typed, and not at each key."""
_MOMENT_S = 0.2
_EDIT_KEYS = "ctrl+s shows what it changes · esc leaves the call as it is"
_REVIEW_KEYS = "enter approves exactly this · e goes back to the text · esc leaves the call as it is"
_UNCHANGED = "nothing is changed; to approve the call as it was asked, leave this and approve it"


class EditCallDialog(DecisionDialog):
    """Edits, shows the difference, approves.

    Args:
        approval: one that waits, with its parameters.
        approve: asks the hub to let it pass with other parameters.
        now: the time.
        clock: seconds that never go back.
    """

    DEFAULT_CSS = """
    EditCallDialog > .box { width: 110; height: 94%; }
    EditCallDialog TextArea, EditCallDialog TextArea:focus { height: 1fr; margin-top: 1; border: none; padding: 0; }
    EditCallDialog CallView { height: 1fr; margin-top: 1; display: none; }
    EditCallDialog.-review TextArea { display: none; }
    EditCallDialog.-review CallView { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "review", "Review", priority=True, show=False),
        Binding("enter", "approve", "Approve", show=False),
        Binding("e", "edit", "Edit", show=False),
    ]
    heading = "Edit this call, then approve it"
    keys = _EDIT_KEYS

    def __init__(
        self,
        approval: ApprovalInfo,
        approve: Callable[[Any], Awaitable[ApprovalInfo]],
        *,
        now: datetime,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(approval, now=now)
        self._approve, self._clock = approve, clock
        self._before = editable(approval.params)
        self._guard = Guard()
        self._judging: Timer | None = None
        self._leaves_next = False

    def compose_decision(self) -> Iterable[Widget]:
        """The text, and in its place later the difference."""
        yield TextArea(self._before, show_line_numbers=True, tab_behavior="indent")
        yield CallView()

    def on_mount(self) -> None:
        """Ready to type."""
        super().on_mount()
        self.action_edit()

    @property
    def is_reviewing(self) -> bool:
        """Whether the difference is shown."""
        return self.has_class("-review")

    @property
    def text(self) -> str:
        """As it stands."""
        return self.query_one(TextArea).text

    # Editing.

    def action_edit(self) -> None:
        """Goes back to the text."""
        if self.is_over or self.is_sending:
            return
        self.remove_class("-review")
        self.query_one(TextArea).focus()
        self.show_keys(_EDIT_KEYS)
        self._judge()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._leaves_next = False
        if self._judging is not None:
            self._judging.stop()
        if len(self.text) < _LARGE:
            self._judge()
        else:
            self._judging = self.set_timer(_MOMENT_S, self._judge)

    def _judge(self) -> Good | Wrong:
        judged = check(self.text)
        if self.is_over or self.is_sending:
            return judged
        if isinstance(judged, Wrong):
            self.say(f"✗ {judged.text}", Role.BAD)
        elif is_same(judged.value, self.approval.params):
            self.say(_UNCHANGED, Role.MUTED)
        else:
            self.say("✓ good JSON", Role.GOOD)
        return judged

    # Reviewing.

    def action_review(self) -> None:
        """Shows what the edit changes, if it is good."""
        if self.is_over or self.is_sending or self.is_reviewing:
            return
        judged = self._judge()
        if isinstance(judged, Wrong):
            self.query_one(TextArea).move_cursor((judged.line - 1, judged.column - 1))
            return
        difference = changes(self.approval.params, judged.value)
        if not difference:
            return
        shown = self.query_one(CallView)
        shown.show([CallLine(line, indent=2) for line in difference], is_other=True)
        self.add_class("-review")
        shown.focus()
        self._guard = self._guard.hold(Cause.ARRIVED, now=self._clock())
        self.say("This is what changes. Approve it?", Role.WARNING)
        self.show_keys(_REVIEW_KEYS)

    def action_approve(self) -> None:
        """Approves what is shown."""
        if self.is_over or self.is_sending or not self.is_reviewing:
            return
        self._guard, acts = self._guard.press(now=self._clock())
        if not acts:
            self.say(f"nothing was approved: {self._guard.cause.value}", Role.WARNING)
            return
        judged = check(self.text)
        assert isinstance(judged, Good)
        self.send(self._approve(judged.value))

    def on_refused(self, error: CodedError) -> None:
        """Back to the text, with the reason."""
        self.action_edit()
        super().on_refused(error)

    # Leaving.

    def action_leave(self) -> None:
        """Leaves; what was typed is thrown away only when that is asked for twice."""
        if not self.is_over and not self._leaves_next and self.text != self._before:
            self._leaves_next = True
            self.say("esc once more throws away what you have typed", Role.WARNING)
            return
        super().action_leave()

    def on_over(self) -> None:
        """What was typed stays to be read and copied."""
        self.query_one(TextArea).read_only = True
