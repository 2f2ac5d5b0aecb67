"""What is told for a moment in the last line of a pane."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

NOTICE_S = 3.0
"""How long a notice stands."""


class PaneNotice:
    """One line that goes by itself.

    Args:
        pane: which shows it.
        on_change: called when there is another one, or none any more.
    """

    def __init__(self, pane: Widget, on_change: Callable[[], None]) -> None:
        self._pane, self._on_change = pane, on_change
        self._timer: Timer | None = None
        self.text = ""
        """What stands there now; empty: nothing."""

    def say(self, text: str) -> None:
        """Tells this in the place of what stood there."""
        if self._timer is not None:
            self._timer.stop()
        self.text, self._timer = text, self._pane.set_timer(NOTICE_S, self.clear)
        self._on_change()

    def add(self, text: str) -> None:
        """Tells this besides what stands there, once."""
        if text not in self.text:
            self.say(f"{self.text} · {text}" if self.text else text)

    def clear(self) -> None:
        """Tells nothing any more."""
        if self._timer is not None:
            self._timer.stop()
        self.text, self._timer = "", None
        self._on_change()
