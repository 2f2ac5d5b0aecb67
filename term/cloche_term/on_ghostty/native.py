"""One native terminal: made with bounds on all it keeps, fed, asked by key, given back once.

SAFETY: The parser is native code (built for speed, without the checks of its language) and its input is a hostile
guest's. It can be crashed: grapheme clusters at the edge of a scrolling region and repeated links on tall screens are known
to, and take the process with them. So a guest's bytes are fed to it only in processes apart (`cloche_term.apart`), each of
which has one terminal and may die; who feeds in a process that matters opens the emulator in Python by name. What we rely
on: that it is fed by one thread at a time; and the bounds set below, each of which stands in for a default of megabytes or
for none. What it must not do, it is not given: no files, no shared memory, no clipboard, no images, no titles reported back
(a guest could type through those), no log. The screen itself is not bounded but by its size: a million cells full of
combined characters take some 200 MB.

Colors of our own are set, since a terminal without any does not answer the queries by which programs see whether their
background is dark.
"""

from __future__ import annotations

import weakref
from typing import Any

from cloche_term.on_ghostty.library import (
    NULL,
    WIDE_MASK,
    WIDE_SHIFT,
    check,
    ffi,
    lib,
    new,
    point,
    read_allocated,
    read_bytes,
    sized,
    terminal_grid_ref,
    terminal_scroll_viewport,
    type_named,
)
from cloche_term.on_ghostty.rows import joined
from cloche_term.terminal import MOST_ANSWER_BYTES, MOST_SCROLLBACK_BYTES

FOREGROUND = (224, 224, 224)
BACKGROUND = (12, 12, 12)
CELL_WIDTH_PX, CELL_HEIGHT_PX = 8, 16
"""What a cell measures for programs that ask; nobody draws pixels here."""

MOST_SEQUENCE_BYTES = 64 * 1024
"""How long one sequence may be. It is kept while it has only half arrived, for snapshots and dumps."""
MOST_APC_BYTES = 4096
MOST_CLIPBOARD_BYTES = 4096

_LEAST_SCROLLBACK_BYTES = 1024 * 1024
"""Lines are counted by following one into the scrollback: some must be kept even where nobody wants to see them."""
_BYTES_A_CELL = 8
_BYTES_A_ROW = 128

_ANSI_MODE = 1 << 15
_WRAP_MODE = 7


class _Answers:
    """What the terminal has answered and nobody has taken yet; bounded, whole answers or none."""

    def __init__(self) -> None:
        self.waiting = bytearray()

    def take(self) -> bytes:
        taken = bytes(self.waiting)
        self.waiting.clear()
        return taken


@ffi.callback(type_named("GhosttyTerminalWritePtyFn"))  # type: ignore[untyped-decorator]
def _on_answer(_terminal: Any, userdata: Any, data: Any, length: int) -> None:
    answers = ffi.from_handle(userdata)
    if len(answers.waiting) + length <= MOST_ANSWER_BYTES:
        answers.waiting += ffi.buffer(data, length)


@ffi.callback(type_named("GhosttyTerminalSizeFn"))  # type: ignore[untyped-decorator]
def _on_size_asked(terminal: Any, _userdata: Any, out: Any) -> bool:
    side = new("uint16_t*")
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_ROWS, side)
    out.rows = side[0]
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, side)
    out.columns = side[0]
    out.cell_width, out.cell_height = CELL_WIDTH_PX, CELL_HEIGHT_PX
    return True


