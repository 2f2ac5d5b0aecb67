"""What viewers paint: the rows of a terminal that look different, and what else its widget shows; as bytes, and read again.

    head, counts, styles, (row, how many runs)…, characters of each run…, style of each…, cells of each…, all text

Each style stands there once, and runs refer to it by number. Pure: nothing here reads or writes. Rules:
- SAFETY: a worker may be its guest's. Whatever is read here is checked as a stranger's, and makes values or a
  `FrameError`: rows are as wide as the screen, text has no control characters, numbers are in their ranges.
- It is read within a millisecond where a screen of 40 rows and 120 columns has changed altogether: everything is checked
  by the row or for all of them at once, never by the character.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, starmap

from cloche_term.apart.frames import CONTROLS, MOST_NUMBER, FrameError, State
from cloche_term.terminal import (
    Color,
    Cursor,
    CursorShape,
    Modes,
    MouseTracking,
    Run,
    Style,
    Terminal,
    Underline,
)

MOST_CHARACTERS_A_CELL = 128
"""Of a run, on average; what has more is shown as so many unknown characters."""
UNKNOWN = "\ufffd"

_HEAD = struct.Struct("!IHHBBBHBBqqq")
_COUNTS = struct.Struct("!IIII")
_STYLE = struct.Struct("!IIIHB")
_NUMBER_BYTES = array("I").itemsize

_SHAPES = tuple(CursorShape)
_TRACKINGS = tuple(MouseTracking)
_UNDERLINES = tuple(Underline)
_MOST_KITTY_FLAGS = 31
_STYLES_KNOWN = 16_384
_STYLE_FLAGS = (
    "is_bold",
    "is_faint",
    "is_italic",
    "is_blinking",
    "is_inverse",
    "is_invisible",
    "is_struck",
    "is_overlined",
    "is_link",
)
_MODE_FLAGS = (
    "is_alternate",
    "application_cursor",
    "application_keypad",
    "bracketed_paste",
    "focus_events",
    "alternate_scroll",
    "is_held",
    "is_reversed",
)
_PALETTE, _RGB = 1, 2
_KIND_SHIFT = 24

Rows = Mapping[int, tuple[Run, ...]]


@dataclass(frozen=True, slots=True)
class Painting:
    """What looks different since the painting before, and how all the rest stands."""

    rows: Rows
    """The changed rows of the view, by their places in it; all of them in the first, and where the size is another."""
    size: tuple[int, int]
    """Rows and columns."""
    cursor: Cursor
    modes: Modes
    title: str
    first_line: int
    view_line: int
    scrollback_rows: int
    revision: int
    """How often the terminal has been fed or resized."""
    number: int
    """Which painting of this terminal it is."""


def painting_of(terminal: Terminal, rows: Iterable[int], *, number: int) -> bytes:
    """These rows as of the terminal's last `update`, and how it is now; what stands behind a state."""
    return _head_of(terminal, number) + _body_of({y: terminal.row(y) for y in rows})


def read_painting(state: State, told: bytes, *, known_size: tuple[int, int] | None) -> Painting:
    """The painting that stands behind a state.

    Args:
        state: the state it stands behind.
        told: what does.
        known_size: of the painting that this one changes; None where there is none, so that it must be whole.

    Raises:
        FrameError: there is none, or it says what cannot be.
    """
    try:
        number, row, col, is_visible, shape, blinks, modes, mouse, kitty, first, view, above = (
            _HEAD.unpack_from(told)
        )
        rows = _read_body(told[_HEAD.size :], state)
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"a painting that cannot be read: {error}") from error
    if known_size != (state.rows, state.cols) and len(rows) != state.rows:
        raise FrameError("a painting of a part of what has not been painted yet")
    if row >= state.rows or col >= state.cols or shape >= len(_SHAPES):
        raise FrameError("a cursor that is not in the view")
    if mouse >= len(_TRACKINGS) or kitty > _MOST_KITTY_FLAGS or modes >> len(_MODE_FLAGS):
        raise FrameError("modes that nobody knows")
    if max(abs(first), abs(view), above) > MOST_NUMBER or above < 0:
        raise FrameError("more lines than there ever are")
    return Painting(
        rows=rows,
        size=(state.rows, state.cols),
        cursor=Cursor(row, col, bool(is_visible), _SHAPES[shape], bool(blinks)),
        modes=Modes(mouse=_TRACKINGS[mouse], kitty_keyboard=kitty, **_flags(modes, _MODE_FLAGS)),
        title=state.title,
        first_line=first,
        view_line=view,
        scrollback_rows=above,
        revision=state.revision,
        number=number,
    )


def _head_of(terminal: Terminal, number: int) -> bytes:
    cursor, modes = terminal.cursor, terminal.modes
    return _HEAD.pack(
        number,
        # One that is out of the view is somewhere below it.
        min(cursor.row, terminal.rows - 1),
        min(cursor.col, terminal.cols - 1),
        cursor.is_visible,
        _SHAPES.index(cursor.shape),
        cursor.blinks,
        _bits(modes, _MODE_FLAGS),
        _TRACKINGS.index(modes.mouse),
        modes.kitty_keyboard & _MOST_KITTY_FLAGS,
        terminal.first_line,
        terminal.view_line,
        terminal.scrollback_rows,
    )


