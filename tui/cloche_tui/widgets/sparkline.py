"""A figure's course as bars some lines high, under a line that says what it is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from cloche_tui.model.figures import LEVELS
from cloche_tui.model.roles import Line, Role
from cloche_tui.widgets.columns import fit
from cloche_tui.widgets.styles import styles_of


class Sparkline(Widget):
    """See the module. Its height decides how fine the bars are; one line has only the title."""

    DEFAULT_CSS = """
    Sparkline { height: 5; width: 1fr; }
    """

    def __init__(self, *, role: Role = Role.ACCENT, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._role = role
        self._title: Line = ()
        self._values: tuple[float, ...] = ()
        self._top = 0.0

    def show(self, title: Line, values: Sequence[float], *, top: float | None = None) -> None:
        """Shows a course.

        Args:
            title: what it is, and how much now.
            values: the oldest first, a place each.
            top: what a whole bar stands for; else the largest.
        """
        shown = (title, tuple(values), max(values, default=0.0) if top is None else top)
        if shown != (self._title, self._values, self._top):
            self._title, self._values, self._top = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The title, or a line of the bars."""
        width, height = self.size
        styles, base = styles_of(self.app), self.rich_style
        if y == 0:
            pieces = fit(self._title, width)
        else:
            pieces = [(bar_lines(self._values, width, height - 1, self._top)[y - 1], self._role)]
        # Without colours what is to be found at once leans, and leaning bars are none.
        upright = Style(italic=False) if y else Style()
        return Strip([Segment(text, base + styles[role] + upright) for text, role in pieces], width)


def bar_lines(values: Sequence[float], width: int, height: int, top: float) -> list[str]:
    """The newest values as bars, the newest at the right; the highest line first."""
    full, levels = len(LEVELS), []
    for value in values[-width:] if width > 0 else ():
        share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
        # What is measured leaves a trace, however small it is.
        levels.append(max(round(share * full * height), 1))
    lines = []
    for below in range((height - 1) * full, -1, -full):
        bars = "".join(" " if level <= below else LEVELS[min(level - below, full) - 1] for level in levels)
        lines.append(bars.rjust(max(width, 0)))
    return lines
