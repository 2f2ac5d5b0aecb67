"""What a worker and who asks it say to each other: one request, one answer, in order; and how that is written in bytes.

    request: kind, length of the payload, payload
    answer:  status, length of the payload, payload; if it is done, the payload begins with the state of the terminal

Pure: nothing here reads or writes. Rules:
- A frame has a bound on both sides.
- SAFETY: a worker is fed by a hostile guest and may be its. What it answers is checked as a stranger's: sizes, text
  without control characters, nothing but values come of it; anything else is a `FrameError`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import IntEnum

from cloche_term.terminal import (
    LARGEST_SIZE,
    MOST_ANSWER_BYTES,
    MOST_MATCHES,
    MOST_TITLE_CHARACTERS,
    Terminal,
)

MOST_FRAME = 64 << 20
"""Bytes of a payload."""
MOST_TEXT = 1_000_000
"""Bytes of the text of a look: every screen of plain letters."""

HEAD = struct.Struct("!BI")
SIZE = struct.Struct("!HH")
LINES = struct.Struct("!I")
NUMBER = struct.Struct("!I")
"""Of a painting."""
MOST_NUMBER = (1 << 53) - 1
"""Of lines, ever."""
MOST_LINK_BYTES = 64 * 1024
MOST_TYPED_BYTES = 1024
"""What one key or one move of the mouse types at most."""
_MOST_LINES = 0xFFFFFFFF
_MOST_CPU_US = 0xFFFFFFFF
_STATE = struct.Struct("!HHBQIH")
_LOOK = struct.Struct("!HHBq")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What no text has that is shown."""


class FrameError(ValueError):
    """This is no frame, or says what cannot be."""


class Kind(IntEnum):
    """What is asked."""

    OPEN = 1
    RESTORE = 2
    FEED = 3
    RESIZE = 4
    DUMP = 5
    SNAPSHOT = 6
    LOOK = 7
    PAINT = 8
    SCROLL = 9
    SCROLL_TO = 10
    SCROLL_TO_END = 11
    SEARCH = 12
    LINES = 13
    LINK = 14
    KEY = 15
    MOUSE = 16
    PASTE = 17
    FOCUS = 18


_MOST_TOLD = {
    Kind.OPEN: 0,
    Kind.RESTORE: 0,
    Kind.FEED: MOST_ANSWER_BYTES,
    Kind.RESIZE: 0,
    Kind.LOOK: MOST_TEXT + LARGEST_SIZE + 100,
    Kind.SCROLL: 0,
    Kind.SCROLL_TO: 0,
    Kind.SCROLL_TO_END: 0,
    Kind.SEARCH: MOST_MATCHES * 16,
    Kind.LINK: MOST_LINK_BYTES,
    Kind.KEY: MOST_TYPED_BYTES,
    Kind.MOUSE: MOST_TYPED_BYTES,
    Kind.FOCUS: MOST_TYPED_BYTES,
}
_MOST_STATE = 4 * MOST_TITLE_CHARACTERS + 100
MOST_REASON = 1000
"""Characters, and bytes, of why something could not be done."""


class Status(IntEnum):
    """What came of it."""

    DONE = 0
    REFUSED = 1
    """What was asked makes no sense; the payload says why."""
    UNREADABLE = 2
    """The snapshot cannot be read here; the payload says why."""
    FAILED = 3
    """The terminal could not do it, and goes on; the payload says why."""


@dataclass(frozen=True, slots=True)
class State:
    """What is cheap to tell of a terminal, with each answer."""

    rows: int
    cols: int
    title: str
    is_alternate: bool
    revision: int
    """How often it has been fed or resized."""
    cpu_s: float
    """How much of a processor the newest request has taken."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a terminal's screen shows as text, at one moment."""

    rows: int
    cols: int
    lines: tuple[str, ...]
    """The rows, without trailing blanks; of a screen of more than `MOST_TEXT`, each cut."""
    cursor_row: int
    cursor_col: int
    is_cursor_visible: bool
    title: str
    is_alternate: bool
    first_line: int
    revision: int


