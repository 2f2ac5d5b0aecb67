"""The first line: the views with what waits in them, and which hub this is, in the hub's colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from cloche_tui.messages import RunAction
from cloche_tui.model.roles import Role
from cloche_tui.themes import NO_MARK, HubMark
from cloche_tui.widgets.styles import style_of

_BETWEEN = " · "


@dataclass(frozen=True, slots=True)
class Tab:
    """A view as the heading names it."""

    key: str
    """Empty: it has none."""
    title: str
    action: str
    badge: int = 0
    """How many things wait in it."""


class Heading(Widget):
    """The first line of the screen."""

    DEFAULT_CSS = """
    Heading { dock: top; height: 1; background: $panel; color: $foreground; }
    """

    tabs: reactive[Sequence[Tab]] = reactive((), init=False)
    current: reactive[str] = reactive("", init=False)
    """The action of the view that is shown."""
    mark: reactive[HubMark] = reactive(NO_MARK, init=False)
    """What this hub is told by."""
    place: reactive[Text] = reactive(Text(), init=False)
    """What stands at the right: the hub and how it is."""

    def render(self) -> Text:
        """The line; what does not fit is left out from the right's beginning, the views stay."""
        line = Text(no_wrap=True, overflow="crop")
        line.append(f" {self.mark.name or 'Cloche'} ", self.mark.style)
        self._ends: list[tuple[int, str]] = [(line.cell_len, "")]
        for tab in self.tabs:
            is_current = tab.action == self.current
            line.append(
                f" {f'{tab.key} {tab.title}'.lstrip()}",
                style_of(self.app, Role.SELECTED if is_current else Role.PLAIN),
            )
            if tab.badge:
                line.append(f" ●{tab.badge}", style_of(self.app, Role.WARNING))
            line.append(" ", style_of(self.app, Role.SELECTED if is_current else Role.PLAIN))
            self._ends.append((line.cell_len, tab.action))
        place = self.place.copy()
        room = self.size.width - line.cell_len - 2
        while place.cell_len > room and _BETWEEN in place.plain:
            # The least important of it stands last, and half of it tells nothing.
            place = place[: place.plain.rindex(_BETWEEN)]
        place.truncate(max(room, 0), overflow="ellipsis")
        line.append(" " * max(room - place.cell_len + 1, 1))
        line.append_text(place)
        line.append(" ")
        return line

    def on_click(self, event: events.Click) -> None:
        """Shows the view that was clicked on."""
        for end, action in self._ends:
            if event.x < end:
                if action:
                    self.post_message(RunAction(action))
                return
