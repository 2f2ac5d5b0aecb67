"""What to type in a shell for what can be done here: to learn it, or to copy it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from cloche.printable import printable
from cloche_tui.dialogs.modal import Modal
from cloche_tui.model.roles import Role
from cloche_tui.widgets.styles import style_of


class CommandLines(Modal[None]):
    """The command lines, each with what it does; `y` copies the first, its number any other.

    Args:
        lines: titles and command lines.
    """

    DEFAULT_CSS = """
    CommandLines { align: center middle; }
    CommandLines > VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 92%; padding: 1 2; background: $surface; border: round $primary;
    }
    CommandLines Static { height: auto; }
    """

    def __init__(self, lines: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._lines = lines[:9]

    def compose(self) -> ComposeResult:
        """The lines."""
        with VerticalScroll():
            yield Static(self._text(), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Copies, or goes."""
        event.stop()
        wanted = {"y": "1"}.get(event.key, event.key)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(self._lines):
            self.app.copy_to_clipboard(self._lines[int(wanted) - 1][1])
        self.dismiss(None)

    def _text(self) -> Text:
        text = Text()
        text.append("In a shell\n", style_of(self.app, Role.HEADING))
        for number, (title, line) in enumerate(self._lines, start=1):
            text.append(f"\n{number}  {title}\n", style_of(self.app, Role.MUTED))
            # SAFETY: names of files are a guest's; what is copied is the line itself.
            text.append(f"   {printable(line)}\n", style_of(self.app, Role.ACCENT))
        text.append("\nA number copies the line; any other key goes back.", style_of(self.app, Role.MUTED))
        return text
