"""Denying a call: with a reason, which the program in the sandbox and the audit get."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from cloche import ApprovalInfo
from cloche.printable import printable
from cloche_tui.dialogs.decision import DecisionDialog
from cloche_tui.model.reasons import MAX_REASON
from cloche_tui.model.roles import Role

_KEYS = "enter denies · esc leaves the call as it is"
_KEYS_WITH_LIST = "enter denies · ↓ earlier reasons · esc leaves the call as it is"
_KEYS_IN_LIST = "enter takes the reason, to deny with it or to change it · esc leaves the call as it is"


class DenyDialog(DecisionDialog):
    """Asks for the reason, and denies.

    Args:
        approval: one that waits.
        deny: asks the hub to deny it, with a reason.
        reasons: that were given before, the newest first.
        now: the time.
    """

    DEFAULT_CSS = """
    DenyDialog Input { margin-top: 1; }
    DenyDialog OptionList { height: auto; max-height: 8; border: none; padding: 0 1; background: $surface; }
    DenyDialog OptionList:blur > .option-list--option-highlighted { background: $surface; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "earlier", "Earlier reasons", show=False)]
    heading = "Deny this call"

    def __init__(
        self,
        approval: ApprovalInfo,
        deny: Callable[[str], Awaitable[ApprovalInfo]],
        *,
        reasons: Sequence[str],
        now: datetime,
    ) -> None:
        super().__init__(approval, now=now)
        self._deny, self._reasons = deny, reasons
        self.keys = _KEYS_WITH_LIST if reasons else _KEYS

    def compose_decision(self) -> Iterable[Widget]:
        """A line to type in, and earlier reasons."""
        yield Input(
            placeholder="why: the program that asks gets it, and the audit",
            max_length=MAX_REASON,
            select_on_focus=False,
            compact=True,
        )
        if self._reasons:
            yield OptionList(*(Option(Text(printable(reason))) for reason in self._reasons), markup=False)

    def on_mount(self) -> None:
        """Ready to type."""
        super().on_mount()
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        reason = message.value.strip()
        if self.is_over or self.is_sending:
            return
        if not reason:
            self.say("a denial needs a reason: the program that asked gets it, and the audit", Role.WARNING)
            return
        self.send(self._deny(reason))

    @on(OptionList.OptionSelected)
    def _take(self, message: OptionList.OptionSelected) -> None:
        # To be seen and confirmed: a key in a list denies nothing.
        field = self.query_one(Input)
        field.value = self._reasons[message.option_index]
        field.cursor_position = len(field.value)
        field.focus()
        self.show_keys(self.keys)

    def action_earlier(self) -> None:
        """To the earlier reasons."""
        if self._reasons:
            self.query_one(OptionList).focus()
            self.show_keys(_KEYS_IN_LIST)

    def on_over(self) -> None:
        """What was typed stays to be read."""
        self.query_one(Input).disabled = True
