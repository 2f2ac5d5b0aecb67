"""What can be done here and now, with its keys: over everything else, until any key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from cloche_tui.actions import Action
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
    "file": "Files",
}
_OTHERS = "This program"


class HelpScreen(ModalScreen[None]):
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
        width: 76; max-width: 96%; height: auto; max-height: 92%; padding: 1 2; background: $surface; border: round $primary;
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
        with VerticalScroll():
            yield Static(self._text(), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Scrolls, or goes."""
        if event.key not in ("up", "down", "pageup", "pagedown", "home", "end"):
            event.stop()
            self.dismiss(None)

    def on_click(self) -> None:
        """Goes."""
        self.dismiss(None)

    def _text(self) -> Text:
        muted, accent, heading = (
            style_of(self.app, role) for role in (Role.MUTED, Role.ACCENT, Role.HEADING)
        )
        text = Text(no_wrap=False)
        text.append(f"What can be done here ({self._place})\n", heading)
        for title, actions in groupby(self._actions, key=lambda action: _TITLES.get(action.group, _OTHERS)):
            text.append(f"\n{title}\n", muted)
            for action in actions:
                keys = " ".join(key_name(key) for key in self._keys.get(action.id, action.keys))
                text.append(f"  {keys:<12} ", accent)
                text.append(f"{action.title}")
                text.append(f"  :{action.command}\n", muted)
        text.append("\nWhile you drive a console\n", muted)
        text.append(f"  {self._while_driving}\n")
        text.append("\nLists: ", muted)
        text.append("/ filters by text, /regex/, !not, label=team:*, state=running; escape takes it away\n")
        text.append("Any key goes back.", muted)
        return text
