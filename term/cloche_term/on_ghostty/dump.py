"""A native terminal as the bytes that make its screen in any terminal of its size that was just reset.

Text and styles are painted from cells (`painting`); what the library can say of a terminal's state by itself (pen,
character sets, margins, tab stops, keyboard) it says here. The library's own dump is not enough: it shows the screen
that is on and loses the other one, the background of blank cells and where lines were wrapped.

Rules for the order:
- Modes come after all text, since they change how text is placed; only mode 2027 (which characters are one) comes
  before. Then margins, then the cursor, which both would move, and last what has only half arrived.
- Only the screen and the newest lines above it are painted; what is farther up the library writes, sixty times as fast,
  without its links and the backgrounds of its blanks.
- The primary screen behind an alternate one is read in a twin, restored from a snapshot, that leaves its alternate
  screen; the terminal itself is not touched.

What is not in a dump: saved cursors (but the one the alternate screen gives back), the stack of keyboard flags,
protected cells, marks of prompts, the working directory, and that characters were joined or not under another setting of
mode 2027 than the one at the end. A snapshot has all of it.
"""

from __future__ import annotations

from cloche_term.on_ghostty import state, stored
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.painting import RESET, paint
from cloche_term.on_ghostty.view import View

_PAINTED_LINES = 200


def dump(native: NativeTerminal, view: View, *, title: str, scrollback_lines: int) -> bytes:
    """Writes the terminal, but for what has only half arrived.

    Args:
        native: The terminal.
        view: What looks at it; nobody else may.
        title: Its title.
        scrollback_lines: How many lines of the scrollback, the newest, to write.
    """
    parts = [f"\x1b[?{state.CLUSTER_MODE}h"] if native.mode(state.CLUSTER_MODE) else []
    if native.look().is_alternate:
        entry = next((mode for mode in state.ALTERNATE_MODES if native.mode(mode)), state.ALTERNATE_MODES[0])
        parts += _primary_behind(native, entry, scrollback_lines)
        parts += [f"\x1b[?{entry}h", RESET, "\x1b[H"]
        scrollback_lines = 0
    parts += _lines(native, view, scrollback_lines)
    parts += [state.tab_stops(native), *state.modes(native), state.margins(native), state.place(native)]
    parts += [state.shape(view.cursor), *state.palette(native), f"\x1b]2;{title}\x1b\\" if title else ""]
    return "".join(parts).encode(errors="replace")


def _primary_behind(native: NativeTerminal, entry: int, scrollback_lines: int) -> list[str]:
    """The primary screen while the alternate one is on, with the cursor and pen it will get back."""
    twin = stored.decode(
        stored.encode(native), scrollback_lines=scrollback_lines, with_scrollback=scrollback_lines > 0
    ).native
    try:
        twin.write(f"\x18\x1b[?{entry}l".encode())
        view = View(twin)
        try:
            pen = state.pen(twin)
            # What is painted on the alternate screen must not go through this one's character sets and links.
            undone = '\x1b]8;;\x1b\\\x1b[0"q' + (state.PLAIN_CHARSETS if state.uses_charsets(pen) else "")
            return [*_lines(twin, view, scrollback_lines), pen, state.shape(view.cursor), undone]
        finally:
            view.close()
    finally:
        twin.close()


def _lines(native: NativeTerminal, view: View, scrollback_lines: int) -> list[str]:
    """The screen that is on, and what of its scrollback is wanted."""
    kept, rows = native.look().scrollback_rows, native.look().size[0]
    first, last = max(kept - scrollback_lines, 0), kept + rows - 1
    near = _beginning_of_line(view, max(first, kept - _PAINTED_LINES), least=first)
    far = f"{native.printed(first, near - 1)}\r\n" if near > first else ""
    return [far, *paint(view.read_lines(near, last), lambda number, col: native.link(near + number, col))]


def _beginning_of_line(view: View, row: int, *, least: int) -> int:
    """The nearest row at or above this one that no wrapped line leads into; this one if none is near."""
    for above in range(row - 1, max(row - _PAINTED_LINES, least) - 1, -1):
        (line,) = view.read_lines(above, above)
        if not line.is_wrapped:
            return above + 1
    return row if row - least > _PAINTED_LINES else least