def frame(kind: int, payload: bytes = b"") -> bytes:
    """A request or an answer.

    Raises:
        ValueError: it is larger than `MOST_FRAME`.
    """
    if len(payload) > MOST_FRAME:
        raise ValueError(
            f"{len(payload)} bytes are more than the {MOST_FRAME} a terminal takes or gives at once"
        )
    return HEAD.pack(kind, len(payload)) + payload


def most_told(kind: Kind) -> int:
    """Bytes that stand behind the state at most, in an answer to this."""
    return _MOST_TOLD.get(kind, MOST_FRAME)


def most_answered(kind: Kind) -> int:
    """Bytes that an answer to this has at most."""
    return min(MOST_FRAME, _MOST_STATE + most_told(kind))


def pack_lines(count: int) -> bytes:
    """A number of lines, as far as there can be so many."""
    return LINES.pack(max(0, min(count, _MOST_LINES)))


def state_of(terminal: Terminal, *, revision: int, cpu_s: float) -> bytes:
    """How an answer begins."""
    title = terminal.title.encode(errors="replace")
    cpu_us = min(int(cpu_s * 1_000_000), _MOST_CPU_US)
    rows, cols, is_alternate = terminal.rows, terminal.cols, terminal.modes.is_alternate
    return _STATE.pack(rows, cols, is_alternate, revision, cpu_us, len(title)) + title


def read_state(payload: bytes) -> tuple[State, bytes]:
    """The state an answer begins with, and the rest of it.

    Raises:
        FrameError: it does not begin so.
    """
    try:
        rows, cols, is_alternate, revision, cpu_us, length = _STATE.unpack_from(payload)
        end = _STATE.size + length
        title = payload[_STATE.size : end].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"an answer without a state: {error}") from error
    if len(payload) < end or len(title) > MOST_TITLE_CHARACTERS or not title.isprintable():
        raise FrameError("an answer with a title that no terminal has")
    if not (0 < rows <= LARGEST_SIZE and 0 < cols <= LARGEST_SIZE):
        raise FrameError(f"an answer of a terminal of {rows} rows and {cols} columns")
    return State(rows, cols, title, bool(is_alternate), revision, cpu_us / 1_000_000), payload[end:]


def look_at(terminal: Terminal) -> bytes:
    """A look, behind the state."""
    cursor = terminal.cursor
    lines = terminal.text()
    most = MOST_TEXT // len(lines)
    text = b"\n".join(_cut(line.encode(errors="replace"), most) for line in lines)
    return _LOOK.pack(cursor.row, cursor.col, cursor.is_visible, terminal.first_line) + text


def read_look(state: State, rest: bytes) -> Look:
    """The look that stands behind a state.

    Raises:
        FrameError: there is none.
    """
    try:
        row, col, is_visible, first_line = _LOOK.unpack_from(rest)
        lines = rest[_LOOK.size :].decode().split("\n")
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"a look that cannot be read: {error}") from error
    if len(lines) != state.rows or len(rest) > _LOOK.size + MOST_TEXT + state.rows:
        raise FrameError(f"a look of {len(lines)} rows and {len(rest)} bytes at a screen of {state.rows}")
    if (
        row >= state.rows
        or col >= state.cols
        or abs(first_line) > MOST_NUMBER
        or any(map(CONTROLS.search, lines))
    ):
        raise FrameError("a look at what no screen shows")
    return Look(
        rows=state.rows,
        cols=state.cols,
        lines=tuple(lines),
        cursor_row=row,
        cursor_col=col,
        is_cursor_visible=bool(is_visible),
        title=state.title,
        is_alternate=state.is_alternate,
        first_line=first_line,
        revision=state.revision,
    )


def _cut(line: bytes, most: int) -> bytes:
    return line if len(line) <= most else line[:most].decode(errors="ignore").encode()
