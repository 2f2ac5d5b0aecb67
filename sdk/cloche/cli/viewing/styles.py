"""How a run of cells is told to a terminal: SGR for a style, and the part of a text that fits. Pure."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from cloche.cli.columns import width_of

if TYPE_CHECKING:
    from cloche_term import Run, Style

_FLAGS = (
    ("is_bold", "1"),
    ("is_faint", "2"),
    ("is_italic", "3"),
    ("is_blinking", "5"),
    ("is_inverse", "7"),
    ("is_invisible", "8"),
    ("is_struck", "9"),
    ("is_overlined", "53"),
)
_FOREGROUND, _BACKGROUND, _UNDERLINE = 30, 40, 50
# SAFETY: an emulator puts no control character into a cell; should it ever, it shows as something unknown.
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f]")


@functools.lru_cache(maxsize=4096)
def sgr(style: Style) -> str:
    """What makes the cells that follow look like this, whatever they looked like before."""
    parts = ["0", *(number for name, number in _FLAGS if getattr(style, name))]
    if style.underline.value:
        parts.append(f"4:{style.underline.value}" if style.underline.value > 1 else "4")
    parts += _colour(style.foreground, _FOREGROUND)
    parts += _colour(style.background, _BACKGROUND)
    parts += _colour(style.underline_color, _UNDERLINE)
    return f"\x1b[{';'.join(parts)}m"


def _colour(colour: int | tuple[int, int, int] | None, base: int) -> list[str]:
    match colour:
        case None:
            return []
        case int(number) if number < 8 and base != _UNDERLINE:
            return [str(base + number)]
        case int(number):
            return [f"{base + 8};5;{number}"]
        case (red, green, blue):
            return [f"{base + 8};2;{red};{green};{blue}"]


def cells_of(runs: tuple[Run, ...], left: int, width: int, row: int) -> str:
    """A part of a row, as it is told to a terminal.

    Args:
        runs: all of the row.
        left: the first cell that is shown.
        width: how many are.
        row: the terminal's, from 1: a run that may be of another width there than here begins where it belongs.
    """
    told, at = [], 0
    for run in runs:
        end = at + run.cells
        if end > left and at < left + width:
            first, last = max(left - at, 0), min(left + width - at, run.cells)
            text = _NO_TEXT.sub("\ufffd", _cut(run.text, run.cells, first, last))
            place = "" if run.text.isascii() else f"\x1b[{row};{max(at - left, 0) + 1}H"
            told.append(f"{place}{sgr(run.style)}{text}")
            if place:
                # The terminal may have another opinion on how wide that was.
                told.append(f"\x1b[{row};{at + last - left + 1}H" if at + last < left + width else "")
        at = end
    return "".join(told)


def _cut(text: str, cells: int, first: int, last: int) -> str:
    """The cells from `first` to `last` of a text that takes so many; a wide character cut in two is a blank."""
    if first == 0 and last == cells:
        return text
    if len(text) == cells and text.isascii():
        return text[first:last]
    kept, at = "", 0
    for character in text:
        width = width_of(character)
        if first <= at and at + width <= last:
            kept += character
        elif at < last and at + width > first and width:
            kept += " " * (min(at + width, last) - max(at, first))
        at += width
    return kept
