"""One native terminal: made with bounds on all it keeps, asked by key, given back once.

SAFETY: The parser is native code (built for speed, without the checks of its language) and its input is a hostile
guest's. What we rely on: that it neither reads nor writes outside of its memory whatever it is fed (upstream fuzzes it,
and so do our tests); that it is fed by one thread at a time; and the bounds set below, each of which stands in for a
default of megabytes or for none. What it must not do, it is not given: no files, no shared memory, no clipboard, no
images, no titles reported back (a guest could type through those), no log.

Colors of our own are set, since a terminal without any does not answer the queries by which programs see whether their
background is dark.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from cloche_term.on_ghostty.library import (
    NULL,
    check,
    ffi,
    lib,
    point,
    read_allocated,
    sized,
    terminal_grid_ref,
)
from cloche_term.terminal import MOST_ANSWER_BYTES, MOST_SCROLLBACK_BYTES

FOREGROUND = (224, 224, 224)
BACKGROUND = (12, 12, 12)
CELL_WIDTH_PX, CELL_HEIGHT_PX = 8, 16
"""What a cell measures for programs that ask; nobody draws pixels here."""

MOST_CONTINUATION_BYTES = 64 * 1024
"""How much of a sequence that has only half arrived is kept for snapshots and dumps."""
MOST_APC_BYTES = 4096
MOST_CLIPBOARD_BYTES = 4096

_DEC_MODE, _ANSI_MODE = 0, 1 << 15


class _Answers:
    """What the terminal has answered and nobody has taken yet; bounded, whole answers or none."""

    def __init__(self) -> None:
        self.waiting = bytearray()

    def take(self) -> bytes:
        taken = bytes(self.waiting)
        self.waiting.clear()
        return taken


@ffi.callback("GhosttyTerminalWritePtyFn")  # type: ignore[untyped-decorator]
def _on_answer(_terminal: Any, userdata: Any, data: Any, length: int) -> None:
    answers = ffi.from_handle(userdata)
    if len(answers.waiting) + length <= MOST_ANSWER_BYTES:
        answers.waiting += ffi.buffer(data, length)


@ffi.callback("GhosttyTerminalSizeFn")  # type: ignore[untyped-decorator]
def _on_size_asked(terminal: Any, _userdata: Any, out: Any) -> bool:
    side = ffi.new("uint16_t*")
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_ROWS, side)
    out.rows = side[0]
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, side)
    out.columns = side[0]
    out.cell_width, out.cell_height = CELL_WIDTH_PX, CELL_HEIGHT_PX
    return True


def _new_handle(rows: int, cols: int) -> Any:
    handle = ffi.new("GhosttyTerminal*")
    check(lib.ghostty_terminal_new(NULL, handle, cols, rows), "making a terminal")
    return handle[0]


class NativeTerminal:
    """One native terminal; after `close` nothing else may be called."""

    def __init__(self, handle: Any, *, scrollback_lines: int) -> None:
        """Takes over a handle: it is given back by `close`, or with this object."""
        self.handle = handle
        self._answers = _Answers()
        # The library keeps this pointer: it must live as long as the terminal.
        self._userdata = ffi.new_handle(self._answers)
        self._give_back = weakref.finalize(self, lib.ghostty_terminal_free, handle)
        try:
            self._set_bounds(scrollback_lines)
        except BaseException:
            self.close()
            raise

    @classmethod
    def new(cls, rows: int, cols: int, *, scrollback_lines: int) -> NativeTerminal:
        """Makes an empty one."""
        return cls(_new_handle(rows, cols), scrollback_lines=scrollback_lines)

    def close(self) -> None:
        """Gives the native terminal back. Idempotent."""
        self._give_back()

    def _set_bounds(self, scrollback_lines: int) -> None:
        for name, ctype, value in (
            # Lines alone do not do: the default of bytes is reached after some hundred of them, and lines of the
            # largest width would take ten times what a terminal may.
            ("SCROLLBACK_MAX_LINES", "size_t*", scrollback_lines),
            ("SCROLLBACK_MAX_BYTES", "size_t*", MOST_SCROLLBACK_BYTES if scrollback_lines else 0),
            ("CONTINUATION_MAX_BYTES", "size_t*", MOST_CONTINUATION_BYTES),
            ("APC_MAX_BYTES", "size_t*", MOST_APC_BYTES),
            ("CLIPBOARD_WRITE_MAX_BYTES", "size_t*", MOST_CLIPBOARD_BYTES),
            ("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0),
            ("GLYPH_PROTOCOL", "bool*", False),
            ("TITLE_REPORT", "bool*", False),
            ("COLOR_FOREGROUND", "GhosttyColorRgb*", FOREGROUND),
            ("COLOR_BACKGROUND", "GhosttyColorRgb*", BACKGROUND),
        ):
            self._set(name, ffi.new(ctype, value))
        self._set("USERDATA", self._userdata)
        self._set("WRITE_PTY", _on_answer)
        self._set("SIZE", _on_size_asked)

    def _set(self, name: str, value: Any) -> None:
        option = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{name}")
        check(lib.ghostty_terminal_set(self.handle, option, value), f"setting {name}")

    # --- bytes in, answers out ---------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Feeds the parser; other threads run meanwhile."""
        lib.ghostty_terminal_vt_write(self.handle, data, len(data))

    def take_answers(self) -> bytes:
        """What has been answered since the last call."""
        return self._answers.take()

    def continuation(self) -> bytes:
        """The beginning of a sequence that has only half arrived; empty too where it is too long to be kept."""
        is_ground = ffi.new("bool*")
        lib.ghostty_terminal_get(self.handle, lib.GHOSTTY_TERMINAL_DATA_VT_GROUND, is_ground)
        if is_ground[0]:
            return b""
        length = ffi.new("size_t*")
        buffer = ffi.new("uint8_t[]", MOST_CONTINUATION_BYTES)
        code = lib.ghostty_terminal_continuation_buf(self.handle, buffer, len(buffer), length)
        return bytes(ffi.buffer(buffer, length[0])) if code == lib.GHOSTTY_SUCCESS else b""

    # --- what it knows -----------------------------------------------------------------------------------------------

    def get(self, name: str, ctype: str = "uint16_t") -> Any:
        """One value; strings and structs point into the terminal and hold until it is fed."""
        out = ffi.new(f"{ctype}*")
        code = lib.ghostty_terminal_get(self.handle, getattr(lib, f"GHOSTTY_TERMINAL_DATA_{name}"), out)
        check(code, f"asking for {name}")
        return out[0]

    def mode(self, number: int, *, ansi: bool = False) -> bool:
        """Whether a mode is on."""
        out = ffi.new("GhosttyTerminalModeConfig*")
        out.mode = number | (_ANSI_MODE if ansi else _DEC_MODE)
        check(
            lib.ghostty_terminal_get(self.handle, lib.GHOSTTY_TERMINAL_DATA_MODE, out),
            f"asking for mode {number}",
        )
        return bool(out.value)

    def set_mode(self, number: int, *, on: bool) -> None:
        """Switches a DEC mode without the effects its sequence has."""
        self._set("MODE", ffi.new("GhosttyTerminalModeConfig*", (number | _DEC_MODE, on)))

    @property
    def is_alternate(self) -> bool:
        """Whether the alternate screen is on."""
        return bool(
            self.get("ACTIVE_SCREEN", "GhosttyTerminalScreen") == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE
        )

    # --- text ----------------------------------------------------------------------------------------------------------

    def ref(self, row: int, col: int, *, tag: int = lib.GHOSTTY_POINT_TAG_SCREEN) -> Any:
        """A reference to a cell, good until the terminal is fed; by default row 0 is the oldest of the scrollback."""
        found = sized("GhosttyGridRef")
        code = terminal_grid_ref(self.handle, point(tag, row, col), found)
        check(code, f"finding row {row}, column {col}")
        return found

    def selection(self, first: int, last: int) -> Any:
        """Rows `first` to `last`, counted from the oldest of the scrollback."""
        made = sized("GhosttySelection")
        made.start = self.ref(first, 0)[0]
        made.end = self.ref(last, self.get("COLS") - 1)[0]
        return made

    def text(self, first: int, last: int) -> list[str]:
        """The text of these rows, counted from the oldest of the scrollback, without trailing blanks."""
        if last < first:
            return []
        options = sized("GhosttyTerminalSelectionFormatOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_PLAIN
        options.trim = True
        chosen = self.selection(first, last)
        options.selection = chosen
        allocate: Callable[[Any, Any, Any], int] = lambda allocator, out, length: (  # noqa: E731
            lib.ghostty_terminal_selection_format_alloc(self.handle, allocator, options[0], out, length)
        )
        rows = read_allocated(allocate, "reading text").decode(errors="replace").split("\n")
        rows += [""] * (last - first + 1 - len(rows))
        return [row.rstrip(" ") for row in rows]
