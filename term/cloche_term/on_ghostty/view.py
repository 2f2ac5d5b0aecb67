"""The view as it was last looked at: which rows changed, their runs, the shape of the cursor.

The library's render state collects what changed until it is told to forget; rows are read again only then. Rule: there
is one render state a terminal, for looking takes the marks of what has changed with it; whoever wants to read other
rows (`read_lines`) uses the same one and lets it forget nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cloche_term.on_ghostty.library import NULL, check, lib, new, sized
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.painting import Line
from cloche_term.on_ghostty.rows import RowReader
from cloche_term.terminal import Cursor, CursorShape, Run

_SHAPES = {
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BAR: CursorShape.BAR,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_UNDERLINE: CursorShape.UNDERLINE,
}


class View:
    """Looks at one native terminal. `close` gives back its native parts."""

    def __init__(self, native: NativeTerminal) -> None:
        self._native = native
        self._state = new("GhosttyRenderState*")
        check(lib.ghostty_render_state_new(NULL, self._state), "making a render state")
        self._iterator = new("GhosttyRenderStateRowIterator*")
        check(lib.ghostty_render_state_row_iterator_new(NULL, self._iterator), "making an iterator of rows")
        self._reader = RowReader()
        self._dirty = new("GhosttyRenderStateDirty*")
        self._y = new("uint16_t*")
        self._cursor = sized("GhosttyRenderStateCursor")
        self._rows: dict[int, tuple[Run, ...]] = {}

    def close(self) -> None:
        """Gives back the render state and what belongs to it."""
        self._reader.close()
        lib.ghostty_render_state_row_iterator_free(self._iterator[0])
        lib.ghostty_render_state_free(self._state[0])

    def forget(self) -> None:
        """After a change of size every row counts as changed."""
        self._rows.clear()

    def update(self) -> list[int]:
        """Reads what has changed; returns the rows that look different."""
        state = self._look()
        lib.ghostty_render_state_get(state, lib.GHOSTTY_RENDER_STATE_DATA_DIRTY, self._dirty)
        if self._dirty[0] == lib.GHOSTTY_RENDER_STATE_DIRTY_FALSE:
            return []
        lib.ghostty_render_state_get(state, lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, self._iterator)
        iterator, y, changed = self._iterator[0], self._y, []
        while lib.ghostty_render_state_row_iterator_next_dirty(iterator, y):
            runs = self._reader.read(iterator)
            # The same text written once more is a change to the library and none to the eye.
            if self._rows.get(y[0]) != runs:
                self._rows[y[0]] = runs
                changed.append(y[0])
        lib.ghostty_render_state_clean(state)
        return changed

    def row(self, y: int) -> tuple[Run, ...]:
        """The runs of a row as of the last `update`."""
        return self._rows[y]

    @property
    def cursor(self) -> Cursor:
        """The cursor in the view as it is now."""
        code = lib.ghostty_render_state_get(self._look(), lib.GHOSTTY_RENDER_STATE_DATA_CURSOR, self._cursor)
        check(code, "asking for the cursor")
        found: Any = self._cursor
        return Cursor(
            row=found.viewport_y if found.viewport_has_value else 0,
            col=found.viewport_x if found.viewport_has_value else 0,
            is_visible=bool(found.visible and found.viewport_has_value),
            shape=_SHAPES.get(found.visual_style, CursorShape.BLOCK),
            blinks=bool(found.blinking),
        )

    def read_lines(self, first: int, last: int) -> Iterator[Line]:
        """Reads rows counted from the oldest of the scrollback; the view is elsewhere meanwhile, and back afterwards."""
        rows: int = self._native.get("ROWS")
        follows = bool(self._native.get("VIEWPORT_ACTIVE", "bool"))
        was_at: int = self._native.get("SCROLLBAR", "GhosttyTerminalScrollbar").offset
        try:
            while first <= last:
                self._native.scroll_to(first)
                top: int = self._native.get("SCROLLBAR", "GhosttyTerminalScrollbar").offset
                yield from self._read_some(first - top, min(last - top, rows - 1))
                first = top + rows
        finally:
            if follows:
                self._native.scroll_to_end()
            else:
                self._native.scroll_to(was_at)

    def _read_some(self, first: int, last: int) -> Iterator[Line]:
        """Reads rows of the view as it is."""
        state = self._look()
        lib.ghostty_render_state_get(state, lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, self._iterator)
        iterator, raw, is_wrapped = self._iterator[0], new("GhosttyRow*"), new("bool*")
        for y in range(last + 1):
            if not lib.ghostty_render_state_row_iterator_next(iterator):
                return
            if y < first:
                continue
            lib.ghostty_render_state_row_get(iterator, lib.GHOSTTY_RENDER_STATE_ROW_DATA_RAW, raw)
            lib.ghostty_row_get(raw[0], lib.GHOSTTY_ROW_DATA_WRAP, is_wrapped)
            runs = self._reader.read(iterator)
            yield Line(runs, bool(is_wrapped[0]), self._reader.has_filler, self._reader.begins_wide)

    def _look(self) -> Any:
        check(lib.ghostty_render_state_update(self._state[0], self._native.handle), "looking at the view")
        return self._state[0]
