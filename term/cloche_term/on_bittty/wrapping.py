"""Lines cut into rows of another width. Pure.

A line is as many rows as say that they go on in the next one; the scrollback's and the screen's are one text here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bittty.style import Style
from bittty.video import CONTINUATION

from cloche_term.on_bittty.rows import Cell

BLANK: Cell = (Style(), " ")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row, and whether its line goes on in the next."""

    cells: Sequence[Cell]
    is_wrapped: bool


@dataclass(slots=True)
class _Line:
    cells: list[Cell] = field(default_factory=list)
    row_starts: list[int] = field(default_factory=list)
    """At which cell each of its rows begins."""
    places: list[int] = field(default_factory=list)
    """Which of the places asked for are in it."""


def wrap_anew(
    rows: Sequence[Row], cols: int, places: Sequence[tuple[int, int]]
) -> tuple[list[Row], list[tuple[int, int]]]:
    """Cuts lines into rows of at most so many cells.

    Args:
        rows: All rows, oldest first.
        cols: The new width.
        places: Rows and columns to be found again, such as the cursor's.

    Returns:
        The new rows; and where the places are in them. A place right behind a full row is in its column `cols`.
    """
    wrapped: list[Row] = []
    found = dict.fromkeys(range(len(places)), (0, 0))
    first = 0
    for line in _lines(rows, places):
        offsets = [line.row_starts[places[number][0] - first] + places[number][1] for number in line.places]
        first += len(line.row_starts)
        line.cells += [BLANK] * (max(offsets, default=0) - len(line.cells))
        starts = []
        for start, piece, goes_on in _cut(line.cells, cols):
            starts.append(start)
            wrapped.append(Row(piece, goes_on))
        for number, offset in zip(line.places, offsets, strict=True):
            index = max(i for i, start in enumerate(starts) if start <= offset)
            found[number] = (len(wrapped) - len(starts) + index, min(offset - starts[index], cols))
    return wrapped, list(found.values())


def ends_at(cells: Sequence[Cell]) -> int:
    """Where the blanks at a row's end begin."""
    end = len(cells)
    while end and cells[end - 1] == BLANK:
        end -= 1
    return end


def begins_wide(cells: Sequence[Cell]) -> bool:
    """Whether the first character takes two cells."""
    return len(cells) > 1 and cells[1][1] == CONTINUATION


def _lines(rows: Sequence[Row], places: Sequence[tuple[int, int]]) -> Iterator[_Line]:
    line = _Line()
    for number, row in enumerate(rows):
        line.places += [index for index, (place, _) in enumerate(places) if place == number]
        line.row_starts.append(len(line.cells))
        is_last = number + 1 == len(rows) or not row.is_wrapped
        if is_last:
            line.cells += row.cells[: ends_at(row.cells)]
            yield line
            line = _Line()
        elif row.cells and row.cells[-1] == BLANK and begins_wide(rows[number + 1].cells):
            line.cells += row.cells[:-1]  # blank only because the wide character had no room
        else:
            line.cells += row.cells


def _cut(cells: Sequence[Cell], cols: int) -> Iterator[tuple[int, Sequence[Cell], bool]]:
    """Pieces with where they begin; a wide character stays whole, or is dropped where it has no room at all."""
    start = 0
    while len(cells) - start > cols:
        stop = start + cols
        if cells[stop][1] == CONTINUATION:
            stop -= 1
        if stop == start:
            yield start, [BLANK], True
            start += 2
        else:
            yield start, cells[start:stop], True
            start = stop
    yield start, cells[start:], False
