"""Which columns of a table there is room for, and how wide each is. Pure.

Rule: columns leave from the least important on until the others have their least width; what is left over then goes to
those that can use it. The order on the screen is always that of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from cloche_tui.model.roles import Line, Role

GAP = 1
"""Places between two columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it would like to be."""

    key: str
    title: str
    width: int
    """The least it can do with."""
    most: int | None = None
    """The most it can use; None: its least."""
    rank: int = 0
    """0: always there. Else the column with the highest rank leaves first."""
    is_right: bool = False
    """Whether what is in it stands at its right."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A column as it is."""

    column: Column
    at: int
    """Its first place."""
    width: int


def place_columns(columns: Sequence[Column], width: int) -> tuple[Placed, ...]:
    """The columns there is room for, from the left."""
    kept = [column for column in columns if column.rank == 0]
    room = width - _taken(kept)
    for column in sorted((column for column in columns if column.rank), key=lambda column: column.rank):
        if column.width + GAP > room:
            break
        kept.append(column)
        room -= column.width + GAP
    widths = {column.key: column.width for column in kept}
    _share_out(kept, widths, room)
    placed, at = [], 0
    for column in columns:
        if column.key in widths:
            placed.append(Placed(column, at, widths[column.key]))
            at += widths[column.key] + GAP
    return tuple(placed)


def _taken(columns: Sequence[Column]) -> int:
    return sum(column.width + GAP for column in columns) - GAP


def _share_out(columns: Sequence[Column], widths: dict[str, int], room: int) -> None:
    """Widens what can use it, all alike."""
    hungry = [column for column in columns if column.most is not None and column.most > column.width]
    while room > 0 and hungry:
        share = max(room // len(hungry), 1)
        for column in hungry[: room if share == 1 else None]:
            assert column.most is not None
            given = min(share, column.most - widths[column.key])
            widths[column.key] += given
            room -= given
        hungry = [column for column in hungry if widths[column.key] < (column.most or 0)]


def fit(line: Line, width: int, *, is_right: bool = False) -> list[tuple[str, Role]]:
    """A line in exactly so many places: cut with `…` at its end, or filled up with blanks."""
    pieces, left = [], width
    for span in line:
        wide = len(span.text) if span.text.isascii() else cell_len(span.text)
        if wide > left:
            pieces.append((_cut(span.text, left), span.role))
            left = 0
            break
        pieces.append((span.text, span.role))
        left -= wide
    if left:
        pieces.insert(0 if is_right else len(pieces), (" " * left, Role.PLAIN))
    return pieces


def _cut(text: str, width: int) -> str:
    return "" if width <= 0 else f"{set_cell_size(text, width - 1)}…"
