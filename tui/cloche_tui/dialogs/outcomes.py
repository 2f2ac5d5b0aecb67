"""What becomes of several things that one action is about, each on its line, as it becomes known.

It may be left before all is done: what was begun goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.styles import text_of


class Outcomes(Dialog[None]):
    """See the module.

    Args:
        heading: what is done.
        names: of the things, by their keys.
    """

    DEFAULT_CSS = """
    Outcomes VerticalScroll { height: auto; max-height: 60vh; }
    """

    def __init__(self, heading: str, names: Mapping[str, str]) -> None:
        super().__init__()
        self.heading, self._names = heading, names
        self._outcomes: dict[str, tuple[bool, str]] = {}
        self.keys = "esc closes; what was begun goes on"

    def compose_body(self) -> Iterable[Widget]:
        """A line each."""
        with VerticalScroll():
            yield Static(id="outcomes", markup=False)

    def on_mount(self) -> None:
        """Shows what is known already."""
        super().on_mount()
        self.query_one(VerticalScroll).focus()
        self._show()

    def tell(self, key: str, *, is_done: bool, text: str) -> None:
        """What has become of one.

        Args:
            key: of the thing.
            is_done: whether it was done.
            text: a line for a person.
        """
        self._outcomes[key] = is_done, " ".join(text.split())
        if self.is_mounted and self.is_attached:
            self._show()

    def _show(self) -> None:
        lines = [self._line(key, name) for key, name in self._names.items()]
        self.query_one("#outcomes", Static).update(text_of(self.app, *lines))
        done = sum(is_done for is_done, _ in self._outcomes.values())
        if len(self._outcomes) == len(self._names):
            self.say(
                f"{done} of {len(self._names)} done", Role.GOOD if done == len(self._names) else Role.WARNING
            )
            self.show_keys("esc closes")

    def _line(self, key: str, name: str) -> Line:
        if key not in self._outcomes:
            return line(Span("… ", Role.MUTED), name)
        is_done, text = self._outcomes[key]
        return line(
            Span("✓ ", Role.GOOD) if is_done else Span("✗ ", Role.BAD),
            name,
            "  ",
            Span(text, Role.MUTED if is_done else Role.BAD),
        )
