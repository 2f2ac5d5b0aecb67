"""What dialogs that decide a call have in common: the call, its time, the hub's answer, and an end by others' hands.

A dialog is about one approval, by its id, whatever is selected or arrives meanwhile. Its answer is the approval as the
hub has decided it, or None.

Rule: once the call does not wait any more, or the hub says so, the dialog decides nothing. It says who was first and
stays until it is closed, so that nobody types on into something else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from datetime import datetime
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from cloche import ApprovalInfo
from cloche.errors import CodedError, Conflict
from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.figures import countdown
from cloche_tui.model.inbox_text import decision, summary, too_late
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.styles import text_of


class DecisionDialog(Dialog[ApprovalInfo]):
    """See the module.

    Args:
        approval: one that waits.
        now: the time.
    """

    DEFAULT_CSS = """
    DecisionDialog > .box { width: 90; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", priority=True, show=False)]

    def __init__(self, approval: ApprovalInfo, *, now: datetime) -> None:
        super().__init__()
        self.approval, self._now = approval, now
        self.is_over = False
        """Whether it decides nothing any more."""
        self.is_sending = False
        """Whether the hub has been asked and has not answered yet."""

    def compose_body(self) -> Iterable[Widget]:
        """The call, its time, and what it is decided by."""
        yield Static(id="call", classes="line", markup=False)
        yield Static(id="time", classes="line", markup=False)
        yield from self.compose_decision()

    def compose_decision(self) -> Iterable[Widget]:
        """What the call is decided by."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Shows the call."""
        super().on_mount()
        # SAFETY: a guest wrote the call; `summary` and `line` make it printable, and nothing here is markup.
        call = line(
            Span(summary(self.approval), Role.ACCENT), Span(f"  {self.approval.sandbox_name}", Role.MUTED)
        )
        self._write("call", call)
        self._show_time()

    def tell(self, approval: ApprovalInfo | None, *, now: datetime) -> None:
        """What has become of the call meanwhile.

        Args:
            approval: as it is; None: nobody waits for it any more, and how it was decided is not known.
            now: the time.
        """
        self._now = now
        if self.is_over or not self.is_mounted:
            return
        if approval is not None and approval.is_pending:
            self._show_time()
        elif not self.is_sending:
            # Else the answer says it.
            self._end(decision(approval, now) if approval is not None else line("it does not wait any more"))

    def send(self, request: Awaitable[ApprovalInfo]) -> None:
        """Asks the hub to decide, and closes when it has."""
        self.is_sending = True
        self.say("asking the hub …", Role.MUTED)
        self.run_worker(self._carry_out(request), group="decision", exclusive=True)

    def on_refused(self, error: CodedError) -> None:
        """The hub has not decided, and the call waits on."""
        self.say(error.message, Role.BAD)

    def on_over(self) -> None:
        """Nothing can be decided any more."""

    async def _carry_out(self, request: Awaitable[ApprovalInfo]) -> None:
        try:
            decided = await request
        except Conflict as error:
            self.is_sending = False
            self._end(line(too_late(error.message, error.details)))
        except CodedError as error:
            self.is_sending = False
            self.on_refused(error)
        else:
            self.dismiss(decided)

    def _end(self, why: Line) -> None:
        self.is_over = True
        self._write("time", (Span("✗ too late", Role.BAD),))
        self.say_line((Span("Nothing was decided here: ", Role.WARNING), *why))
        self.show_keys("esc closes")
        self.on_over()

    def _show_time(self) -> None:
        self._write("time", (countdown(self.approval.deadline_at, self._now), Span(" left", Role.MUTED)))

    def _write(self, place: str, what: Line) -> None:
        self.query_one(f"#{place}", Static).update(text_of(self.app, what))