class NativeTerminal:
    """One native terminal; after `close` nothing else may be called."""

    def __init__(self, handle: Any, *, scrollback_lines: int) -> None:
        """Takes over a handle: it is given back by `close`, or with this object."""
        self.handle = handle
        self._scrollback_lines = scrollback_lines
        self._answers = _Answers()
        # The library keeps this pointer: it must live as long as the terminal.
        self._userdata = ffi.new_handle(self._answers)
        self._give_back = weakref.finalize(self, lib.ghostty_terminal_free, handle)
        self._state = State(handle)
        try:
            self._set_bounds()
        except BaseException:
            self.close()
            raise

    @classmethod
    def new(cls, rows: int, cols: int, *, scrollback_lines: int) -> NativeTerminal:
        """Makes an empty one."""
        handle = new("GhosttyTerminal*")
        check(lib.ghostty_terminal_new(NULL, handle, cols, rows), "making a terminal")
        return cls(handle[0], scrollback_lines=scrollback_lines)

    def close(self) -> None:
        """Gives the native terminal back. Idempotent."""
        self._give_back()

    def _set_bounds(self) -> None:
        for name, ctype, value in (
            ("CONTINUATION_MAX_BYTES", "size_t*", MOST_SEQUENCE_BYTES),
            ("APC_MAX_BYTES", "size_t*", MOST_APC_BYTES),
            ("CLIPBOARD_WRITE_MAX_BYTES", "size_t*", MOST_CLIPBOARD_BYTES),
            ("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0),
            ("GLYPH_PROTOCOL", "bool*", 0),
            ("TITLE_REPORT", "bool*", 0),
            ("COLOR_FOREGROUND", "GhosttyColorRgb*", FOREGROUND),
            ("COLOR_BACKGROUND", "GhosttyColorRgb*", BACKGROUND),
        ):
            self._set(name, new(ctype, value))
        self._set("USERDATA", self._userdata)
        self._set("WRITE_PTY", _on_answer)
        self._set("SIZE", _on_size_asked)
        self._bound_scrollback()

    def _bound_scrollback(self) -> None:
        # A bound of lines makes every scrolled line walk the whole scrollback (measured: 12 times slower), so lines
        # become bytes, for the width of the screen; rows with many styles take more, and then fewer are kept.
        wanted = self._scrollback_lines * (self.get("COLS") * _BYTES_A_CELL + _BYTES_A_ROW)
        most = min(max(wanted, _LEAST_SCROLLBACK_BYTES), MOST_SCROLLBACK_BYTES)
        self._set("SCROLLBACK_MAX_BYTES", new("size_t*", most))

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

    def resize(self, rows: int, cols: int) -> None:
        """Gives it another size."""
        # Without wrapping, lines would be cut instead of wrapped anew, and wide characters with them.
        wraps = self.mode(_WRAP_MODE)
        self._set_mode(_WRAP_MODE, on=True)
        code = lib.ghostty_terminal_resize(self.handle, cols, rows, CELL_WIDTH_PX, CELL_HEIGHT_PX)
        self._set_mode(_WRAP_MODE, on=wraps)
        check(code, "resizing")
        self._bound_scrollback()

    def look(self) -> State:
        """What can have changed after any piece of output, all in one call; the same object each time."""
        self._state.read()
        return self._state

    def continuation(self) -> bytes | None:
        """The beginning of a sequence that has only half arrived; None where it is longer than is kept."""
        length = new("size_t*")
        code = lib.ghostty_terminal_continuation_buf(self.handle, NULL, 0, length)
        if code not in (lib.GHOSTTY_SUCCESS, lib.GHOSTTY_OUT_OF_SPACE):
            return None
        buffer = new("uint8_t[]", max(length[0], 1))
        code = lib.ghostty_terminal_continuation_buf(self.handle, buffer, length[0], length)
        check(code, "reading half a sequence")
        return bytes(ffi.buffer(buffer, length[0]))

    # --- what it knows -----------------------------------------------------------------------------------------------

    def get(self, name: str, ctype: str = "uint16_t") -> Any:
        """One value, None where there is none; strings and structs point into the terminal and hold until it is fed."""
        out = new(f"{ctype}*")
        code = lib.ghostty_terminal_get(self.handle, getattr(lib, f"GHOSTTY_TERMINAL_DATA_{name}"), out)
        if code == lib.GHOSTTY_NO_VALUE:
            return None
        check(code, f"asking for {name}")
        return out[0]

    def mode(self, number: int, *, ansi: bool = False) -> bool:
        """Whether a mode is on."""
        out = new("GhosttyTerminalModeConfig*")
        out.mode = number | (_ANSI_MODE if ansi else 0)
        code = lib.ghostty_terminal_get(self.handle, lib.GHOSTTY_TERMINAL_DATA_MODE, out)
        check(code, f"asking for mode {number}")
        return bool(out.value)

    # --- the viewport ------------------------------------------------------------------------------------------------

    def scroll_by(self, rows: int) -> None:
        """Moves the viewport, up where negative."""
        self._scroll(lib.GHOSTTY_SCROLL_VIEWPORT_DELTA, rows)

    def scroll_to(self, row: int) -> None:
        """Moves the viewport to where this row, counted from the oldest of the scrollback, is its first if it can be."""
        self._scroll(lib.GHOSTTY_SCROLL_VIEWPORT_ROW, row)

    def scroll_to_end(self) -> None:
        """Moves the viewport to the screen, which it follows from then on."""
        self._scroll(lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM, 0)

    def _scroll(self, tag: int, amount: int) -> None:
        scroll = new("ClocheScroll*", {"tag": tag, "value": {"amount": amount}})
        terminal_scroll_viewport(self.handle, scroll[0])

    def _set_mode(self, number: int, *, on: bool) -> None:
        """Switches a mode without the effects its sequence has."""
        self._set("MODE", new("GhosttyTerminalModeConfig*", (number, on)))

    # --- text ----------------------------------------------------------------------------------------------------------

    def ref(self, row: int, col: int, *, tag: int = lib.GHOSTTY_POINT_TAG_SCREEN) -> Any:
        """A reference to a cell, good until the terminal is fed; by default row 0 is the oldest of the scrollback."""
        found = sized("GhosttyGridRef")
        code = terminal_grid_ref(self.handle, point(tag, row, col), found)
        check(code, f"finding row {row}, column {col}")
        return found

    def width(self, row: int, col: int) -> int:
        """How many cells the character takes that begins in this one."""
        cell = new("GhosttyCell*")
        check(lib.ghostty_grid_ref_cell(self.ref(row, col), cell), "reading a cell")
        return 2 if (cell[0] >> WIDE_SHIFT) & WIDE_MASK == lib.GHOSTTY_CELL_WIDE_WIDE else 1

    def link(self, row: int, col: int, *, tag: int = lib.GHOSTTY_POINT_TAG_SCREEN) -> str:
        """Where the hyperlink of a cell leads to, without what could end a sequence; empty where there is none."""
        ref = self.ref(row, col, tag=tag)
        target = read_bytes(
            lambda buffer, capacity, length: lib.ghostty_grid_ref_hyperlink_uri(
                ref, buffer, capacity, length
            ),
            "reading a link",
        ).decode(errors="replace")
        return "".join(character for character in target if character.isprintable())

    def selection(self, first: int, last: int, last_col: int) -> Any:
        """The cells from the first of row `first` to this one; rows count from the oldest of the scrollback."""
        made = sized("GhosttySelection")
        made.start = self.ref(first, 0)[0]
        made.end = self.ref(last, last_col)[0]
        return made

    def text(self, first: int, last: int) -> list[str]:
        """The text of these rows, counted from the oldest of the scrollback, without trailing blanks."""
        if last < first:
            return []
        options = sized("GhosttyTerminalSelectionFormatOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_PLAIN
        options.trim = True
        chosen = self.selection(first, last, self.get("COLS") - 1)
        options.selection = chosen

        def allocate(allocator: Any, out: Any, length: Any) -> int:
            format_ = lib.ghostty_terminal_selection_format_alloc
            return int(format_(self.handle, allocator, options[0], out, length))

        rows = read_allocated(allocate, "reading text").decode(errors="replace").split("\n")
        rows += [""] * (last - first + 1 - len(rows))
        return [joined(row).rstrip(" ") for row in rows]

    def printed(self, first: int, last: int) -> str:
        """The bytes that print these rows, counted from the oldest of the scrollback, one line below the other.

        As the library sees it: without links, and without the backgrounds of blanks at the ends of lines.
        """
        options = sized("GhosttyFormatterTerminalOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
        # A wrapped line is one line, which the other terminal wraps anew.
        options.unwrap = options.trim = True
        chosen = self.selection(first, last, self.get("COLS") - 1)
        options.selection = chosen
        formatter = new("GhosttyFormatter*")
        check(lib.ghostty_formatter_terminal_new(NULL, formatter, self.handle, options[0]), "preparing lines")
        try:
            return read_allocated(
                lambda allocator, out, length: lib.ghostty_formatter_format_alloc(
                    formatter[0], allocator, out, length
                ),
                "writing lines",
            ).decode(errors="replace")
        finally:
            lib.ghostty_formatter_free(formatter[0])


class State:
    """What can have changed after any piece of output."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._rows = new("uint16_t*")
        self._cols = new("uint16_t*")
        self._screen = new("GhosttyTerminalScreen*")
        self._scrollback_rows = new("size_t*")
        self._is_ground = new("bool*")
        self._cursor_row = new("uint16_t*")
        names = ("ROWS", "COLS", "ACTIVE_SCREEN", "SCROLLBACK_ROWS", "VT_GROUND", "CURSOR_Y")
        outs = (
            self._rows,
            self._cols,
            self._screen,
            self._scrollback_rows,
            self._is_ground,
            self._cursor_row,
        )
        self._keys = new(
            "GhosttyTerminalData[]", [getattr(lib, f"GHOSTTY_TERMINAL_DATA_{name}") for name in names]
        )
        self._outs = new("void*[]", [ffi.cast("void*", out) for out in outs])

    def read(self) -> None:
        """Asks anew."""
        code = lib.ghostty_terminal_get_multi(self._handle, len(self._keys), self._keys, self._outs, NULL)
        check(code, "asking how things stand")

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._rows[0], self._cols[0]

    @property
    def is_alternate(self) -> bool:
        """Whether the alternate screen is on."""
        return bool(self._screen[0] == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    @property
    def scrollback_rows(self) -> int:
        """How many rows the screen that is on keeps above itself."""
        return int(self._scrollback_rows[0])

    @property
    def is_ground(self) -> bool:
        """Whether no sequence is half received."""
        return bool(self._is_ground[0])

    @property
    def rows_below_cursor(self) -> int:
        """How many newlines go down before the screen scrolls."""
        return int(self._rows[0] - 1 - self._cursor_row[0])
