"""The rows of a table, and how they become strips. Knows no widget: whoever has one says how wide and in which styles.

Rule: a row that looks as it did gives the very strip it gave, so that whoever shows it sees at once that nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from cloche_tui.model.roles import Line, Role, Span
from cloche_tui.widgets.columns import GAP, Column, Placed, fit, place_columns

_UP, _DOWN = " ▲", " ▼"
_MOST_KEPT = 400
"""Rows whose strips are kept: some screens of them."""

_Pieces = list[tuple[str, Role]]
_BETWEEN = (" " * GAP, Role.PLAIN)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: what is in its columns."""

    key: str
    cells: Mapping[str, Line]
    """By the keys of columns; one that is not there is empty."""
    is_marked: bool = False
    role: Role = Role.PLAIN
    """Of all of it, under the roles in its cells."""


class RowSource(Protocol):
    """Where the rows come from, in their order."""

    def __len__(self) -> int:
        """How many rows there are."""

    def row(self, index: int) -> TableRow | str:
        """One of them; or the key of one that is not here yet: the table is updated when it is."""

    def index_of(self, key: str) -> int | None:
        """Where the row of a key is; None: there is none, or nobody knows yet."""


class Painter:
    """Makes strips of rows.

    Args:
        columns: from the left; the width decides which of them are shown.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._width, self._base = 0, Style()
        self._styles: Mapping[Role, Style] = {}
        self.placed: tuple[Placed, ...] = ()
        """The columns there is room for."""
        self._kept: dict[str, tuple[TableRow, tuple[Role, ...], Strip]] = {}

    def use(self, width: int, base: Style, styles: Mapping[Role, Style]) -> None:
        """How wide the table is and how it looks, from now on; called before anything is painted."""
        if width != self._width:
            self.placed = place_columns(self._columns, width)
        elif base == self._base and styles is self._styles:
            return
        self._width, self._base, self._styles = width, base, styles
        self._kept.clear()

    def row(self, row: TableRow, under: tuple[Role, ...]) -> Strip:
        """A row on its line.

        Args:
            row: what is in it.
            under: roles that all of it has besides its own, such as being selected.
        """
        known = self._kept.get(row.key)
        if known is not None and known[1] == under and known[0] == row:
            return known[2]
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        strip = self._painted(row, under)
        self._kept[row.key] = row, under, strip
        return strip

    def _painted(self, row: TableRow, under: tuple[Role, ...]) -> Strip:
        pieces: _Pieces = []
        for placed in self.placed:
            line = row.cells.get(placed.column.key, ())
            pieces += fit(line, placed.width, is_right=placed.column.is_right)
            pieces.append(_BETWEEN)
        marked = (Role.MARKED,) if row.is_marked else ()
        return self._strip(pieces, (row.role, *marked, *under))

    def heading(self, sort: tuple[str, bool] | None) -> Strip:
        """The titles of the columns.

        Args:
            sort: the column the rows are sorted by, and whether from its largest on.
        """
        pieces: _Pieces = []
        for placed in self.placed:
            column, mark = placed.column, ""
            if sort is not None and sort[0] == column.key:
                mark = _DOWN if sort[1] else _UP
            title = Span(column.title[: max(placed.width - len(mark), 0)] + mark)
            pieces += fit((title,), placed.width, is_right=column.is_right)
            pieces.append(_BETWEEN)
        return self._strip(pieces, (Role.HEADING,))

    def text(self, line: Line) -> Strip:
        """A line of text in place of rows."""
        return self._strip([("  ", Role.PLAIN), *fit(line, max(self._width - 2, 0))])

    def column_at(self, x: int) -> str | None:
        """The key of the column at a place."""
        return next((at.column.key for at in self.placed if at.at <= x < at.at + at.width + GAP), None)

    def _strip(self, pieces: _Pieces, under: Sequence[Role] = ()) -> Strip:
        base, styles = self._base, self._styles
        for role in under:
            base += styles[role]
        segments = []
        # What is alike becomes one: whatever is done with a strip later is done for each of its segments.
        for role, alike in groupby(pieces, key=_role_of):
            if text := "".join(text for text, _ in alike):
                segments.append(Segment(text, base if role is Role.PLAIN else base + styles[role]))
        return Strip(segments).adjust_cell_length(self._width, base)


def _role_of(piece: tuple[str, Role]) -> Role:
    return piece[1]
