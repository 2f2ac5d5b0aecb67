"""What a console looks like, put together from paintings of what has changed. Pure.

Rules:
- Rows are those of the terminal's view, lines have its numbers: row `y` is line `view_line + y`.
- What is not known yet is blank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cloche_term.terminal import Cursor, CursorShape, Match, Modes, Run
from cloche_tui.model.cells import Glyph, glyph_at, glyphs_of
from cloche_tui.model.selection import Bounds

if TYPE_CHECKING:
    from cloche_term.apart.paintings import Painting

_NO_CURSOR = Cursor(0, 0, is_visible=False, shape=CursorShape.BLOCK, blinks=False)


@dataclass(frozen=True, slots=True)
class Change:
    """What looks different after a painting."""

    rows: frozenset[int]
    """Of the view."""
    is_everything: bool = False
    """The size is another, or the colors are turned around: nothing can be kept."""


class Picture:
    """A console as it was painted last; before that, a blank screen.

    Attributes:
        size: rows and columns.
        cursor: in the view.
        modes: what the program has switched on.
        first_line: the number of the screen's first line.
        view_line: of the view's; the same unless a person has scrolled back.
        scrollback_rows: how many lines are kept above the screen.
    """

    def __init__(self) -> None:
        self.size = 24, 80
        self.cursor = _NO_CURSOR
        self.modes = Modes()
        self.first_line = self.view_line = self.scrollback_rows = 0
        self._rows: dict[int, tuple[Run, ...]] = {}
        self._glyphs: dict[int, tuple[Glyph, ...]] = {}

    def apply(self, painting: Painting) -> Change:
        """Takes a painting."""
        is_everything = self.size != painting.size or self.modes.is_reversed is not painting.modes.is_reversed
        if self.size != painting.size:
            self._rows.clear()
            self._glyphs.clear()
        changed = {y for y, runs in painting.rows.items() if self._rows.get(y) != runs}
        self._rows.update(painting.rows)
        for y in changed:
            self._glyphs.pop(y, None)
        if self.cursor != painting.cursor:
            changed |= {self.cursor.row, painting.cursor.row}
        self.size, self.cursor, self.modes = painting.size, painting.cursor, painting.modes
        self.first_line, self.view_line = painting.first_line, painting.view_line
        self.scrollback_rows = painting.scrollback_rows
        return Change(frozenset(changed), is_everything)

    @property
    def is_at_end(self) -> bool:
        """Whether the view is the screen, and not something above it."""
        return self.view_line >= self.first_line

    @property
    def oldest_line(self) -> int:
        """The number of the oldest line that is kept."""
        return self.first_line - self.scrollback_rows

    def runs(self, y: int) -> tuple[Run, ...]:
        """A row of the view."""
        return self._rows.get(y, ())

    def glyphs(self, y: int) -> tuple[Glyph, ...]:
        """What stands in the cells of a row of the view."""
        glyphs = self._glyphs.get(y)
        if glyphs is None:
            glyphs = self._glyphs[y] = glyphs_of(self.runs(y))
        return glyphs

    def glyphs_of_line(self, line: int) -> tuple[Glyph, ...]:
        """What stands in the cells of a line; nothing of one that is not in the view."""
        return self.glyphs(line - self.view_line)

    def texts_in(self, bounds: Bounds | None) -> dict[int, str]:
        """What stands in a part of the text, by line; of lines that are not in the view, nothing."""
        if bounds is None:
            return {}
        rows, cols = self.size
        first, last = max(bounds.start.line, self.view_line), min(bounds.stop.line, self.view_line + rows - 1)
        texts = {}
        for line in range(first, last + 1):
            start, stop = bounds.columns(line, cols) or (0, 0)
            glyphs = self.glyphs_of_line(line)
            texts[line] = "".join(glyph.text for glyph in glyphs if start <= glyph.col < stop)
        return texts

    def differs_from(self, texts: dict[int, str], bounds: Bounds | None) -> bool:
        """Whether something else stands now in a part of the text, as far as that is in the view."""
        now = self.texts_in(bounds)
        return any(now.get(line, text) != text for line, text in texts.items())

    def cursor_cells(self) -> tuple[int, int]:
        """The cells of its row that the cursor covers: two on a wide character."""
        glyph = glyph_at(self.glyphs(self.cursor.row), self.cursor.col)
        if glyph is None:
            return self.cursor.col, self.cursor.col + 1
        return glyph.col, glyph.col + glyph.cells

    def has_link(self, row: int, col: int) -> bool:
        """Whether this cell of the view is a part of a hyperlink."""
        end = 0
        for run in self.runs(row):
            end += run.cells
            if col < end:
                return run.style.is_link
        return False

    def cells_of_match(self, match: Match, line: int) -> tuple[int, int] | None:
        """Which cells of a line a match covers: one that was wrapped goes on in the lines below."""
        cols = self.size[1]
        start = match.col - (line - match.line) * cols
        first, last = max(start, 0), min(start + match.cells, cols)
        return (first, last) if line >= match.line and first < last else None
