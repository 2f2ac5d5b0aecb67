"""A state the library makes and cannot store, put right.

A screen that becomes narrower without wrapping its lines anew can cut wide characters in two. Halves stay in the last
column, and the library's own snapshots refuse such a screen, also while it is not on. So half a character becomes a
blank, and an alternate screen that is not on is cleared, which its next program does anyway (`mend`). What a program
can do beyond that, switching wrapping off and asking for other columns, costs it what is not on the screen (`discard`)
and at worst the screen (`wipe`).
They also refuse a string (APC, PM, SOS) that a C1 control has ended and that has begun another sequence; that one is
begun anew in its usual form (`settle`).

Rule: nothing else changes: cursor, pen, margins and what has half arrived are put back as they were.
"""

from __future__ import annotations

import re

from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.state import ORIGIN_MODE, place

_CANCEL = "\x18"
_C1_STRINGS = (b"\x1b_", b"\x1b^", b"\x1bX")
_BEGUN_BY_C1 = re.compile(rb"[\x90\x98\x9b\x9d-\x9f](?=[^\x90\x98\x9b\x9d-\x9f]*\Z)")
# The oldest way to switch screens saves and restores nothing.
_ENTER, _LEAVE = "\x1b[?47h", "\x1b[?47l"


def settle(native: NativeTerminal) -> None:
    """Begins what has half arrived anew, in a form the library can store."""
    if not native.look().is_ground:
        native.write(_CANCEL.encode() + _usual(native.continuation() or b""))


def mend(native: NativeTerminal) -> None:
    """Blanks halves of wide characters on the screen that is on, and clears the alternate one where it is not."""
    state = native.look()
    rows, cols = state.size
    last_cells = ((row, native.width(state.scrollback_rows + row, cols - 1)) for row in range(rows))
    blanks = "".join(f"\x1b[{row + 1};{cols}H " for row, width in last_cells if width > 1)
    _write_aside(native, blanks if state.is_alternate else f"{blanks}{_ENTER}\x1b[2J{_LEAVE}")


def discard(native: NativeTerminal) -> None:
    """Gives up the scrollback, or the whole primary screen where the alternate one is on."""
    is_alternate = native.look().is_alternate
    _write_aside(native, f"{_LEAVE}\x1b[2J\x1b[3J{_ENTER}" if is_alternate else "\x1b[3J")


def wipe(native: NativeTerminal) -> None:
    """Gives up the screen that is on, too."""
    _write_aside(native, "\x1b[2J")


def _write_aside(native: NativeTerminal, written: str) -> None:
    """Writes with a plain pen and places counted from the corner; cursor, pen and half a sequence come back."""
    unfinished = b"" if native.look().is_ground else _usual(native.continuation() or b"")
    before = (_CANCEL if unfinished else "") + (f"\x1b[?{ORIGIN_MODE}l" if native.mode(ORIGIN_MODE) else "")
    back = place(native)
    native.write(f"{before}\x1b[0m{written}{back}".encode(errors="replace") + unfinished)


def _usual(unfinished: bytes) -> bytes:
    """Half a sequence that was begun by a C1 control inside a string, begun by its escape sequence instead."""
    found = _BEGUN_BY_C1.search(unfinished)
    if found is None or not unfinished.startswith(_C1_STRINGS):
        return unfinished
    return b"\x1b" + bytes([found[0][0] - 0x40]) + unfinished[found.end() :]
