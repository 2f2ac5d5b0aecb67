"""Which part of a console is shown where it is another size than there is room for. Pure.

┌──────────────────┐     More room than the console has rows and columns: a dim border around it.
│ the console      │     Less: the part that has the cursor, unless the person has moved to another one.
│            │     │
│────────────┘     │
└──────────────────┘
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ConsoleWindow:
    """A window onto a console's view, in rows and columns.

    Attributes:
        rows, cols: of the console.
        height, width: of the room there is.
        top, left: the console's row and column in the window's upper left corner.
        is_following: whether the window moves with the cursor.
    """

    rows: int = 24
    cols: int = 80
    height: int = 24
    width: int = 80
    top: int = 0
    left: int = 0
    is_following: bool = True

    @property
    def shown_cols(self) -> int:
        """How many of the console's columns are in the window."""
        return min(self.cols - self.left, self.width)

    def fit(self, *, console: tuple[int, int], room: tuple[int, int]) -> bool:
        """Takes sizes, in rows and columns; returns whether one of them is another."""
        if (self.rows, self.cols, self.height, self.width) == (*console, *room):
            return False
        (self.rows, self.cols), (self.height, self.width) = console, room
        self._clamp()
        return True

    def follow(self, row: int, col: int) -> bool:
        """Moves as little as shows the cursor, which is there; returns whether that was anything."""
        if not self.is_following:
            return False
        before = self.top, self.left
        self.top = min(max(self.top, row - self.height + 1), row)
        self.left = min(max(self.left, col - self.width + 1), col)
        self._clamp()
        return (self.top, self.left) != before

    def pan(self, lines: int) -> int:
        """Moves up or down within the console; returns by how many lines it could not."""
        wanted = self.top + lines
        self.top = min(max(wanted, 0), self._lowest)
        self.is_following = self.top == self._lowest
        return wanted - self.top

    def to_end(self) -> None:
        """Moves with the cursor again."""
        self.is_following = True

    def row_at(self, y: int) -> int | None:
        """The console's row in a line of the window; None where there is none."""
        row = self.top + y
        return row if 0 <= row < self.rows else None

    def y_of(self, row: int) -> int | None:
        """The line of the window that shows a row; None where it is not shown."""
        y = row - self.top
        return y if 0 <= y < self.height else None

    def is_border(self, y: int) -> bool:
        """Whether a line of the window is the border below the console."""
        return self.top + y == self.rows

    def cell_at(self, x: int, y: int) -> tuple[int, int] | None:
        """The console's row and column at a place of the window; None beside the console."""
        row, col = self.top + y, self.left + x
        is_inside = 0 <= row < self.rows and 0 <= col < self.cols
        return (row, col) if is_inside else None

    def nearest_cell(self, x: int, y: int) -> tuple[int, int]:
        """The cell that is nearest to a place, which may be beside the window."""
        y, x = min(max(y, 0), self.height - 1), min(max(x, 0), self.width - 1)
        return min(self.top + y, self.rows - 1), min(self.left + x, self.cols - 1)

    @property
    def _lowest(self) -> int:
        return max(self.rows - self.height, 0)

    def _clamp(self) -> None:
        self.top = max(min(self.top, self._lowest), 0)
        self.left = max(min(self.left, self.cols - self.width), 0)