def _body_of(rows: Rows) -> bytes:
    places, characters, looks, cells = array("I"), array("I"), array("I"), array("I")
    texts: list[str] = []
    # By identity: a terminal gives equal styles as one object, and to compare them all would cost more.
    numbers: dict[int, int] = {}
    styles: list[bytes] = []
    for y, runs in rows.items():
        places.extend((y, len(runs)))
        for text, style, count in runs:
            number = numbers.get(id(style))
            if number is None:
                number = numbers[id(style)] = len(styles)
                styles.append(_style_bytes(style))
            if len(text) > MOST_CHARACTERS_A_CELL * count:
                text = UNKNOWN * count
            characters.append(len(text))
            looks.append(number)
            cells.append(count)
            texts.append(text)
    shown = "".join(texts).encode(errors="replace")
    counts = _COUNTS.pack(len(styles), len(rows), len(texts), len(shown))
    tables = b"".join(table.tobytes() for table in (places, characters, looks, cells))
    return b"".join((counts, *styles, tables, shown))


def _read_body(body: bytes, state: State) -> Rows:
    style_count, row_count, run_count, text_bytes = _COUNTS.unpack_from(body)
    tables_at = _COUNTS.size + style_count * _STYLE.size
    text_at = tables_at + (2 * row_count + 3 * run_count) * _NUMBER_BYTES
    if row_count > state.rows or run_count > row_count * state.cols or style_count > run_count:
        raise FrameError(f"{row_count} rows of {run_count} runs in {style_count} styles")
    if len(body) != text_at + text_bytes:
        raise FrameError(f"a painting of {len(body)} bytes that says it has {text_at + text_bytes}")
    styles = list(starmap(_read_style, _STYLE.iter_unpack(body[_COUNTS.size : tables_at])))
    numbers = memoryview(body)[tables_at:text_at].cast("I").tolist()
    text = body[text_at:].decode()
    if CONTROLS.search(text):
        raise FrameError("a painting with control characters")
    places, numbers = numbers[: 2 * row_count], numbers[2 * row_count :]
    characters, looks, cells = (
        numbers[:run_count],
        numbers[run_count : 2 * run_count],
        numbers[2 * run_count :],
    )
    if run_count and (max(looks) >= style_count or min(characters) == 0 or min(cells) == 0):
        raise FrameError("runs of no style, no text or no cells")
    ends = list(accumulate(characters, initial=0))
    if ends[-1] != len(text):
        raise FrameError(f"{ends[-1]} characters that are {len(text)}")
    runs = list(
        map(
            Run,
            [text[start:end] for start, end in pairwise(ends)],
            map(styles.__getitem__, looks),
            cells,
        )
    )
    return _read_rows(places, runs, cells, ends, state)


def _read_rows(
    places: Sequence[int], runs: list[Run], cells: list[int], ends: list[int], state: State
) -> Rows:
    """The runs, each in its row."""
    rows, start, above = {}, 0, -1
    for y, count in zip(places[::2], places[1::2], strict=True):
        stop = start + count
        if not above < y < state.rows or stop > len(runs):
            raise FrameError("rows that are not in the view, or not in order")
        if sum(cells[start:stop]) != state.cols:
            raise FrameError(f"row {y} does not fill {state.cols} columns")
        if ends[stop] - ends[start] > MOST_CHARACTERS_A_CELL * state.cols:
            raise FrameError(f"row {y} has more characters than anybody could see")
        rows[y] = tuple(runs[start:stop])
        start, above = stop, y
    if start != len(runs):
        raise FrameError("runs of no row")
    return rows


@lru_cache(maxsize=_STYLES_KNOWN)
def _style_bytes(style: Style) -> bytes:
    return _STYLE.pack(
        _color_number(style.foreground),
        _color_number(style.background),
        _color_number(style.underline_color),
        _bits(style, _STYLE_FLAGS),
        _UNDERLINES.index(style.underline),
    )


@lru_cache(maxsize=_STYLES_KNOWN)
def _read_style(foreground: int, background: int, underline_color: int, flags: int, underline: int) -> Style:
    # By their places: a screen may have thousands of styles that nobody has seen before.
    bold, faint, italic, blinking, inverse, invisible, struck, overlined, link = _style_flags(flags)
    if underline >= len(_UNDERLINES):
        raise FrameError("a style that nobody knows")
    return Style(
        _read_color(foreground),
        _read_color(background),
        _read_color(underline_color),
        bold,
        faint,
        italic,
        blinking,
        inverse,
        invisible,
        struck,
        overlined,
        _UNDERLINES[underline],
        link,
    )


@lru_cache(maxsize=1 << len(_STYLE_FLAGS))
def _style_flags(bits: int) -> tuple[bool, ...]:
    if bits >> len(_STYLE_FLAGS):
        raise FrameError("a style that nobody knows")
    return tuple(_flags(bits, _STYLE_FLAGS).values())


def _color_number(color: Color) -> int:
    if color is None:
        return 0
    if isinstance(color, int):
        return _PALETTE << _KIND_SHIFT | color
    red, green, blue = color
    return _RGB << _KIND_SHIFT | red << 16 | green << 8 | blue


def _read_color(number: int) -> Color:
    kind, value = number >> _KIND_SHIFT, number & ((1 << _KIND_SHIFT) - 1)
    if kind == _RGB:
        return (value >> 16, value >> 8 & 0xFF, value & 0xFF)
    if kind == _PALETTE and value <= 0xFF:
        return value
    if number:
        raise FrameError("a color that nobody knows")
    return None


def _bits(of: object, names: Sequence[str]) -> int:
    return sum(1 << place for place, name in enumerate(names) if getattr(of, name))


def _flags(bits: int, names: Sequence[str]) -> dict[str, bool]:
    return {name: bool(bits >> place & 1) for place, name in enumerate(names)}
