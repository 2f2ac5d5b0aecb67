"""The panes on the screen: made, put into order, shown or hidden, and taken away, as `model.console_panes` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from textual.containers import Grid

from cloche_tui.model.console_panes import Layout, Pane, Panes
from cloche_tui.widgets.console_pane import ConsolePane

Make = Callable[[Pane], ConsolePane]


class ConsoleGrid(Grid):
    """All panes, also those that are not seen now."""

    DEFAULT_CSS = """
    ConsoleGrid { grid-size: 1; width: 1fr; height: 1fr; }
    ConsoleGrid.-columns { grid-size: 2; }
    ConsoleGrid .-wide { column-span: 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_key: dict[int, ConsolePane] = {}

    def fit_panes(self, panes: Panes, make: Make) -> None:
        """Makes the screen what the panes are.

        Args:
            panes: all of them.
            make: makes the widget of one that is not there yet.
        """
        for key in self._by_key.keys() - {pane.key for pane in panes.all}:
            self._by_key.pop(key).remove()
        for pane in panes.all:
            if pane.key not in self._by_key:
                self._by_key[pane.key] = make(pane)
                self.mount(self._by_key[pane.key])
        places = {self._by_key[pane.key]: place for place, pane in enumerate(panes.all)}
        self.sort_children(key=lambda widget: places.get(cast("ConsolePane", widget), len(places)))
        self._fit(panes)

    def of(self, pane: Pane) -> ConsolePane:
        """The widget of a pane."""
        return self._by_key[pane.key]

    def __iter__(self) -> Iterator[tuple[int, ConsolePane]]:
        """Each pane's key, and its widget."""
        return iter(self._by_key.items())

    def _fit(self, panes: Panes) -> None:
        """Which are seen, and how they share the room."""
        shown = panes.shown
        has_columns = panes.layout is Layout.GRID and len(shown) > 1
        self.set_class(has_columns, "-columns")
        for pane in panes.all:
            widget = self.of(pane)
            widget.display = pane in shown
            # Of three, the last one has the room of two.
            widget.set_class(has_columns and len(shown) % 2 == 1 and pane is shown[-1], "-wide")
            widget.set_class(panes.layout is Layout.FULL, "-alone")
