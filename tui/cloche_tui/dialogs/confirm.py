"""Whether something is really to be ended, or begun that is large. It says what; no is the answer unless somebody means yes.

Rules:
- A key or a click says yes only when the dialog has been on the screen for a moment: what was typed before it came was
  meant for something else. One that was held back holds back the next.
- Where several things are ended, their number has to be typed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Literal

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.guard import Cause, Guard
from cloche_tui.model.roles import Line, Role
from cloche_tui.widgets.styles import text_of


class Confirm(Dialog[bool]):
    """Asks once more. Its answer is True only if somebody meant it, else None.

    Args:
        heading: what is asked.
        lines: what is lost, or what it is about, made of printable text.
        verb: what yes does: `destroy`.
        number: how many things are ended, where that is to be typed; None: it is not.
        is_loss: whether anything is lost.
        clock: seconds that never go back.
    """

    DEFAULT_CSS = """
    Confirm > .box { border: round $error; }
    Confirm.-calm > .box { border: round $primary; }
    Confirm VerticalScroll { height: auto; max-height: 50vh; }
    Confirm Horizontal { height: 1; margin-top: 1; }
    Confirm Button { margin-right: 2; }
    Confirm Input { margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes", show=False),
        Binding("n", "leave", "No", show=False),
        Binding("left,right", "other", "Other", show=False),
    ]

    def __init__(
        self,
        heading: str,
        lines: Sequence[Line],
        *,
        verb: str,
        number: int | None = None,
        is_loss: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(classes="" if is_loss else "-calm")
        self._colour: Literal["error", "primary"] = "error" if is_loss else "primary"
        self.heading, self._lines, self._verb, self._number = heading, lines, verb, number
        self.keys = (
            f"y means {verb} · enter, n or esc change nothing"
            if number is None
            else f"type {number} and press enter to {verb} them · esc changes nothing"
        )
        self._clock, self._guard = clock, Guard()

    def compose_body(self) -> Iterable[Widget]:
        """What is lost, and where yes and no are said."""
        with VerticalScroll(can_focus=False):
            yield Static(text_of(self.app, *self._lines), markup=False)
        if self._number is None:
            with Horizontal():
                yield Button("No", id="no", compact=True)
                yield Button(f"Yes, {self._verb}", id="yes", variant=self._colour, compact=True)
        else:
            yield Input(
                placeholder=f"how many? ({self._number})", restrict=r"\d*", max_length=9, compact=True
            )

    def on_mount(self) -> None:
        """Holds keys back, and has no chosen."""
        super().on_mount()
        self._guard = self._guard.hold(Cause.ARRIVED, now=self._clock())
        self.query_one("#no" if self._number is None else Input).focus()

    def action_yes(self) -> None:
        """Means it, if that is possible by a key."""
        if self._number is None:
            self._mean_it()

    def action_other(self) -> None:
        """Goes to the other button."""
        self.focus_next()

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "yes":
            self._mean_it()
        else:
            self.action_leave()

    @on(Input.Submitted)
    def _count(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value:
            self.action_leave()
        elif int(event.value) == self._number:
            self._mean_it()
        else:
            self.say(f"{event.value} is not how many there are", Role.WARNING)

    def _mean_it(self) -> None:
        now = self._clock()
        hint = self._guard.hint(now=now)
        self._guard, is_meant = self._guard.press(now=now)
        if is_meant:
            self.dismiss(result=True)
        else:
            self.say(hint or "", Role.WARNING)
