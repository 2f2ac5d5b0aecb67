"""A `Terminal` by libghostty-vt: its parts put together.

The native terminal (`native`) has the state; `view` looks at it, `line_numbers` counts, `encoders` type, `dump` and
`stored` take it elsewhere.
"""

from __future__ import annotations

import weakref
from typing import Any

from cloche_term.errors import SnapshotUnreadable, TerminalError
from cloche_term.keys import Key
from cloche_term.on_ghostty import encoders, stored
from cloche_term.on_ghostty.dump import dump
from cloche_term.on_ghostty.intake import Intake
from cloche_term.on_ghostty.library import LIBRARY, ffi, lib
from cloche_term.on_ghostty.line_numbers import LineNumbers
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.searching import find
from cloche_term.on_ghostty.view import View
from cloche_term.snapshots import Snapshot, pack
from cloche_term.terminal import (
    MOST_MATCHES,
    MOST_TITLE_CHARACTERS,
    Cursor,
    Match,
    Modes,
    Mouse,
    MouseTracking,
    Run,
    check_size,
)

BACKEND = "ghostty"

_TRACKING = (
    (1003, MouseTracking.MOVES),
    (1002, MouseTracking.DRAGS),
    (1000, MouseTracking.BUTTONS),
    (9, MouseTracking.PRESSES),
)


class _Closed:
    """Stands for the parts of a terminal that is closed: the library would read what it has given back."""

    def __getattr__(self, name: str) -> Any:
        raise TerminalError("the terminal is closed")


