"""The line that says that what is shown is not, or no longer, what there is."""

from __future__ import annotations

from datetime import datetime, tzinfo

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from cloche_tui.model.link import LinkState, Lost, banner
from cloche_tui.model.roles import Line
from cloche_tui.widgets.styles import style_of


class Banner(Widget):
    """It stands above everything while the hub is away, and is not there otherwise.

    Args:
        zone: in which times of day are told; None: this machine's.
    """

    DEFAULT_CSS = """
    Banner { height: 1; display: none; background: $warning 15%; }
    Banner.-lost { background: $error 20%; }
    Banner:ansi, Banner.-lost:ansi { background: ansi_default; text-style: reverse; }
    """

    words: reactive[Line] = reactive((), init=False)

    def __init__(self, *, zone: tzinfo | None = None) -> None:
        super().__init__()
        self._zone = zone

    def show(self, link: LinkState, *, now: datetime) -> None:
        """Shows how the connection is now; to be called each second, since what it says has an age."""
        # Before its first layout it has no width of its own.
        width = (self.size.width or self.app.size.width) - 2
        self.words = banner(link, now, width, zone=self._zone)
        self.set_class(isinstance(link, Lost), "-lost")
        self.display = bool(self.words)

    def render(self) -> Text:
        """The line."""
        text = Text(" ", no_wrap=True, overflow="ellipsis")
        for span in self.words:
            text.append(span.text, style_of(self.app, span.role))
        return text
