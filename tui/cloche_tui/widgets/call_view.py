"""A call to read: its lines in rows as wide as there is room, with a cursor that folds and unfolds.

It shows what `model.call_text` says and knows nothing of approvals. What is folded is the owner's to say: `FoldAsked`.

Rule, since a guest chooses how many lines there are: rows are made as far as somebody has got, and always further than is
seen; where the cursor is to go further than that, a few at a time, with everything else in between.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from cloche_tui.model.roles import Role
from cloche_tui.widgets.call_rows import CallRows
from cloche_tui.widgets.styles import styles_of

_LEAST_WIDTH = 8
_AT_ONCE = 1000
"""Rows; some 10 ms."""


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
        self._rows = CallRows((), _LEAST_WIDTH)
        self._cursor = 0
        """The number of a line: where it is, or where it is to go once there are so many."""
        self._sought: Path | None = None
        """Where the cursor is to go as soon as that is found."""
        self._is_going_on = False

    def show(self, lines: Iterable[CallLine], *, is_other: bool = False) -> None:
        """Shows lines.

        Args:
            lines: all of them; taken as they are needed.
            is_other: whether they are another call's: it is shown from its beginning.
        """
        self._rows = CallRows(lines, self._width)
        self._sought = None
        if is_other:
            self._cursor = 0
            self.scroll_to(y=0, animate=False, force=True)
        self._make()

    @property
    def fold_here(self) -> Path | None:
        """What can be folded or unfolded at the cursor; away from any, or without the focus, what is folded first."""
        lines = self._rows.lines
        here = lines[self._here].fold if lines and self.has_focus else None
        return here if here is not None else next((one.fold for one in lines if one.is_folded), None)

    def go_to_fold(self, path: Path) -> None:
        """Puts the cursor where something is folded or unfolded."""
        self._sought = path
        self._seek(0)
        self._make()
        self._bring_cursor()

    def action_move(self, lines: int) -> None:
        """Goes so many lines down."""
        self._sought = None
        self._cursor = max(self._here + lines, 0)
        self._make()
        self._bring_cursor()

    def action_page(self, pages: int) -> None:
        """Goes a screen further."""
        self.action_move(pages * max(self.size.height - 1, 1))

    def on_click(self, event: events.Click) -> None:
        """A click folds or unfolds."""
        offset = event.get_content_offset(self)
        row = None if offset is None else self.scroll_offset.y + offset.y
        if row is None or row >= len(self._rows.made):
            return
        event.stop()
        self._sought = None
        self._cursor = self._rows.made[row][1]
        self.refresh()
        if (path := self._rows.lines[self._cursor].fold) is not None:
            self.post_message(self.FoldAsked(path))

    def render_line(self, y: int) -> Strip:
        """A row."""
        width, base = self.size.width, self.rich_style
        row = self.scroll_offset.y + y
        if row >= len(self._rows.made):
            return Strip.blank(width, base)
        line, number = self._rows.made[row]
        styles = styles_of(self.app)
        if self.has_focus and number == self._here:
            base += styles[Role.SELECTED]
        segments = [
            Segment(span.text, base if span.role is Role.PLAIN else base + styles[span.role]) for span in line
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def on_resize(self) -> None:
        """Another width makes other rows."""
        self._rows.wrap_to(self._width)
        self._make()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Who scrolls wants to see more."""
        super().watch_scroll_y(old_value, new_value)
        if self._has_arrived:
            self._make()

    def on_focus(self) -> None:
        """The cursor is seen."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is not seen any more."""
        self.refresh()

    @property
    def _width(self) -> int:
        # The bar at the right comes and goes with the number of rows: its place is always left free.
        return max(self.size.width, _LEAST_WIDTH) - 1

    @property
    def _here(self) -> int:
        """The line that the cursor has got to."""
        return min(self._cursor, max(len(self._rows.lines) - 1, 0))

    @property
    def _has_arrived(self) -> bool:
        """Whether the cursor is where it is to be."""
        return self._sought is None and self._cursor < max(len(self._rows.lines), 1)

    def _make(self) -> None:
        """Makes rows as far as they are wanted; those for which that takes long, a little later."""
        rows, lines = self._rows, len(self._rows.lines)
        if not self._is_enough():
            rows.make(_AT_ONCE)
            self._seek(lines)
        if rows.is_whole:
            self._cursor, self._sought = self._here, None
        self.virtual_size = Size(self.size.width, len(rows.made))
        self.refresh()
        if not self._is_going_on and not self._is_enough():
            self._is_going_on = True
            self.call_after_refresh(self._go_on)

    def _go_on(self) -> None:
        self._is_going_on = False
        self._make()
        self._bring_cursor()

    def _is_enough(self) -> bool:
        rows = self._rows
        seen = self.scroll_offset.y + 2 * self.size.height
        return rows.is_whole or (self._has_arrived and seen < len(rows.made))

    def _seek(self, start: int) -> None:
        """Looks for what is sought, in the lines from this one on."""
        for number in range(start, len(self._rows.lines)) if self._sought is not None else ():
            if self._rows.lines[number].fold == self._sought:
                self._cursor, self._sought = number, None
                return

    def _bring_cursor(self) -> None:
        first = self._rows.first_row_of(self._here)
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if first < top:
            self.scroll_to(y=first, animate=False, force=True)
        elif first >= top + height:
            self.scroll_to(y=first - height + 1, animate=False, force=True)
        self.refresh()
