"""When a pane's console is painted: at once while it has the focus, else a few times a second."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.timer import Timer

    from cloche_tui.widgets.terminal_view import TerminalView

BACKGROUND_S = 0.2
"""From one frame to the next of a console without the focus."""


class PanePainting:
    """Passes on to one view that it may look different.

    Args:
        view: shows the console.
    """

    def __init__(self, view: TerminalView) -> None:
        self._view = view
        self._timer: Timer | None = None
        self._touched_at = float("-inf")

    def soon(self) -> None:
        """It may look different."""
        wait_s = 0.0 if self._view.has_focus else self._touched_at + BACKGROUND_S - monotonic()
        if wait_s <= 0:
            self._now()
        elif self._timer is None:
            self._timer = self._view.set_timer(wait_s, self._now)

    def _now(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._touched_at = monotonic()
        self._view.touch()
