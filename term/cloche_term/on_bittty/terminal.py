"""A terminal on bittty: the fallback behind `cloche_term.terminal.Terminal`.

The board shows the screen; what bittty has not is here: a scrollback with numbered lines, a view that a person moves,
search, and snapshots. Rule: only this class and `intake` tell the board to do anything.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from bittty.present import RowsScrolledOff, ScrollbackCleared

from cloche_term.errors import SnapshotUnreadable
from cloche_term.keys import Key
from cloche_term.on_bittty import dumps, encoders, resizing, searching, stored
from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.board import make_board
from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.intake import Intake
from cloche_term.on_bittty.rows import Cell, runs_of, text_of
from cloche_term.snapshots import Snapshot, pack
from cloche_term.terminal import (
    DEFAULT_SCROLLBACK_LINES,
    MOST_MATCHES,
    Cursor,
    CursorShape,
    Match,
    Modes,
    Mouse,
    MouseTracking,
    Run,
    check_size,
)

BACKEND: Final = "bittty"
LIBRARY: Final = importlib.metadata.version("bittty")

_TRACKING = {
    "off": MouseTracking.OFF,
    "x10": MouseTracking.PRESSES,
    "normal": MouseTracking.BUTTONS,
    "button": MouseTracking.DRAGS,
    "any": MouseTracking.MOVES,
}


class _Scrolled:
    """Where the board puts the rows that leave its primary screen."""

    keeps_scrollback = True

    def __init__(self, history: History) -> None:
        self._history = history

    def present(self, event: object) -> None:
        """Takes what the board tells; most of it concerns windows, bells and other things nobody here has."""
        if isinstance(event, RowsScrolledOff):
            for line in event.lines:
                self._history.append(line.cells, is_wrapped=line.wrapped)
        elif isinstance(event, ScrollbackCleared):
            self._history.clear()


class _Line(NamedTuple):
    """One row by its number."""

    number: int
    cells: Sequence[Cell]
    is_wrapped: bool


class BitttyTerminal:
    """One terminal on bittty; what its methods do stands in `cloche_term.terminal.Terminal`."""

    backend = BACKEND

    def __init__(self, rows: int, cols: int, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES) -> None:
        check_size(rows, cols)
        self._answers = Answers()
        self._board: Any = make_board(rows, cols, self._answers)
        self._intake = Intake(self._board)
        self._history = History(scrollback_lines)
        self._board.attach_display(_Scrolled(self._history))
        self._view: int | None = None
        self._shown: list[tuple[Run, ...] | None] = [None] * rows
        self._seen_page: Any = None
        self._seen_generation = 0

    @classmethod
    def restore(
        cls, snapshot: Snapshot, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES
    ) -> BitttyTerminal:
        """Makes the terminal again that `snapshot` was taken of.

        Raises:
            SnapshotUnreadable: Another emulator or version has made it, or it makes no sense.
        """
        if (snapshot.backend, snapshot.library) != (BACKEND, LIBRARY):
            raise SnapshotUnreadable(
                f"made by {snapshot.backend} {snapshot.library}, and this is {BACKEND} {LIBRARY}: ask for a dump"
            )
        try:
            rows, cols = int(snapshot.beside["rows"]), int(snapshot.beside["cols"])
            terminal = cls(rows, cols, scrollback_lines=scrollback_lines)
            stored.from_json(terminal._board, terminal._history, json.loads(snapshot.body))
            terminal.feed(bytes.fromhex(snapshot.beside["unfinished"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SnapshotUnreadable("this snapshot does not say what it is of") from error
        return terminal

    @property
    def rows(self) -> int:
        """How many rows the screen has."""
        return int(self._board.height)

    @property
    def cols(self) -> int:
        """How many columns the screen has."""
        return int(self._board.width)

    def feed(self, data: bytes) -> bytes:
        """Takes what the program has written; returns what is answered."""
        self._intake.feed(data)
        return self._answers.take()

    def resize(self, rows: int, cols: int) -> None:
        """Gives the screen another size."""
        check_size(rows, cols)
        resizing.resize(self._board, self._history, rows, cols)
        self._shown = [None] * rows
        self._seen_page = None

    def update(self) -> Sequence[int]:
        """Returns the view's rows that look different since the last call."""
        page = self._board.blitter.main_page
        view = self._current_view()
        if view is not None or page is not self._seen_page:
            suspects: Sequence[int] = range(self.rows)
        else:
            suspects = page.dirty_rows(self._seen_generation)
        self._seen_page = page if view is None else None
        self._seen_generation = page.observe()
        changed = []
        for y in suspects:
            runs = runs_of(self._view_cells(y))
            if runs != self._shown[y]:
                self._shown[y] = runs
                changed.append(y)
        return changed

    def row(self, y: int) -> tuple[Run, ...]:
        """Row `y` of the view as it was at the last `update`."""
        return self._shown[y] or ()

    def text(self) -> tuple[str, ...]:
        """The screen's rows as they are now."""
        return tuple(text_of(cells) for cells in self._board.blitter.main_page.grid)

    def link(self, row: int, col: int) -> str:
        """Where the hyperlink of this cell leads to."""
        if not (0 <= row < self.rows and 0 <= col < self.cols):
            return ""
        return self._view_cells(row)[col][0].hyperlink or ""

    @property
    def cursor(self) -> Cursor:
        """The cursor as it is now, in the view."""
        board = self._board
        row = board.cursor.y + self.first_line - self.view_line
        return Cursor(
            row=row,
            col=board.cursor.display_x,
            is_visible=board.modes.cursor_visible and row < self.rows,
            shape=CursorShape(board.cursor.shape),
            blinks=board.modes.cursor_blinking,
        )

    @property
    def modes(self) -> Modes:
        """The modes as they are now."""
        board = self._board
        modes = board.modes
        return Modes(
            is_alternate=board.blitter.in_alt_screen,
            application_cursor=modes.cursor_application_mode,
            application_keypad=not modes.numeric_keypad,
            bracketed_paste=modes.bracketed_paste,
            focus_events=modes.focus_reporting,
            mouse=_TRACKING[board.mouse.protocol.value],
            alternate_scroll=modes.alternate_scroll_mode,
            is_held=modes.synchronized_output,
            is_reversed=modes.reverse_screen,
            kitty_keyboard=int(board.keyboard.kitty_flags),
        )

    @property
    def title(self) -> str:
        """The window's title."""
        return str(self._board.title.title)

    @property
    def first_line(self) -> int:
        """The number of the primary screen's first row."""
        return self._history.end

    @property
    def scrollback_rows(self) -> int:
        """How many lines are kept above the screen that is on."""
        return 0 if self._board.blitter.in_alt_screen else len(self._history)

    def lines(self, start: int, stop: int) -> tuple[str, ...]:
        """The text of these lines of the screen that is on."""
        oldest = self.first_line - self.scrollback_rows
        numbers = range(max(start, oldest), min(stop, self.first_line + self.rows))
        return tuple(text_of(self._line(number).cells) for number in numbers)

    @property
    def view_line(self) -> int:
        """The number of the view's first line."""
        view = self._current_view()
        return self.first_line if view is None else view

    def scroll(self, lines: int) -> None:
        """Moves the view by so many lines."""
        self.scroll_to(self.view_line + lines)

    def scroll_to(self, line: int) -> None:
        """Moves the view so that this line is its first."""
        self._view = line if line < self.first_line else None

    def scroll_to_end(self) -> None:
        """Moves the view to the screen."""
        self._view = None

    def search(self, text: str, *, limit: int = MOST_MATCHES) -> tuple[Match, ...]:
        """Finds a text in scrollback and screen."""
        oldest = self.first_line - self.scrollback_rows
        lines = (self._line(number) for number in range(oldest, self.first_line + self.rows))
        return searching.find(_joined(lines), text, limit=limit)

    def encode_key(self, key: Key) -> bytes:
        """What this key types."""
        return encoders.encode_key(self._board, self._answers, key)

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """What this move of the mouse types."""
        return encoders.encode_mouse(self._board, self._answers, mouse)

    def encode_paste(self, text: str) -> bytes:
        """What a paste types."""
        return encoders.encode_paste(text, bracketed=self._board.modes.bracketed_paste)

    def encode_focus(self, *, has_focus: bool) -> bytes:
        """What getting or losing the focus types."""
        return encoders.encode_focus(has_focus=has_focus) if self._board.modes.focus_reporting else b""

    def dump(self, *, scrollback_lines: int) -> bytes:
        """Bytes that make this very screen in any terminal of this size."""
        unfinished = self._intake.unfinished
        return dumps.write(self._board, self._history, unfinished, scrollback_lines=scrollback_lines)

    def snapshot(self) -> bytes:
        """Everything, for `restore`."""
        beside = {"rows": self.rows, "cols": self.cols, "unfinished": self._intake.unfinished.hex()}
        whole = stored.to_json(self._board, self._history)
        return pack(Snapshot(BACKEND, LIBRARY, beside, json.dumps(whole, separators=(",", ":")).encode()))

    def close(self) -> None:
        """Gives back what it holds."""
        self._history.clear()

    def _current_view(self) -> int | None:
        """The number of the view's first line, or None while it is the screen."""
        if self._view is None or not self.scrollback_rows:
            return None
        return max(self._view, self._history.dropped)

    def _line(self, number: int) -> _Line:
        """A line that is kept."""
        if number < self.first_line:
            row = self._history[number - self._history.dropped]
            return _Line(number, row.cells, row.is_wrapped)
        page = self._board.blitter.main_page
        y = number - self.first_line
        return _Line(number, page.grid[y], page.wrapped_lines[y])

    def _view_cells(self, y: int) -> Sequence[Cell]:
        number = self.view_line + y
        cells = self._line(number).cells
        return cells if number >= self.first_line else resizing.filled(list(cells), self.cols)


def _joined(lines: Iterator[_Line]) -> Iterator[list[tuple[int, Sequence[Cell]]]]:
    """Rows that are one line, with their numbers."""
    rows: list[tuple[int, Sequence[Cell]]] = []
    for line in lines:
        rows.append((line.number, line.cells))
        if not line.is_wrapped:
            yield rows
            rows = []
    if rows:
        yield rows
