"""What dialogs look like, and what they have in common: a heading, a body, a line that says something, the keys.

Rule: escape leaves a dialog with nothing done. What a key does is written in its last line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from cloche_tui.dialogs.modal import Modal
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.styles import text_of

T = TypeVar("T")


class Dialog(Modal[T]):
    """See the module. Its answer is None where it was left."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > .box {
        width: 76; max-width: 96%; height: auto; max-height: 94%; padding: 1 2 0 2; background: $surface;
        border: round $primary;
    }
    Dialog > .box > .line { height: auto; }
    Dialog > .box > #told { margin-top: 1; display: none; }
    Dialog > .box > #told.-said { display: block; }
    Dialog > .box > #keys { margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    heading: str = ""
    keys: str = "esc leaves"

    def compose(self) -> ComposeResult:
        """The box, with the body of the dialog in it."""
        with Vertical(classes="box") as box:
            # A plain text would be read as markup, in which a name could be a link to an action.
            box.border_title = text_of(self.app, line(self.heading))
            yield from self.compose_body()
            yield Static(id="told", classes="line", markup=False)
            yield Static(id="keys", classes="line", markup=False)

    def compose_body(self) -> Iterable[Widget]:
        """What the dialog is for."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Says what the keys do."""
        self.show_keys(self.keys)

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """Shows a line; an empty one takes it away. Foreign text in it is shown as it is, never as markup."""
        self.say_line(line(Span(text, role)) if (text := " ".join(text.split())) else ())

    def say_line(self, told: Line) -> None:
        """Shows a line that is made of printable text; an empty one takes it away."""
        place = self.query_one("#told", Static)
        place.update(text_of(self.app, told))
        place.set_class(bool(told), "-said")

    def show_keys(self, text: str) -> None:
        """What the keys do now."""
        self.query_one("#keys", Static).update(text_of(self.app, (Span(text, Role.MUTED),)))

    def action_leave(self) -> None:
        """Leaves with nothing done."""
        self.dismiss(None)
