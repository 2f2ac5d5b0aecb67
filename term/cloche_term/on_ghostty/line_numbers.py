"""Which number the primary screen's first row has, counted from the first line ever written.

The library counts neither what it drops nor what it clears. So a reference is tied to a row whose number is known; it
travels with its row into the scrollback, and after each piece of output the distance to the screen is read off it.

Rule: the reference is moved back to the screen's first row after every piece of at most `PIECE_BYTES`, before a row can
travel the whole scrollback. A program that clears its scrollback, or writes lines in less than a byte each, can make
lines go uncounted; numbers never go back because of it.
"""

from __future__ import annotations

from typing import Any

from cloche_term.on_ghostty.library import (
    check,
    ffi,
    lib,
    point,
    terminal_grid_ref_track,
    tracked_grid_ref_set,
)
from cloche_term.on_ghostty.native import NativeTerminal

PIECE_BYTES = 4096


class LineNumbers:
    """Follows one native terminal. `close` gives back its reference."""

    def __init__(self, native: NativeTerminal, *, first_line: int = 0) -> None:
        self._native = native
        self._first_line = first_line
        self._scrollback_rows = 0
        self._known: Any = None
        self._top = point(lib.GHOSTTY_POINT_TAG_ACTIVE)
        self._place = ffi.new("GhosttyPointCoordinate*")
        if not native.is_alternate:
            self._tie()

    def close(self) -> None:
        """Gives back the reference. Idempotent."""
        if self._known is not None:
            lib.ghostty_tracked_grid_ref_free(self._known[0])
            self._known = None

    @property
    def first_line(self) -> int:
        """The number of the primary screen's first row."""
        return self._first_line

    def follow(self, *, is_alternate: bool) -> None:
        """Reads off how far the known row has travelled; to be called after each piece of output and each resize."""
        if is_alternate:
            return  # the primary screen stands still; its reference waits there
        rows = int(self._native.get("SCROLLBACK_ROWS", "size_t"))
        if self._known is None:
            # A stored terminal came back with its alternate screen on, and has just left it.
            self._first_line += max(rows - self._scrollback_rows, 0)
        else:
            code = lib.ghostty_tracked_grid_ref_point(
                self._known[0], lib.GHOSTTY_POINT_TAG_SCREEN, self._place
            )
            # A row that was dropped or cleared travelled at least as far as what is kept reaches.
            self._first_line += rows - self._place.y if code == lib.GHOSTTY_SUCCESS else rows
        self._first_line = max(self._first_line, 0)
        self._tie()

    def _tie(self) -> None:
        if self._known is None:
            self._known = ffi.new("GhosttyTrackedGridRef*")
            code = terminal_grid_ref_track(self._native.handle, self._top, self._known)
        else:
            code = tracked_grid_ref_set(self._known[0], self._native.handle, self._top)
        check(code, "following a row")
