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
    point,
    terminal_grid_ref_track,
    tracked_grid_ref_set,
)
from cloche_term.on_ghostty.native import NativeTerminal


class LineNumbers:
    """Follows one native terminal. `close` gives back its reference."""

    def __init__(self, native: NativeTerminal, *, first_line: int = 0) -> None:
        self._native = native
        self.first_line = first_line
        """The number of the primary screen's first row."""
        self._known = ffi.new("GhosttyTrackedGridRef*")
        self._top = point(lib.GHOSTTY_POINT_TAG_ACTIVE)
        self._place = ffi.new("GhosttyPointCoordinate*")
        if not native.look().is_alternate:
            self._tie()

    def close(self) -> None:
        """Gives back the reference. Idempotent."""
        lib.ghostty_tracked_grid_ref_free(self._known[0])
        self._known[0] = ffi.NULL

    def follow(self, *, scrollback_rows: int, is_alternate: bool, written: bytes = b"") -> None:
        """Reads off how far the known row has travelled, after a piece of output or a change of size."""
        if is_alternate:
            return  # the primary screen stands still, and the reference waits there
        if self._known[0]:
            code = lib.ghostty_tracked_grid_ref_point(
                self._known[0], lib.GHOSTTY_POINT_TAG_SCREEN, self._place
            )
            is_there = code == lib.GHOSTTY_SUCCESS
            travelled = scrollback_rows - self._place.y if is_there else written.count(b"\n")
            self.first_line = max(self.first_line + travelled, 0)
        # else: stored with its alternate screen on, and left it just now; what scrolled in this piece is not known.
        self._tie()

    def _tie(self) -> None:
        if self._known[0]:
            code = tracked_grid_ref_set(self._known[0], self._native.handle, self._top)
        else:
            code = terminal_grid_ref_track(self._native.handle, self._top, self._known)
        check(code, "following a row")
