"""Rows of a console as Textual draws them. Pure: the same row and marks always make the same strip.

Rules:
- A strip is exactly as wide as it is said to be, whatever Textual thinks of the width of a character.
- What is marked (the cursor, a selection, matches of a search) differs by reverse, bold or underline as well as by color.
- SAFETY: a guest's text becomes plain segments, never markup; the terminal has taken out control characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from cloche_term.terminal import Color, Run, Style, Underline
from cloche_tui.model.cells import cut_cells, glyphs_in

UNKNOWN = "\ufffd"
_TURNS = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What turns its neighbours round, or ends a line; it has no cell of its own."""


class Mark(StrEnum):
    """What a part of a row is besides what stands there."""

    SELECTED = "selected"
    MATCH = "match"
    NEWEST_MATCH = "newest match"
    """The one the person has gone to."""
    CURSOR_BLOCK = "cursor block"
    CURSOR_UNDERLINE = "cursor underline"
    CURSOR_BAR = "cursor bar"
    CURSOR_IDLE = "cursor idle"
    """Of a console that does not have the keyboard."""


class Marked(NamedTuple):
    """Cells of a row that are marked; of several marks the last one is on top."""

    first: int
    last: int
    """Not included."""
    mark: Mark


# A terminal's cells have no lines at their left, so a bar is told from a block by being dim.
_LOOKS = {
    Mark.MATCH: RichStyle(reverse=True, bold=False, dim=True),
    Mark.NEWEST_MATCH: RichStyle(reverse=True, bold=True),
    Mark.CURSOR_UNDERLINE: RichStyle(underline=True, bold=True),
    Mark.CURSOR_IDLE: RichStyle(underline=True),
}
_TURNED = frozenset((Mark.SELECTED, Mark.CURSOR_BLOCK, Mark.CURSOR_BAR))
_DIM = RichStyle(dim=True)


def strip_of(
    runs: Sequence[Run],
    *,
    left: int,
    width: int,
    base: RichStyle,
    is_reversed: bool = False,
    marks: Sequence[Marked] = (),
) -> Strip:
    """A part of a row.

    Args:
        runs: all of the row.
        left: the first cell that is shown.
        width: how many are.
        base: how plain text looks.
        is_reversed: whether the program has turned the colors of the whole screen around.
        marks: which cells are marked.
    """
    segments: list[Segment] = []
    at, right = 0, left + width
    borders = sorted({border for mark in marks for border in (mark.first, mark.last)})
    for run in runs:
        end = at + run.cells
        if end > left and at < right:
            style = rich_style(run.style, is_reversed=is_reversed)
            # SAFETY: a terminal that turns text round does so to the end of its line, beyond this console's edge.
            shown = run.text if run.text.isascii() else _TURNS.sub("", run.text)
            for first, last in _parts(max(at, left), min(end, right), borders):
                text = _fitted(cut_cells(shown, run.cells, first - at, last - at), last - first)
                if run.style.is_invisible:
                    text = " " * (last - first)
                segments.append(Segment(text, _marked(base + style, first, marks)))
        at = end
    if (missing := right - max(at, left)) > 0:
        segments.append(Segment(" " * missing, base))
    return Strip(segments, width)


def border_strip(strip: Strip, width: int, base: RichStyle) -> Strip:
    """A row of a console in a window that is wider: with a border behind it."""
    rest = width - strip.cell_length
    if rest <= 0:
        return strip
    return Strip([*strip, Segment("│", base + _DIM), Segment(" " * (rest - 1), base)], width)


def border_below(cols: int, width: int, base: RichStyle) -> Strip:
    """The border below a console in a window that is higher."""
    line = "─" * min(cols, width) + ("┘" if cols < width else "")
    return Strip([Segment(line, base + _DIM), Segment(" " * (width - len(line)), base)], width)


def text_strip(text: str, width: int, style: RichStyle) -> Strip:
    """A line of text of ours, cut or filled to the width."""
    return Strip([Segment(text, style)]).adjust_cell_length(width, style)


@lru_cache(maxsize=8192)
def rich_style(style: Style, *, is_reversed: bool = False) -> RichStyle:
    """A terminal's style as Rich has it, which knows one kind of underline."""
    return RichStyle(
        color=_rich_color(style.foreground),
        bgcolor=_rich_color(style.background),
        bold=style.is_bold or None,
        dim=style.is_faint or None,
        italic=style.is_italic or None,
        blink=style.is_blinking or None,
        reverse=style.is_inverse is not is_reversed or None,
        strike=style.is_struck or None,
        overline=style.is_overlined or None,
        underline=style.underline is not Underline.NONE or style.is_link or None,
    )


def _rich_color(color: Color) -> RichColor | None:
    if color is None:
        return None
    return RichColor.from_ansi(color) if isinstance(color, int) else RichColor.from_rgb(*color)


def _parts(first: int, last: int, borders: Sequence[int]) -> list[tuple[int, int]]:
    """Cells from `first` to `last`, cut at the borders of marks."""
    if not borders:
        return [(first, last)]
    cuts = [first, *(border for border in borders if first < border < last), last]
    return list(pairwise(cuts))


def _marked(style: RichStyle, col: int, marks: Sequence[Marked]) -> RichStyle:
    for mark in marks:
        if mark.first <= col < mark.last:
            style = _with_mark(style, mark.mark)
    return style


@lru_cache(maxsize=8192)
def _with_mark(style: RichStyle, mark: Mark) -> RichStyle:
    if mark in _TURNED:
        # What is in reverse already must be seen as well.
        return style + RichStyle(reverse=not style.reverse, dim=True if mark is Mark.CURSOR_BAR else None)
    return style + _LOOKS[mark]


def _fitted(text: str, cells: int) -> str:
    """A text that Textual takes to be as wide as the terminal says it is."""
    if len(text) == cells and text.isascii():
        return text
    if cell_len(text) == cells:
        return text
    glyphs = glyphs_in(text, cells)
    fitted = "".join(_fitted_glyph(glyph.text, glyph.cells) for glyph in glyphs)
    # What joins one glyph to the next is only seen in the whole.
    return (
        fitted if cell_len(fitted) == cells else "".join(_base(glyph.text, glyph.cells) for glyph in glyphs)
    )


def _fitted_glyph(text: str, cells: int) -> str:
    return text if cell_len(text) == cells else _base(text, cells)


def _base(text: str, cells: int) -> str:
    """A glyph without what combines with it."""
    shown = text[0] if 0 < cell_len(text[0]) <= cells else UNKNOWN
    return shown + " " * (cells - cell_len(shown))
