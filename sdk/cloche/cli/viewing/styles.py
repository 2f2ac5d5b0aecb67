"""How a part of a row of cells is told to a terminal. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cloche.cli.columns import width_of
from cloche_term.rendition import rendition

if TYPE_CHECKING:
    from cloche_term import Run

# SAFETY: an emulator puts no control character into a cell; should it ever, it shows as something unknown.
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f]")


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
            told.append(f"{place}{rendition(run.style)}{text}")
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
