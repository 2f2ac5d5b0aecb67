"""The state of a terminal beside its cells, as the sequences that set it: cursor, pen, margins, modes, colors.

What can be asked of the library by key is asked. Pen, character sets, margins and tab stops cannot; but the library
dumps them around text. So one cell is dumped with and without them, and what is more around it is what we want.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cloche_term.on_ghostty.library import NULL, check, lib, new, read_allocated, sized
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.terminal import Cursor, CursorShape

ALTERNATE_MODES = (1049, 1047, 47)
_MARGIN_MODE, ORIGIN_MODE, CLUSTER_MODE = 69, 6, 2027

# Modes to tell where they are not as after a reset. Not here: what is told otherwise (6, 12, 69, 2027, the alternate
# screen), 132 columns (3, 40), saving the cursor (1048), and 2026: a screen held back would not show what is dumped.
_OFF = (
    *(1, 4, 5, 8, 9, 45, 66, 67, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1039, 1045),
    *(2004, 2031, 2033, 2048, 5522),
)
_ON = (7, 25, 1007, 1035, 1036)
_ANSI_OFF = (2, 4, 20)
_ANSI_ON = (12,)

_SHAPES = {
    (CursorShape.BLOCK, True): 1,
    (CursorShape.UNDERLINE, True): 3,
    (CursorShape.UNDERLINE, False): 4,
    (CursorShape.BAR, True): 5,
    (CursorShape.BAR, False): 6,
}
_CURSOR = re.compile(r"\x1b\[(\d+);(\d+)H")
_ROW_MARGINS = re.compile(r"\x1b\[(\d+);(\d+)r")
_COL_MARGINS = re.compile(r"\x1b\[(\d+);(\d+)s")
_CHARSETS = re.compile(r"\x1b[()*+][0AB]|[\x0e\x0f]|\x1b[no~|]")
"""Designations and shifts, as the library writes them."""
PLAIN_CHARSETS = "\x0f\x1b(B\x1b)B\x1b*B\x1b+B"


# --- what the library says by itself ---------------------------------------------------------------------------------


def _formatted(native: NativeTerminal, *extras: str) -> str:
    """The library's dump of one cell, and of these extras around it (`screen.` before those of a screen)."""
    options = sized("GhosttyFormatterTerminalOptions")
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
    for extra in extras:
        where, _, name = extra.rpartition(".")
        setattr(options.extra.screen if where else options.extra, name, 1)
    top = native.look().scrollback_rows
    chosen = native.selection(top, top, 0)
    options.selection = chosen
    formatter = new("GhosttyFormatter*")
    made = lib.ghostty_formatter_terminal_new(NULL, formatter, native.handle, options[0])
    check(made, "making a formatter")
    try:
        return read_allocated(
            lambda allocator, out, length: lib.ghostty_formatter_format_alloc(
                formatter[0], allocator, out, length
            ),
            "formatting",
        ).decode(errors="replace")
    finally:
        lib.ghostty_formatter_free(formatter[0])


def _behind_cell(native: NativeTerminal, *extras: str) -> str:
    return _formatted(native, *extras)[len(_formatted(native)) :]


def pen(native: NativeTerminal) -> str:
    """The cursor, also between the last column and the next row, and all that decides how text is placed and looks."""
    names = ("cursor", "style", "hyperlink", "protection", "kitty_keyboard", "charsets")
    return _behind_cell(native, *(f"screen.{name}" for name in names))


def tells_other_keys(native: NativeTerminal) -> bool:
    """Whether keys are told that have no form of old (modifyOtherKeys, at its second level)."""
    return _behind_cell(native, "keyboard") != ""


def uses_charsets(its_pen: str) -> bool:
    """Whether a pen draws through other character sets than a terminal's that was just reset."""
    return _CHARSETS.search(its_pen) is not None


def tab_stops(native: NativeTerminal) -> str:
    """Where tabs stop, if not every eight columns; moves the cursor."""
    cell = _formatted(native)
    stops = _formatted(native, "tabstops")
    stops = stops[: len(stops) - len(cell)]
    usual = "".join(f"\x1b[{col + 1}G\x1bH" for col in range(8, native.look().size[1], 8))
    return "" if stops == f"\x1b[3g{usual}\x1b[H" else stops


def margins(native: NativeTerminal) -> str:
    """Where scrolling happens, and how keys are told; moves the cursor."""
    switch = f"\x1b[?{_MARGIN_MODE}h" if native.mode(_MARGIN_MODE) else ""
    return switch + _behind_cell(native, "scrolling_region", "keyboard")


def place(native: NativeTerminal) -> str:
    """Cursor and pen, after `margins`: places count from these where origin mode is on."""
    link = ""
    if native.get("CURSOR_PENDING_WRAP", "bool"):
        # The library prints the last cell anew, and forgets that it is a link.
        row = native.look().scrollback_rows + native.get("CURSOR_Y")
        link = native.link(row, native.get("CURSOR_X"))
    placed = _placed(native)
    if not link:
        return placed
    return f"\x1b]8;;{link}\x1b\\{placed}" + ("" if "\x1b]8;" in placed else "\x1b]8;;\x1b\\")


def _placed(native: NativeTerminal) -> str:
    its_pen = pen(native)
    cursor = _CURSOR.match(its_pen)
    if cursor is None or not native.mode(ORIGIN_MODE):
        return its_pen
    region = margins(native)
    top, left = (
        int(found[1]) if (found := side.search(region)) else 1 for side in (_ROW_MARGINS, _COL_MARGINS)
    )
    moved = f"\x1b[{max(int(cursor[1]) - top, 0) + 1};{max(int(cursor[2]) - left, 0) + 1}H"
    return f"\x1b[?{ORIGIN_MODE}h{moved}{its_pen[cursor.end() :]}"


# --- what is asked of it by key --------------------------------------------------------------------------------------


def modes(native: NativeTerminal) -> Iterator[str]:
    """The modes that are not as after a reset."""
    for numbers, usual, ansi in (
        (_OFF, False, False),
        (_ON, True, False),
        (_ANSI_OFF, False, True),
        (_ANSI_ON, True, True),
    ):
        for number in numbers:
            if native.mode(number, ansi=ansi) != usual:
                yield f"\x1b[{'' if ansi else '?'}{number}{'l' if usual else 'h'}"


def shape(cursor: Cursor) -> str:
    """How the cursor looks."""
    number = _SHAPES.get((cursor.shape, cursor.blinks))
    return f"\x1b[{number} q" if number else ""


def palette(native: NativeTerminal) -> Iterator[str]:
    """The colors a program has changed."""
    # The structs are held here: what points into one does not keep it.
    current, usual = (
        native.get(name, "ClochePalette") for name in ("COLOR_PALETTE", "COLOR_PALETTE_DEFAULT")
    )
    for index in range(len(current.colors)):
        if _rgb(current.colors[index]) != _rgb(usual.colors[index]):
            yield f"\x1b]4;{index};{_rgb(current.colors[index])}\x1b\\"
    for number, name in ((10, "FOREGROUND"), (11, "BACKGROUND"), (12, "CURSOR")):
        color = native.get(f"COLOR_{name}", "GhosttyColorRgb")
        default = native.get(f"COLOR_{name}_DEFAULT", "GhosttyColorRgb")
        if color is not None and (default is None or _rgb(color) != _rgb(default)):
            yield f"\x1b]{number};{_rgb(color)}\x1b\\"


def _rgb(color: Any) -> str:
    return f"rgb:{color.r:02x}/{color.g:02x}/{color.b:02x}"
