"""One of a few words, all in sight: left and right go from one to the next, a click takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.widget import Widget

from cloche_tui.model.roles import Role, Span
from cloche_tui.widgets.styles import text_of


class Choice(Widget, can_focus=True):
    """See the module.

    Args:
        words: at least one; the first is chosen.
    """

    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "go(-1)", "Before", show=False),
        Binding("right,down,space", "go(1)", "Next", show=False),
    ]
    index: reactive[int] = reactive(0)

    def __init__(self, words: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._words = tuple(words)

    @property
    def value(self) -> str:
        """The chosen word."""
        return self._words[self.index]

    def action_go(self, steps: int) -> None:
        """Chooses another word; behind the last comes the first."""
        self.index = (self.index + steps) % len(self._words)

    def on_click(self, event: events.Click) -> None:
        """Chooses the word that was clicked."""
        at = 0
        for index, word in enumerate(self._words):
            at += len(word) + 3
            if event.x < at:
                self.index = index
                return

    def render(self) -> Text:
        """The words; the chosen one in brackets."""
        chosen = Role.SELECTED if self.has_focus else Role.ACCENT
        spans = [
            Span(f"[{word}] ", chosen) if index == self.index else Span(f" {word}  ", Role.MUTED)
            for index, word in enumerate(self._words)
        ]
        return text_of(self.app, tuple(spans))
