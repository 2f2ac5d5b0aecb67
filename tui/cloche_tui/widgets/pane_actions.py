"""What a person does about the console in the focused pane, by the names of actions: nothing here changes the panes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.widget import Widget

from cloche_tui.widgets.console_pane import ConsolePane


def holds_keys_back(focused: Widget | None) -> bool:
    """Whether keys mean nothing yet where the focus is: they may have been typed for a console's program."""
    return focused is not None and any(
        isinstance(one, ConsolePane) and one.is_deaf for one in focused.ancestors
    )


def _page(pane: ConsolePane, pages: int) -> None:
    # A line of what was seen stays, so that one finds oneself again.
    pane.view.scroll_console(pages * max(1, pane.view.size.height - 1))


PANE_ACTIONS: Mapping[str, Callable[[ConsolePane], object]] = {
    "console.drive": ConsolePane.drive,
    "console.ask": ConsolePane.ask,
    "console.take": ConsolePane.take,
    "console.give": ConsolePane.give,
    "console.clipboard": ConsolePane.let_copy,
    "console.search_next": lambda pane: pane.view.step_match(-1),
    "console.search_previous": lambda pane: pane.view.step_match(1),
    "console.copy": lambda pane: pane.view.copy(),
    "console.scroll_up": lambda pane: _page(pane, -1),
    "console.scroll_down": lambda pane: _page(pane, 1),
    "console.to_start": lambda pane: pane.view.scroll_to_oldest(),
    "console.to_end": lambda pane: pane.view.scroll_to_newest(),
}
