"""Two folders beside each other; where there is no room for both, the one that the person is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from cloche_tui.model.file_panes import FilePanes, Side
from cloche_tui.widgets.file_list import FileList

BESIDE = 84
"""Places from which on both are shown."""


class FolderPair(Horizontal):
    """See the module.

    Args:
        panes: the folders.
        on_choice: called when a person has gone to another file or to the other folder.
    """

    DEFAULT_CSS = """
    FolderPair { height: 1fr; }
    FolderPair #files-sandbox { border-left: solid $panel; }
    FolderPair.-one #files-sandbox { border-left: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "go_to('here')", "To this host", show=False, id="files.to_here"),
        Binding("right,l", "go_to('sandbox')", "To the sandbox", show=False, id="files.to_sandbox"),
    ]

    def __init__(self, panes: FilePanes, *, on_choice: Callable[[], object]) -> None:
        super().__init__()
        self._panes, self._on_choice = panes, on_choice
        self._lists = {
            side: FileList(panes.of(side), on_select=on_choice, id=f"files-{side.value}") for side in Side
        }

    def compose(self) -> ComposeResult:
        """Both lists."""
        yield from self._lists.values()

    def on_mount(self) -> None:
        """Shows one, or both."""
        self._make_room()

    def on_resize(self) -> None:
        """There is room for both, or not."""
        self._make_room()

    def show(self, whose: Mapping[Side, str], troubles: Mapping[Side, str], now: datetime) -> None:
        """Shows the folders as they are.

        Args:
            whose: this host, and the sandbox's name.
            troubles: why nothing can be shown of a side; empty: it can.
            now: the time.
        """
        for side, shown in self._lists.items():
            other = self._panes.of(side.other).folder
            if other and side is Side.HERE:
                other = f"{whose[Side.SANDBOX]}:{other}"
            shown.show(
                whose=whose[side],
                trouble="" if self._panes.of(side).folder else troubles[side],
                is_active=side is self._panes.active,
                beside=other if self.has_class("-one") else "",
                now=now,
            )

    def focus_active(self) -> None:
        """The folder the person was in."""
        self.go_to(self._panes.active)

    def go_to(self, side: Side) -> None:
        """Has the person go to one of them."""
        shown = self._lists[side]
        # What is not shown cannot have the focus.
        shown.display = True
        self.screen.set_focus(shown.table)

    def action_go_to(self, side: str) -> None:
        """To one of them."""
        self.go_to(Side(side))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The person has gone to the other one."""
        self._panes.active = next(
            (side for side, shown in self._lists.items() if event.widget is shown.table), self._panes.active
        )
        self._make_room()
        self._on_choice()

    def _make_room(self) -> None:
        is_one = self.size.width < BESIDE
        self.set_class(is_one, "-one")
        for side, shown in self._lists.items():
            shown.display = not is_one or side is self._panes.active
