"""Which number the primary screen's first row has, counted from the first line ever written.

The library counts neither what it drops nor what it clears. So a reference is tied to a row whose number is known; it
travels with its row into the scrollback, and after each piece of output the distance to the screen is read off it.

Rules:
- The reference is moved back to the screen's first row after every piece.
- Where a piece made its row disappear (dropped, because lines were short and many, or cleared by the program), the
  newlines of the piece stand for the lines: never too few by much, never back.
"""

from __future__ import annotations

from cloche_term.on_ghostty.library import (
    check,
    ffi,
    lib,
    new,
    point,
    terminal_grid_ref_track,
    tracked_grid_ref_set,
)
from cloche_term.on_ghostty.native import NativeTerminal, State


class LineNumbers:
    """Follows one native terminal. `close` gives back its reference."""

    def __init__(self, native: NativeTerminal, *, first_line: int = 0, rows_behind: int = 0) -> None:
        """Begins to follow.

        Args:
            native: The terminal.
            first_line: The number of its primary screen's first row.
            rows_behind: If its alternate screen is on, how many rows the primary one keeps above itself.
        """
        self._native = native
        self.first_line = first_line
        """The number of the primary screen's first row."""
        self._known = new("GhosttyTrackedGridRef*")
        self._top = point(lib.GHOSTTY_POINT_TAG_ACTIVE)
        self._place = new("GhosttyPointCoordinate*")
        self._rows_behind = rows_behind
        state = native.look()
        self._rows_below_cursor = state.rows_below_cursor
        if not state.is_alternate:
            self._tie(state)

    def close(self) -> None:
        """Gives back the reference. Idempotent."""
        lib.ghostty_tracked_grid_ref_free(self._known[0])
        self._known[0] = ffi.NULL

    def follow(self, state: State, written: bytes = b"") -> None:
        """Reads off how far the known row has travelled, after a piece of output or a change of size."""
        if state.is_alternate:
            return  # the primary screen stands still, and the reference waits there
        known = self.known_row
        if known is None:
            travelled = max(written.count(b"\n") - self._rows_below_cursor, 0)
        else:
            travelled = state.scrollback_rows - known
        self.first_line = max(self.first_line + travelled, 0)
        self._tie(state)

    @property
    def known_row(self) -> int | None:
        """Where the primary screen's row `first_line` is now, counted from the oldest it keeps; None if it is gone."""
        if not self._known[0]:
            return self._rows_behind
        code = lib.ghostty_tracked_grid_ref_point(self._known[0], lib.GHOSTTY_POINT_TAG_SCREEN, self._place)
        return self._place.y if code == lib.GHOSTTY_SUCCESS else None

    def _tie(self, state: State) -> None:
        if self._known[0]:
            code = tracked_grid_ref_set(self._known[0], self._native.handle, self._top)
        else:
            code = terminal_grid_ref_track(self._native.handle, self._top, self._known)
        check(code, "following a row")
        self._rows_below_cursor = state.rows_below_cursor
