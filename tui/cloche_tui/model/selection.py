"""What a person has selected of a console, in its lines. Pure.

    a press and a drag      the cells between, in reading order
    two presses             words
    three                   whole lines

Lines have the terminal's numbers, so that a selection stays on its text while more is written and while the view is
scrolled. Whoever shows it asks which cells of a line are selected; whoever copies it gives the text of the lines.

Rule: a wide character is selected whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from cloche_tui.model.cells import Glyph, glyph_at

_PARTS_OF_WORDS = frozenset("_-./~@%+#?&=:")
_NOT_AT_THE_END = ".:?"
_PRESSES_WITHIN_S = 0.5
_LINE_END = 1 << 30
"""Behind the last cell of any line."""


class Place(NamedTuple):
    """A cell: a line's number, and a column."""

    line: int
    col: int


class Unit(Enum):
    """What a selection consists of."""

    CELLS = auto()
    WORDS = auto()
    LINES = auto()

    @classmethod
    def of_presses(cls, count: int) -> Unit:
        """What so many presses of the mouse in one place select."""
        return (cls.CELLS, cls.WORDS, cls.LINES)[(count - 1) % 3]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a piece of text begins, and where it ends: at the cell before `stop`."""

    start: Place
    stop: Place

    @property
    def lines(self) -> range:
        """The lines of which something is in it."""
        return range(self.start.line, self.stop.line + 1)

    def columns(self, line: int, cols: int) -> tuple[int, int] | None:
        """The first cell of a line that is in it, and the one behind the last; None where there is none.

        Args:
            line: its number.
            cols: how many cells a line has.
        """
        first = self.start.col if line == self.start.line else 0
        last = min(self.stop.col, cols) if line == self.stop.line else cols
        return (first, last) if line in self.lines and first < last else None

    def text(self, lines: Sequence[Sequence[Glyph]], *, cols: int, joins_wrapped: bool) -> str:
        """The text in it, without blanks at the ends of lines.

        Args:
            lines: what stands in each line in `self.lines`.
            cols: how many cells a line has.
            joins_wrapped: whether a line that is full goes on in the next one. Terminals do not tell; in what scrolls it
                nearly always does, on a screen that a program paints it does not.
        """
        pieces = []
        for number, glyphs in zip(self.lines, lines, strict=True):
            first, last = self.columns(number, cols) or (0, 0)
            piece = "".join(glyph.text for glyph in glyphs if first <= glyph.col < last)
            pieces.append(piece.rstrip(" ") if last == cols else piece)
            goes_on = joins_wrapped and _is_full(glyphs, cols)
            pieces.append("" if goes_on or number == self.stop.line else "\n")
        return "".join(pieces)


def extent(place: Place, unit: Unit, glyphs: Sequence[Glyph]) -> Bounds:
    """The cell, word or line at a place.

    Args:
        place: where.
        unit: which of these.
        glyphs: what stands in the line there.
    """
    if unit is Unit.LINES:
        return Bounds(Place(place.line, 0), Place(place.line, _LINE_END))
    start, stop = (_word if unit is Unit.WORDS else _cell)(glyphs, place.col)
    return Bounds(Place(place.line, start), Place(place.line, stop))


@dataclass(frozen=True, slots=True)
class Selection:
    """From what was pressed to what the pointer is on."""

    anchor: Bounds
    head: Bounds
    unit: Unit

    @property
    def bounds(self) -> Bounds:
        """All that is selected."""
        return Bounds(min(self.anchor.start, self.head.start), max(self.anchor.stop, self.head.stop))

    @property
    def is_empty(self) -> bool:
        """Whether the button was pressed, and nothing else."""
        return self.unit is Unit.CELLS and self.anchor == self.head


class Pointing:
    """Presses, drags and releases of the mouse button that selects.

    Attributes:
        selection: what is selected; None: nothing.
        is_dragging: whether the button is down.
    """

    def __init__(self) -> None:
        self.selection: Selection | None = None
        self.is_dragging = False
        self._presses = 0
        self._pressed_at = float("-inf")
        self._pressed: Place | None = None

    def pressed(self, place: Place, glyphs: Sequence[Glyph], now: float) -> None:
        """The button goes down. In the same place within a moment it counts as one more press.

        Args:
            place: where.
            glyphs: what stands in the line there.
            now: the time in seconds.
        """
        is_again = place == self._pressed and now - self._pressed_at <= _PRESSES_WITHIN_S
        self._presses = self._presses + 1 if is_again else 1
        self._pressed, self._pressed_at = place, now
        unit = Unit.of_presses(self._presses)
        pressed = extent(place, unit, glyphs)
        self.selection, self.is_dragging = Selection(pressed, pressed, unit), True

    def moved(self, place: Place, glyphs: Sequence[Glyph]) -> bool:
        """The pointer is there; returns whether that changes what is selected."""
        if not self.is_dragging or self.selection is None:
            return False
        before = self.selection
        self.selection = replace(before, head=extent(place, before.unit, glyphs))
        return self.selection != before

    def released(self) -> bool:
        """The button goes up; returns whether anything is selected by that."""
        was_dragging, self.is_dragging = self.is_dragging, False
        if self.selection is not None and self.selection.is_empty:
            self.selection = None
        return was_dragging and self.selection is not None

    def clear(self) -> None:
        """Selects nothing."""
        self.selection, self.is_dragging = None, False


def word_at(glyphs: Sequence[Glyph], col: int) -> str:
    """The word in this cell, such as a name, a path or an address; what else stands there where there is none."""
    start, stop = _word(glyphs, col)
    return "".join(glyph.text for glyph in glyphs if start <= glyph.col < stop)


def _cell(glyphs: Sequence[Glyph], col: int) -> tuple[int, int]:
    glyph = glyph_at(glyphs, col)
    return (glyph.col, glyph.col + glyph.cells) if glyph else (col, col + 1)


def _word(glyphs: Sequence[Glyph], col: int) -> tuple[int, int]:
    at = next((at for at, glyph in enumerate(glyphs) if glyph.col <= col < glyph.col + glyph.cells), None)
    if at is None:
        return col, col + 1
    kind = _kind(glyphs[at])
    if kind is None:
        return _cell(glyphs, col)
    first = last = at
    while first > 0 and _kind(glyphs[first - 1]) is kind:
        first -= 1
    while last + 1 < len(glyphs) and _kind(glyphs[last + 1]) is kind:
        last += 1
    # A sentence's end is no part of its last word.
    while last > at and glyphs[last].text in _NOT_AT_THE_END:
        last -= 1
    return glyphs[first].col, glyphs[last].col + glyphs[last].cells


def _is_full(glyphs: Sequence[Glyph], cols: int) -> bool:
    last = glyphs[-1] if glyphs else None
    return last is not None and last.col + last.cells >= cols and not last.text.isspace()


class _Kind(Enum):
    BLANK = auto()
    WORD = auto()


def _kind(glyph: Glyph) -> _Kind | None:
    """What it is a part of; None of what stands alone, such as a bracket."""
    character = glyph.text[0]
    if character.isspace():
        return _Kind.BLANK
    return _Kind.WORD if character.isalnum() or character in _PARTS_OF_WORDS else None
