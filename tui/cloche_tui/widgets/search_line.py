"""A line below the consoles in which is typed what to find in one."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events, on
from textual.message import Message
from textual.widgets import Input


class SearchLine(Input):
    """Shown while it is typed into."""

    DEFAULT_CSS = """
    SearchLine, SearchLine:focus {
        dock: bottom; display: none; height: 1; border: none; padding: 0 1; background: $panel; width: 1fr;
    }
    SearchLine.-asking { display: block; }
    """

    @dataclass
    class Wanted(Message):
        """This is to be found; empty: nothing."""

        text: str

    def __init__(self) -> None:
        super().__init__(
            compact=True, placeholder="find in what the console has shown; enter finds, esc leaves"
        )

    def ask(self, text: str) -> None:
        """Is there to be typed into."""
        self.add_class("-asking")
        self.value = text
        self.select_all()
        self.focus()

    def on_key(self, event: events.Key) -> None:
        """Leaves."""
        if event.key == "escape":
            event.stop()
            self._answer("")

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer(event.value)

    def _answer(self, text: str) -> None:
        self.remove_class("-asking")
        self.post_message(self.Wanted(text))
