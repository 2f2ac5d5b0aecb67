"""What can be done here and now, with its keys: over everything else, until any key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from cloche_tui.actions import EVERYWHERE, Action
from cloche_tui.dialogs.modal import Modal
from cloche_tui.model.roles import Role
from cloche_tui.widgets.footer import key_name
from cloche_tui.widgets.styles import style_of

_TITLES = {
    "view": "Views",
    "filter": "Lists",
    "sandbox": "Sandboxes",
    "table": "The table",
    "console": "Consoles",
    "approval": "Approvals",
    "audit": "Audit",
    "files": "Files",
}
_OTHERS = "This program"
_IN_LISTS = "↑ ↓ or k j by one, pgup pgdn by a page, home, end"
_INTO = "; → or l into {}, ← or h back to the list"
_MOVING = {
    "console": "pgup pgdn by a page, home to the oldest line, end to the newest, and the wheel of the mouse",
    "approvals": _IN_LISTS + _INTO.format("the call") + ", J K scroll it",
    "audit": _IN_LISTS + _INTO.format("the event"),
}
"""What no action of the registry is, where it is another than in every list."""


def _title(action: Action) -> str:
    return _TITLES.get(action.group, _OTHERS)


class HelpScreen(Modal[None]):
    """The help.

    Args:
        place: where the focus is, for the title.
        actions: what can be done there.
        keys: of each action by its id.
        while_driving: what to know of a console that is driven.
    """

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 84; max-width: 96%; height: auto; max-height: 94%; padding: 0 2 1 2; background: $surface; border: round $primary;
    }
    HelpScreen Static { height: auto; }
    """

    def __init__(
        self,
        place: str,
        actions: Sequence[Action],
        keys: Mapping[str, tuple[str, ...]],
        *,
        while_driving: str,
    ) -> None:
        super().__init__()
        self._place, self._actions, self._keys, self._while_driving = place, actions, keys, while_driving

    def compose(self) -> ComposeResult:
        """The lines."""
        with VerticalScroll() as box:
            box.border_title, box.border_subtitle = (
                f"What can be done here: {self._place}",
                "any other key goes back",
            )
            yield Static(self._table(), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Scrolls, or goes."""
        if event.key not in ("up", "down", "pageup", "pagedown", "home", "end"):
            event.stop()
            self.dismiss(None)

    def on_click(self) -> None:
        """Goes."""
        self.dismiss(None)

    def _table(self) -> Table:
        """The actions under what they are about, those of this place alone first."""
        muted, accent = style_of(self.app, Role.MUTED), style_of(self.app, Role.ACCENT)
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=11)
        table.add_column(ratio=1)
        table.add_column(no_wrap=True)
        of_here = {_title(action) for action in self._actions if action.places != EVERYWHERE}
        here_first = sorted(self._actions, key=lambda action: _title(action) not in of_here)
        table.add_row(Text(), Text("Moving", muted), Text())
        table.add_row(Text(), Text(_MOVING.get(self._place, _IN_LISTS)), Text())
        for title, actions in groupby(here_first, key=_title):
            table.add_row()
            table.add_row(Text(), Text(title, muted), Text())
            for action in actions:
                keys = " ".join(key_name(key) for key in self._keys.get(action.id, action.keys))
                table.add_row(Text(keys, accent), Text(action.title), Text(f":{action.command}", muted))
        for title, line in (
            ("While you drive a console", self._while_driving),
            (
                "Behind /",
                "text, /regex/, !not, state=running,failed, label=team=blue, with * for any text; escape takes it away",
            ),
        ):
            table.add_row()
            table.add_row(Text(), Text(title, muted), Text())
            table.add_row(Text(), Text(line), Text())
        return table
