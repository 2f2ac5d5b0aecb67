"""A state the library makes and cannot store, put right.

A screen without wrapping (the alternate one) that becomes narrower can cut a wide character in two. Half of it stays in
the last column, and the library's own snapshots refuse such a screen, also while it is not on. So half a character
becomes a blank, and an alternate screen that is not on is cleared, which its next program does anyway.

Rule: nothing else changes: cursor, pen, margins and what has half arrived are put back as they were.
"""

from __future__ import annotations

from cloche_term.on_ghostty.library import WIDE_MASK, WIDE_SHIFT, check, ffi, lib
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.state import ORIGIN_MODE, place

_CANCEL = "\x18"
_LEGACY_ALTERNATE = 47


def mend(native: NativeTerminal) -> None:
    """Blanks halves of wide characters on the screen that is on, and clears the alternate one where it is not."""
    state = native.look()
    rows, cols = state.size
    unfinished = b"" if state.is_ground else native.continuation() or b""
    written = [
        _CANCEL if unfinished else "",
        f"\x1b[?{ORIGIN_MODE}l" if native.mode(ORIGIN_MODE) else "",
        "\x1b[0m",
    ]
    back = place(native)
    if state.is_alternate:
        written += [
            f"\x1b[{row + 1};{cols}H "
            for row in range(rows)
            if _is_half(native, state.scrollback_rows + row, cols - 1)
        ]
    else:
        written.append(f"\x1b[?{_LEGACY_ALTERNATE}h\x1b[2J\x1b[?{_LEGACY_ALTERNATE}l")
    native.write("".join((*written, *back)).encode(errors="replace") + unfinished)


def _is_half(native: NativeTerminal, row: int, col: int) -> bool:
    cell = ffi.new("GhosttyCell*")
    check(lib.ghostty_grid_ref_cell(native.ref(row, col), cell), "reading a cell")
    return bool((cell[0] >> WIDE_SHIFT) & WIDE_MASK == lib.GHOSTTY_CELL_WIDE_WIDE)
