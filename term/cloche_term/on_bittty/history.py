"""The scrollback of the fallback emulator: rows that have left the primary screen at its top.

Rules: it is bounded in lines and in bytes, the oldest rows go first. Rows are numbered from the console's beginning;
`dropped` is the number of the oldest one kept, and only grows until a resize changes how many rows the same text takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bittty.terminals.scrollback import ScrollbackLine

from cloche_term.on_bittty.rows import Cell
from cloche_term.on_bittty.wrapping import Row
from cloche_term.terminal import MOST_SCROLLBACK_BYTES

# What Python takes for one row, one of its cells, and one change of style within it: measured, and rounded up.
_ROW_BYTES = 400
_CELL_BYTES = 12
_STYLE_BYTES = 400


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row, without its trailing blanks unless its line goes on in the next one."""

    line: Any
    is_wrapped: bool
    size: int

    @property
    def cells(self) -> list[Cell]:
        """Its cells; those that are missing at its end are blank."""
        cells: list[Cell] = self.line.cells(0, len(self.line))
        return cells


class History:
    """The rows kept, oldest first."""

    def __init__(self, most_lines: int) -> None:
        self.dropped = 0
        self._most_lines = most_lines
        self._rows: deque[HistoryRow] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> HistoryRow:
        return self._rows[index]

    def __iter__(self) -> Iterator[HistoryRow]:
        return iter(self._rows)

    @property
    def end(self) -> int:
        """The number of the row that comes next: the screen's first."""
        return self.dropped + len(self._rows)

    def append(self, cells: Sequence[Cell], *, is_wrapped: bool) -> None:
        """Takes a row that has left the screen."""
        self._add(cells, is_wrapped=is_wrapped)
        while self._rows and (len(self._rows) > self._most_lines or self._size > MOST_SCROLLBACK_BYTES):
            self._size -= self._rows.popleft().size
            self.dropped += 1

    def take_back(self, count: int) -> list[HistoryRow]:
        """Removes the newest rows, for the screen to show them again; oldest first."""
        taken = [self._rows.pop() for _ in range(min(count, len(self._rows)))]
        self._size -= sum(row.size for row in taken)
        return taken[::-1]

    def clear(self) -> None:
        """Forgets all rows; their numbers stay used."""
        self.dropped += len(self._rows)
        self._rows.clear()
        self._size = 0

    def replace(self, rows: Iterable[Row]) -> None:
        """Takes other rows for those that are kept: the same text in another width."""
        self._rows.clear()
        self._size = 0
        for row in rows:
            self.append(row.cells, is_wrapped=row.is_wrapped)

    def _add(self, cells: Sequence[Cell], *, is_wrapped: bool) -> None:
        line = ScrollbackLine.of(cells, not is_wrapped)
        styles = line.styles
        is_even = styles.count(styles[0]) == len(styles) if styles else True
        changes = [] if is_even else [after for before, after in pairwise(styles) if after is not before]
        links = sum(len(style.hyperlink or "") for style in (*styles[:1], *changes))
        size = (
            _ROW_BYTES + _CELL_BYTES * len(line) + _STYLE_BYTES * len(changes) + 4 * (len(line.text) + links)
        )
        self._rows.append(HistoryRow(line, is_wrapped, size))
        self._size += size
