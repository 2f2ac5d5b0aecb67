"""What is to become of files that are in the way of a copy: replaced, or left as they are; or nothing is copied.

Rule: a key that was typed before the question came replaces nothing; see `model.guard`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Static

from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.guard import Cause, Guard
from cloche_tui.model.roles import Line, Role
from cloche_tui.widgets.styles import text_of


class InTheWay(Enum):
    """What becomes of what is in the way."""

    REPLACE = "replace"
    """Files are replaced, folders filled."""
    SKIP = "skip"
    """It stays; all else is copied."""


class Overwrite(Dialog[InTheWay]):
    """Asks. Without an answer nothing is copied.

    Args:
        lines: what is in the way, made of printable text.
        others: how many things are to be copied that nothing is in the way of.
        clock: seconds that never go back.
    """

    DEFAULT_CSS = """
    Overwrite > .box { border: round $warning; }
    Overwrite VerticalScroll { height: auto; max-height: 50vh; }
    Overwrite Horizontal { height: 1; margin-top: 1; }
    Overwrite Button { margin-right: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "answer('replace')", "Replace", show=False),
        Binding("s", "answer('skip')", "Skip", show=False),
        Binding("left", "app.focus_previous", "Other", show=False),
        Binding("right", "app.focus_next", "Other", show=False),
    ]
    heading = "This is there already"

    def __init__(
        self, lines: Sequence[Line], *, others: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._lines, self._others = lines, others
        self._clock, self._guard = clock, Guard()
        skips = "s copies only the others · " if others else ""
        self.keys = f"r replaces it · {skips}enter or esc copies nothing"

    def compose_body(self) -> Iterable[Widget]:
        """What is in the way, and the answers."""
        with VerticalScroll(can_focus=False):
            yield Static(text_of(self.app, *self._lines), markup=False)
        with Horizontal():
            yield Button("Copy nothing", id="leave", compact=True)
            if self._others:
                yield Button("Skip", id="skip", compact=True)
            yield Button("Replace", id="replace", variant="warning", compact=True)

    def on_mount(self) -> None:
        """Holds keys back, and has nothing chosen."""
        super().on_mount()
        self._guard = self._guard.hold(Cause.ARRIVED, now=self._clock())
        self.query_one("#leave").focus()

    def action_answer(self, answer: str) -> None:
        """Answers, if that can be meant."""
        if answer == InTheWay.SKIP.value and not self._others:
            return
        now = self._clock()
        hint = self._guard.hint(now=now)
        self._guard, is_meant = self._guard.press(now=now)
        if is_meant:
            self.dismiss(InTheWay(answer))
        else:
            self.say(hint or "", Role.WARNING)

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "leave":
            self.action_leave()
        else:
            self.action_answer(event.button.id or "")