class GhosttyTerminal:
    """One terminal; see `cloche_term.terminal.Terminal` for what its methods promise."""

    backend = BACKEND

    def __init__(
        self,
        native: NativeTerminal,
        *,
        first_line: int = 0,
        rows_behind: int = 0,
        cancelled: str | None = None,
    ) -> None:
        """Takes over a native terminal, and what is known of it beside."""
        self._native = native
        self._rows, self._cols = native.look().size
        self._view = View(native)
        self._lines = LineNumbers(native, first_line=first_line, rows_behind=rows_behind)
        self._intake = Intake(native, self._lines, cancelled=cancelled)
        self._keys = encoders.KeyEncoder()
        self._mice = encoders.MouseEncoder()
        self._close = weakref.finalize(self, _close, self._view, self._lines, self._keys, self._mice, native)

    @classmethod
    def open(cls, rows: int, cols: int, *, scrollback_lines: int) -> GhosttyTerminal:
        """Makes an empty one."""
        check_size(rows, cols)
        return cls(NativeTerminal.new(rows, cols, scrollback_lines=scrollback_lines))

    @classmethod
    def restore(cls, snapshot: Snapshot, *, scrollback_lines: int) -> GhosttyTerminal:
        """Makes one that was stored by this very build of the library."""
        if snapshot.library != LIBRARY:
            raise SnapshotUnreadable(
                f"made by libghostty-vt {snapshot.library}, and this is {LIBRARY}: ask for a dump instead"
            )
        native, rows_behind = stored.decode(snapshot.body, scrollback_lines=scrollback_lines)
        try:
            beside = snapshot.beside
            first_line = int(beside["first_line"]) + rows_behind - int(beside["known_row"])
            return cls(native, first_line=first_line, rows_behind=rows_behind, cancelled=beside["cancelled"])
        except (KeyError, TypeError, ValueError) as error:
            native.close()
            raise SnapshotUnreadable("what stands beside this snapshot cannot be read") from error

    def close(self) -> None:
        self._close()
        closed: Any = _Closed()
        self._native = self._view = self._lines = self._intake = self._keys = self._mice = closed

    # --- bytes in, answers out ---------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def cols(self) -> int:
        return self._cols

    def feed(self, data: bytes) -> bytes:
        if self._intake.feed(data):
            self._view.forget()
        return self._native.take_answers()

    def resize(self, rows: int, cols: int) -> None:
        check_size(rows, cols)
        if (rows, cols) != (self._rows, self._cols):
            self._rows, self._cols = rows, cols
            self._intake.resize(rows, cols)
            self._view.forget()

    # --- what is shown -------------------------------------------------------------------------------------------------

    def update(self) -> list[int]:
        return self._view.update()

    def row(self, y: int) -> tuple[Run, ...]:
        return self._view.row(y)

    def text(self) -> tuple[str, ...]:
        first = self.scrollback_rows
        return tuple(self._native.text(first, first + self._rows - 1))

    def link(self, row: int, col: int) -> str:
        return self._native.link(row, col, tag=lib.GHOSTTY_POINT_TAG_VIEWPORT)

    @property
    def cursor(self) -> Cursor:
        return self._view.cursor

    @property
    def modes(self) -> Modes:
        native = self._native
        return Modes(
            is_alternate=native.look().is_alternate,
            application_cursor=native.mode(1),
            application_keypad=native.mode(66),
            bracketed_paste=native.mode(2004),
            focus_events=native.mode(1004),
            mouse=next((kind for mode, kind in _TRACKING if native.mode(mode)), MouseTracking.OFF),
            alternate_scroll=native.mode(1007),
            is_held=native.mode(2026),
            is_reversed=native.mode(5),
            kitty_keyboard=native.get("KITTY_KEYBOARD_FLAGS", "uint8_t"),
        )

    @property
    def title(self) -> str:
        found: Any = self._native.get("TITLE", "GhosttyString")
        text = bytes(ffi.buffer(found.ptr, found.len)).decode(errors="replace") if found.len else ""
        return "".join(character for character in text if character.isprintable())[:MOST_TITLE_CHARACTERS]

    # --- lines, scrolling, search --------------------------------------------------------------------------------------

    @property
    def first_line(self) -> int:
        return self._lines.first_line

    @property
    def scrollback_rows(self) -> int:
        return self._native.look().scrollback_rows

    def lines(self, start: int, stop: int) -> tuple[str, ...]:
        kept = self.scrollback_rows
        oldest = self.first_line - kept
        first, last = max(start - oldest, 0), min(stop - oldest, kept + self._rows) - 1
        return tuple(self._native.text(first, last))

    @property
    def view_line(self) -> int:
        bar: Any = self._native.get("SCROLLBAR", "GhosttyTerminalScrollbar")
        return int(self.first_line - self.scrollback_rows + bar.offset)

    def scroll(self, lines: int) -> None:
        self._native.scroll_by(lines)

    def scroll_to(self, line: int) -> None:
        kept = self.scrollback_rows
        self._native.scroll_to(min(max(line - (self.first_line - kept), 0), kept))

    def scroll_to_end(self) -> None:
        self._native.scroll_to_end()

    def search(self, text: str, *, limit: int = MOST_MATCHES) -> tuple[Match, ...]:
        matches = find(self._native, text, limit=limit)
        oldest = self.first_line - self.scrollback_rows
        return tuple(match._replace(line=match.line + oldest) for match in matches)

    # --- what is typed -------------------------------------------------------------------------------------------------

    def encode_key(self, key: Key) -> bytes:
        return self._keys.encode(self._native, key)

    def encode_mouse(self, mouse: Mouse) -> bytes:
        return self._mice.encode(self._native.handle, self._rows, self._cols, mouse)

    def encode_paste(self, text: str) -> bytes:
        return encoders.encode_paste(text, bracketed=self._native.mode(2004))

    def encode_focus(self, *, has_focus: bool) -> bytes:
        return encoders.encode_focus(has_focus=has_focus) if self._native.mode(1004) else b""

    # --- elsewhere -------------------------------------------------------------------------------------------------------

    def dump(self, *, scrollback_lines: int) -> bytes:
        screen = dump(self._native, self._view, title=self.title, scrollback_lines=scrollback_lines)
        return screen + self._intake.unfinished()

    def snapshot(self) -> bytes:
        body = stored.encode(self._native)
        known_row = self._lines.known_row
        beside = {
            "first_line": self.first_line,
            "known_row": self.scrollback_rows if known_row is None else known_row,
            "cancelled": self._intake.cancelled,
        }
        return pack(Snapshot(BACKEND, LIBRARY, beside, body))


def _close(*parts: View | LineNumbers | encoders.KeyEncoder | encoders.MouseEncoder | NativeTerminal) -> None:
    for part in parts:
        part.close()
