"""What lists are filtered by, as it was typed: kept for each view, and for the next start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from cloche.errors import BadRequest
from cloche.filters import parse_filter
from cloche_tui.remembered import Remembered
from cloche_tui.views.view import View


class KeptFilters:
    """The filters of all views.

    Args:
        remembered: where they are kept.
    """

    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered

    def of(self, view: View) -> str:
        """What was typed; empty: the list is whole."""
        return self._remembered.get(f"{view.id}.filter", "")

    def keep(self, view: View, text: str) -> None:
        """This was typed, and is in use."""
        self._remembered.set(f"{view.id}.filter", text)

    def take_up(self, views: Iterable[View]) -> None:
        """Filters all views as they were filtered before."""
        for view in views:
            if text := self.of(view):
                # One that was right for an earlier version may be wrong now.
                with contextlib.suppress(BadRequest):
                    view.set_filter(parse_filter(text))
