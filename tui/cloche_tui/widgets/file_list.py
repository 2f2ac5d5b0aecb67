"""A folder that a person goes through: a line that says which, and what is in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from cloche_tui.model import file_text
from cloche_tui.model.file_panes import Pane
from cloche_tui.model.roles import Line
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.strip_table import StripTable
from cloche_tui.widgets.styles import text_of
from cloche_tui.widgets.table_paint import TableRow

_COLUMNS = (
    Column("mark", "", 1),
    Column("name", "Name", 12, most=400),
    Column("size", "Size", 8, rank=1, is_right=True),
    Column("changed", "Changed", 12, rank=2),
    Column("mode", "Mode", 10, rank=3),
)


class FileList(Vertical):
    """See the module. It shows a pane as it is whenever it is told to.

    Args:
        pane: the folder.
        on_select: told of the key a person has gone to, once the pane knows of it.
    """

    DEFAULT_CSS = """
    FileList { width: 1fr; height: 1fr; }
    FileList > .heading { height: 1; }
    """

    def __init__(self, pane: Pane, *, on_select: Callable[[], object], id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.pane = pane
        self._on_select = on_select
        self._now: datetime | None = None
        self._heading: Callable[[int], Line] = lambda _width: ()
        """The line above, in so many places."""

    def compose(self) -> ComposeResult:
        """The line and the table."""
        yield Static(classes="heading", markup=False)
        yield StripTable(_COLUMNS, _Rows(self), on_select=self._select)

    @property
    def table(self) -> StripTable:
        """What has the focus."""
        return self.query_one(StripTable)

    def show(self, *, whose: str, trouble: str, is_active: bool, now: datetime, beside: str = "") -> None:
        """Shows the pane as it is.

        Args:
            whose: this host, or the sandbox's name.
            trouble: why nothing can be shown; empty: it can.
            is_active: whether the person is there.
            now: the time.
            beside: what the other folder is, where that is not on the screen.
        """
        self._now = now
        self._heading = lambda width: file_text.heading(
            self.pane, whose, width=width, is_active=is_active, beside=beside
        )
        self._show_heading()
        self.table.show_empty(file_text.empty(self.pane, trouble))
        self.table.show_sort(self.pane.sort, is_descending=self.pane.is_descending)
        row = self.pane.selected
        self.table.update(select=None if row is None else row.key)

    def _show_heading(self) -> None:
        self.query_one(".heading", Static).update(text_of(self.app, self._heading(self.size.width)))

    def on_resize(self) -> None:
        """There is another room for the path."""
        self._show_heading()

    def row(self, key: str) -> TableRow:
        """A row of the table."""
        is_marked = key in self.pane.marks
        now = self._now or datetime.now().astimezone()
        return TableRow(key, file_text.cells(self.pane.row(key), now, is_marked=is_marked), is_marked)

    def _select(self, key: str) -> None:
        self.pane.select(key)
        self._on_select()


class _Rows:
    """The pane as a table asks for it."""

    def __init__(self, shown: FileList) -> None:
        self._shown = shown

    def __len__(self) -> int:
        return len(self._shown.pane)

    def row(self, index: int) -> TableRow:
        """A row."""
        return self._shown.row(self._shown.pane.order[index])

    def index_of(self, key: str) -> int | None:
        """Where it is."""
        return self._shown.pane.index_of(key)
