"""A console painted into a window of another size than its own: a part of it, or all of it with room around. Pure.

    ┌──────────────────┐     A window that is larger shows a dim border around the console; in one that is smaller the
    │ the console      │     part is shown that has the cursor. The last line says who drives and what the keys are.
    │            ╎     │
    │╌╌╌╌╌╌╌╌╌╌╌╌┘     │
    │ box/1 · …        │
    └──────────────────┘

Rule: only rows that look different from how they were painted last are painted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.cli.columns import cut, padded
from cloche.cli.output import clean_line
from cloche.cli.viewing.styles import cells_of

if TYPE_CHECKING:
    from cloche_term import Cursor, CursorShape, Run, Terminal

_DIM = "\x1b[0;2m"
_REVERSE = "\x1b[0;7m"
_SHAPES = {"block": 2, "underline": 4, "bar": 6}


class Painter:
    """Paints one terminal, again and again, into one window."""

    def __init__(self, terminal: Terminal, rows: int, cols: int) -> None:
        """Begins with a window of which nothing is known.

        Args:
            terminal: what is painted; `update` is called by nobody else.
            rows, cols: of the window.
        """
        self._terminal, self._rows, self._cols = terminal, rows, cols
        self._top = self._left = 0
        self._runs: dict[int, tuple[Run, ...]] = {}
        self._painted: dict[int, str] = {}
        self._told_cursor: str | None = None
        self._was_reversed = False

    def fit(self, rows: int, cols: int) -> None:
        """The window has another size, or shows something else: all of it is painted anew."""
        self._rows, self._cols = rows, cols
        self._painted.clear()
        self._told_cursor = None

    def show(self, terminal: Terminal) -> None:
        """Another terminal is painted from now on, over what is there."""
        self._terminal = terminal
        self._runs.clear()

    def frame(self, status: str) -> bytes:
        """What makes the window show the console as it is now; empty if it does.

        Args:
            status: the last line.
        """
        for row in self._terminal.update():
            self._runs[row] = self._terminal.row(row)
        cursor = self._terminal.cursor
        self._follow(cursor)
        painted = [*self._changed(status)]
        is_reversed = self._terminal.modes.is_reversed
        if is_reversed is not self._was_reversed:
            painted.append(f"\x1b[?5{'h' if is_reversed else 'l'}")
            self._was_reversed = is_reversed
        told = self._cursor(cursor)
        if not painted and told == self._told_cursor:
            return b""
        self._told_cursor = told
        # Held back until it is whole, and the cursor not seen on its way.
        return f"\x1b[?2026h\x1b[?25l{''.join(painted)}{told}\x1b[?2026l".encode()

    @property
    def _height(self) -> int:
        """Of the part of the window the console is painted into; a window of one line has no room for another."""
        return max(self._rows - 1, 1)

    def _follow(self, cursor: Cursor) -> None:
        """Moves the part that is shown as little as shows the cursor; a hidden one moves nothing."""
        rows, cols = self._terminal.rows, self._terminal.cols
        if cursor.is_visible:
            self._top = min(max(self._top, cursor.row - self._height + 1), cursor.row)
            self._left = min(max(self._left, cursor.col - self._cols + 1), cursor.col)
        self._top = max(min(self._top, rows - self._height), 0)
        self._left = max(min(self._left, cols - self._cols), 0)

    def _changed(self, status: str) -> list[str]:
        changed = []
        for line in range(self._rows):
            is_last = line == self._rows - 1 and self._rows > 1
            told = self._status(status) if is_last else self._line(line)
            if self._painted.get(line) != told:
                self._painted[line] = told
                # Erased before, not behind it: behind the last column that would be the last character.
                changed.append(f"\x1b[{line + 1}H\x1b[0m\x1b[K{told}")
        return changed

    def _line(self, line: int) -> str:
        """One line of the window."""
        row, width = self._top + line, min(self._terminal.cols, self._cols)
        has_margin = width < self._cols
        if row < self._terminal.rows:
            told = cells_of(self._runs.get(row, ()), self._left, width, line + 1)
            return f"{told}\x1b[{line + 1};{width + 1}H{_DIM}│\x1b[0m" if has_margin else told
        if row == self._terminal.rows:
            return f"{_DIM}{'─' * width}{'┘' if has_margin else ''}\x1b[0m"
        return ""

    def _status(self, status: str) -> str:
        # A character in the last column of the last line would move the whole window in some terminals.
        room = self._cols - 1
        return f"{_REVERSE}{padded(cut(clean_line(status), room), room)}\x1b[0m"

    def _cursor(self, cursor: Cursor) -> str:
        line, col = cursor.row - self._top, cursor.col - self._left
        if not cursor.is_visible or not (0 <= line < self._height and 0 <= col < self._cols):
            return ""
        return f"\x1b[{line + 1};{col + 1}H\x1b[{_shape(cursor.shape, blinks=cursor.blinks)} q\x1b[?25h"


def _shape(shape: CursorShape, *, blinks: bool) -> int:
    return _SHAPES[shape.value] - blinks
