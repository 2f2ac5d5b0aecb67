"""The last line: what the keys do here and now, the most wanted first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from cloche_tui.messages import RunAction
from cloche_tui.model.roles import Role
from cloche_tui.widgets.styles import style_of

WHILE_DRIVING = "ctrl+] leaves, twice at once types it; every other key is the console's"
_HELP = "help.show"
_NAMES = {
    "escape": "esc", "space": "space", "question_mark": "?", "shift+tab": "⇧tab", "pageup": "pgup", "pagedown": "pgdn",
}  # fmt: skip

Hint: TypeAlias = tuple[str, str, str]
"""Key, word and action's id."""


def key_name(key: str) -> str:
    """A key as people read it."""
    return _NAMES.get(key, key)


class Footer(Widget):
    """The last line of the screen."""

    DEFAULT_CSS = """
    Footer { height: 1; background: $panel; color: $foreground; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    hints: reactive[Sequence[Hint]] = reactive((), init=False)
    """As far as there is room."""
    filter: reactive[str] = reactive("", init=False)
    """What the list is filtered by, so that nobody takes a part of it for all; empty: nothing."""
    driving: reactive[str] = reactive("", init=False)
    """What the keys do while a console has them all; empty: none has."""
    said: reactive[Text | None] = reactive(None, init=False)
    """A line for the person, in place of the hints for some seconds."""

    def render(self) -> Text:
        """The line."""
        self._ends: list[tuple[int, str]] = []
        if self.said is not None:
            return self.said
        if self.driving:
            return Text(
                f" {self.driving}", style_of(self.app, Role.DRIVING), no_wrap=True, overflow="ellipsis"
            )
        line = Text(no_wrap=True, overflow="crop")
        kept = Text(f" /{self.filter} " if self.filter else "", style_of(self.app, Role.WARNING))
        kept.truncate(self.size.width // 3, overflow="ellipsis")
        for key, word, action in _fitting(self.hints, self.size.width - kept.cell_len):
            # The key's style is its own: as that of the whole it would be the word's, too.
            line.append_text(
                Text.assemble((f" {key_name(key)} ", style_of(self.app, Role.ACCENT)), f"{word} ")
            )
            self._ends.append((line.cell_len, action))
        line.pad_right(self.size.width - line.cell_len - kept.cell_len)
        return line.append_text(kept)

    def on_click(self, event: events.Click) -> None:
        """Does what was clicked on."""
        for end, action in self._ends:
            if event.x < end:
                self.post_message(RunAction(action))
                return


def _fitting(hints: Sequence[Hint], width: int) -> Sequence[Hint]:
    """The hints there is room for: the last ones go first, but who wants help is never left without its key."""
    kept = list(hints)
    while kept and sum(cell_len(f" {key_name(key)} {word} ") for key, word, _ in kept) > width:
        others = [hint for hint in kept if hint[2] != _HELP]
        kept.remove(others[-1] if others else kept[-1])
    return kept
