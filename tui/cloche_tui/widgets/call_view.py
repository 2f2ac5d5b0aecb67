"""A call to read: its lines in rows as wide as there is room, with a cursor that folds and unfolds.

It shows what `model.call_text` says and knows nothing of approvals. What is folded is the owner's to say: `FoldAsked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cloche_tui.model.call_text import CallLine, Path
from cloche_tui.model.roles import Line, Role
from cloche_tui.widgets.styles import styles_of
from cloche_tui.widgets.wrapping import wrap

_LEAST_WIDTH = 8


class CallView(ScrollView, can_focus=True):
    """See the module."""

    DEFAULT_CSS = """
    CallView { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="call.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="call.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="call.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="call.page_down"),
        Binding("home", "move(-1000000)", "First", show=False, id="call.first"),
        Binding("end", "move(1000000)", "Last", show=False, id="call.last"),
    ]

    @dataclass
    class FoldAsked(Message):
        """Something is to be folded, or unfolded."""

        path: Path

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._lines: Sequence[CallLine] = ()
        self._rows: Sequence[tuple[Line, int]] = ()
        """Each row, and the number of its line."""
        self._cursor = 0
        """The number of a line."""

    def show(self, lines: Sequence[CallLine], *, is_other: bool = False) -> None:
        """Shows lines.

        Args:
            lines: all of them.
            is_other: whether they are another call's: it is shown from its beginning.
        """
        self._lines = lines
        self._cursor = 0 if is_other else min(self._cursor, max(len(lines) - 1, 0))
        self._lay_out()
        if is_other:
            self.scroll_to(y=0, animate=False, force=True)

    @property
    def fold_here(self) -> Path | None:
        """What can be folded or unfolded at the cursor; away from any, or without the focus, what is folded first."""
        here = self._lines[self._cursor].fold if self._lines and self.has_focus else None
        return here if here is not None else next((one.fold for one in self._lines if one.is_folded), None)

    def go_to_fold(self, path: Path) -> None:
        """Puts the cursor where something is folded or unfolded."""
        self._cursor = next(
            (number for number, one in enumerate(self._lines) if one.fold == path), self._cursor
        )
        self._bring_cursor()

    def action_move(self, lines: int) -> None:
        """Goes so many lines down."""
        self._cursor = min(max(self._cursor + lines, 0), max(len(self._lines) - 1, 0))
        self._bring_cursor()

    def action_page(self, pages: int) -> None:
        """Goes a screen further."""
        self.action_move(pages * max(self.size.height - 1, 1))

    def on_click(self, event: events.Click) -> None:
        """A click folds or unfolds."""
        offset = event.get_content_offset(self)
        row = None if offset is None else self.scroll_offset.y + offset.y
        if row is None or row >= len(self._rows):
            return
        event.stop()
        self._cursor = self._rows[row][1]
        self.refresh()
        if (path := self._lines[self._cursor].fold) is not None:
            self.post_message(self.FoldAsked(path))

    def render_line(self, y: int) -> Strip:
        """A row."""
        width, base = self.size.width, self.rich_style
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(width, base)
        line, number = self._rows[row]
        styles = styles_of(self.app)
        if self.has_focus and number == self._cursor:
            base += styles[Role.SELECTED]
        segments = [
            Segment(span.text, base if span.role is Role.PLAIN else base + styles[span.role]) for span in line
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def on_resize(self) -> None:
        """Another width makes other rows."""
        self._lay_out()

    def on_focus(self) -> None:
        """The cursor is seen."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is not seen any more."""
        self.refresh()

    def _lay_out(self) -> None:
        # The bar at the right comes and goes with the number of rows: its place is always left free.
        width = max(self.size.width, _LEAST_WIDTH) - 1
        self._rows = [
            (row, number)
            for number, one in enumerate(self._lines)
            for row in wrap(one.line, width, indent=one.indent)
        ]
        self.virtual_size = Size(self.size.width, len(self._rows))
        self.refresh()

    def _bring_cursor(self) -> None:
        first = next((at for at, (_, number) in enumerate(self._rows) if number == self._cursor), 0)
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if first < top:
            self.scroll_to(y=first, animate=False, force=True)
        elif first >= top + height:
            self.scroll_to(y=first - height + 1, animate=False, force=True)
        self.refresh()
