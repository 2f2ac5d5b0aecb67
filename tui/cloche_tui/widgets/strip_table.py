"""A table of as many rows as there are: only those on the screen are ever asked for, and only changed ones painted anew.

What it is not: a model. A `RowSource` has the rows and their order; the table shows them, scrolls, and says what the
person wants. What is selected is a key and not a row: it stays selected wherever its row goes.

Rules:
- `update` is called whenever the source may have changed. It costs what is on the screen, however many rows there are.
- A key or a click that selects tells `on_select` at once, before anything else can move the rows.
- Text of the source is never markup. `model.roles.line` has made it printable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cloche_tui.model.roles import Line, Role, Span
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.styles import styles_of
from cloche_tui.widgets.table_paint import Painter, RowSource, TableRow

__all__ = ["Column", "RowSource", "StripTable", "TableRow"]

_NOT_YET: Line = (Span("…", Role.MUTED),)
_ABOVE_EMPTY = 2
"""The line that what is said of an empty table begins on."""


class StripTable(ScrollView, can_focus=True):
    """See the module.

    Args:
        columns: from the left; the width decides which of them are shown.
        source: the rows.
        on_select: told of the key a person has selected.
        empty: what is said where there are no rows.
    """

    DEFAULT_CSS = """
    StripTable { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="table.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="table.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="table.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="table.page_down"),
        Binding("home", "first", "First", show=False, id="table.first"),
        Binding("end", "last", "Last", show=False, id="table.last"),
    ]

    @dataclass
    class Entered(Message):
        """Somebody has clicked twice on a row. (Enter is an action like others.)"""

        key: str

    @dataclass
    class HeadingClicked(Message):
        """Somebody wants the rows sorted by a column."""

        column: str

    @dataclass
    class CellClicked(Message):
        """Somebody has clicked into a row, which is selected now."""

        key: str
        column: str | None

    @dataclass
    class Viewed(Message):
        """Other rows are on the screen."""

        first: int
        count: int
        is_at_end: bool

    def __init__(
        self,
        columns: Sequence[Column],
        source: RowSource,
        *,
        on_select: Callable[[str], None] | None = None,
        empty: Sequence[Line] = (),
        id: str | None = None,  # noqa: A002 - as every widget calls it
    ) -> None:
        super().__init__(id=id)
        self._source, self._on_select = source, on_select
        self._painter = Painter(columns)
        self._if_empty = tuple(empty)
        self._selected_key: str | None = None
        self._selected_at: int | None = None
        """Where that row was when it was looked for last."""
        self._sorted_by: tuple[str, bool] | None = None
        self._fetched: dict[int, TableRow | str] = {}
        self._lines: dict[int, Strip] = {}
        """What is on the screen."""
        self._wanted_key: str | None = None
        """Of a row that is to be selected when it is here, wherever it is then."""
        self._last_viewed: tuple[int, int, bool] | None = None
        self._base: Style | None = None
        """What is under all text."""

    # What is shown.

    @property
    def selected_key(self) -> str | None:
        """The key that is selected, whether or not there is a row of it now."""
        return self._selected_key

    @property
    def visible_rows(self) -> range:
        """The rows on the screen."""
        first = self.scroll_offset.y
        return range(first, max(min(first + self._room, len(self._source)), first))

    @property
    def is_at_end(self) -> bool:
        """Whether the last row is on the screen."""
        return self.scroll_offset.y + self._room >= len(self._source)

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """The keys of the columns there is room for."""
        return tuple(placed.column.key for placed in self._painter.placed)

    def update(self, *, select: str | None = None) -> None:
        """The source may have changed: paints what looks different now. The selected row stays on the screen if it was.

        Args:
            select: the key that is selected from now on; None: as it was.
        """
        was_visible = self._selected_at in self.visible_rows
        self._fetched.clear()
        self._fit_height()
        if select is not None:
            self._selected_key = select
        self._look_for_selected()
        if (wanted_at := self._wanted_at) is not None:
            self.go_to(wanted_at)
        elif was_visible and self._selected_at is not None:
            self._bring(self._selected_at)
        self._repaint_changed()
        self._say_what_is_viewed()

    def select(self, key: str | None) -> None:
        """Selects the row of a key and shows it, without telling `on_select`.

        Args:
            key: it need not be there yet; None: none is selected.
        """
        self._wanted_key, self._selected_key = None, key
        self._look_for_selected()
        self._fit_height()
        if self._selected_at is not None:
            self._bring(self._selected_at)
        self._repaint_changed()

    def go_to(self, index: int) -> None:
        """Selects a row as a person does: one that is not here yet when it is."""
        if not len(self._source):
            return
        index = min(max(index, 0), len(self._source) - 1)
        self._fit_height()
        self._bring(index)
        row = self._row(index)
        self._wanted_key = row if isinstance(row, str) else None
        if isinstance(row, str):
            return
        is_other, self._selected_key, self._selected_at = row.key != self._selected_key, row.key, index
        if self._on_select is not None:
            self._on_select(row.key)
        if is_other:
            self._repaint_changed()

    def show_sort(self, column: str, *, is_descending: bool) -> None:
        """Marks the column that the rows are sorted by."""
        if self._sorted_by != (column, is_descending):
            self._sorted_by = (column, is_descending)
            self.refresh()

    def show_empty(self, lines: Sequence[Line]) -> None:
        """What is said where there are no rows."""
        if self._if_empty != tuple(lines):
            self._if_empty = tuple(lines)
            self.refresh()

    # What a person does.

    def action_move(self, rows: int) -> None:
        """Selects another row, so many further down."""
        self._look_for_selected()
        wanted_at = self._wanted_at
        index = self._selected_at if wanted_at is None else wanted_at
        # Without a selection it begins with what is on the screen.
        self.go_to(self.scroll_offset.y if index is None else index + rows)

    def action_page(self, pages: int) -> None:
        """Selects a row a screen further down."""
        self.action_move(pages * max(self._room - 1, 1))

    def action_first(self) -> None:
        """Selects the first row."""
        self.go_to(0)

    def action_last(self) -> None:
        """Selects the last row."""
        self.go_to(len(self._source) - 1)

    def on_click(self, event: events.Click) -> None:
        """A click selects, a second one enters; one on a heading asks for a sort."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        column = self._painter.column_at(offset.x)
        if offset.y == 0:
            if column is not None:
                self.post_message(self.HeadingClicked(column))
            return
        index = self.scroll_offset.y + offset.y - 1
        if index >= len(self._source) or isinstance(row := self._row(index), str):
            return
        self.go_to(index)
        self.post_message(self.Entered(row.key) if event.chain == 2 else self.CellClicked(row.key, column))

    # Painting.

    def render_line(self, y: int) -> Strip:
        """A line of the widget: the heading, a row, or what is said where there are none."""
        strip = self._line(y)
        self._lines[y] = strip
        return strip

    def _line(self, y: int) -> Strip:
        if self._base is None:
            # It costs more than a line, so it is asked for only when it may be another.
            self._base = self.rich_style
        # What the bar at the right covers is no room for a column.
        width = self.size.width - self.scrollbar_size_vertical
        self._painter.use(width, self._base, styles_of(self.app))
        if y == 0:
            return self._painter.heading(self._sorted_by)
        index = self.scroll_offset.y + y - 1
        if index < len(self._source):
            row = self._row(index)
            if isinstance(row, str):
                return self._painter.text(_NOT_YET)
            return self._painter.row(row, self._under(row))
        said = y - _ABOVE_EMPTY
        is_said = not len(self._source) and 0 <= said < len(self._if_empty)
        return self._painter.text(self._if_empty[said] if is_said else ())

    def _under(self, row: TableRow) -> tuple[Role, ...]:
        if row.key != self._selected_key:
            return ()
        return (Role.SELECTED,) if self.has_focus else (Role.HEADING,)

    # Keeping up.

    @property
    def _room(self) -> int:
        """Rows there is room for."""
        return max(self.size.height - 1, 0)

    def _row(self, index: int) -> TableRow | str:
        if index not in self._fetched:
            # Whoever scrolls through a million rows leaves most of them behind.
            if len(self._fetched) > 4 * max(self._room, 1):
                self._fetched.clear()
            self._fetched[index] = self._source.row(index)
        return self._fetched[index]

    @property
    def _wanted_at(self) -> int | None:
        return None if self._wanted_key is None else self._source.index_of(self._wanted_key)

    def _look_for_selected(self) -> None:
        key = self._selected_key
        self._selected_at = None if key is None else self._source.index_of(key)

    def _fit_height(self) -> None:
        wanted = Size(self.size.width, len(self._source) + 1)
        if self.virtual_size != wanted:
            self.virtual_size = wanted

    def _repaint_changed(self) -> None:
        """Has those lines painted that would look different."""
        if not self._lines or not self.is_attached or not self.is_on_screen:
            return
        width, height = self.size
        changed = [y for y in range(1, height) if not _is_same(self._line(y), self._lines.get(y))]
        if len(changed) * 3 > height * 2:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _bring(self, index: int) -> None:
        """Has a row on the screen."""
        top, room = self.scroll_offset.y, self._room
        if index < top or room <= 0:
            self.scroll_to(y=index, animate=False, force=True)
        elif index >= top + room:
            self.scroll_to(y=index - room + 1, animate=False, force=True)

    def _say_what_is_viewed(self) -> None:
        rows = self.visible_rows
        viewed = (rows.start, len(rows), self.is_at_end)
        if viewed != self._last_viewed:
            self._last_viewed = viewed
            self.post_message(self.Viewed(*viewed))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are on the screen."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._say_what_is_viewed()

    def on_resize(self) -> None:
        """Another width has room for other columns, another height for other rows."""
        self._lines.clear()
        self._fit_height()
        if self._selected_at is not None:
            self._bring(self._selected_at)
        self.refresh()
        self._say_what_is_viewed()

    def notify_style_update(self) -> None:
        """Colours of the style sheet are others."""
        super().notify_style_update()
        self._base = None


def _is_same(strip: Strip, other: Strip | None) -> bool:
    return strip is other or strip == other
