"""Another size for a bittty board: lines wrapped anew, and rows that go to the scrollback and come back from it.

bittty itself cuts a screen at its bottom, where the newest rows are. Here blank rows below the text go first, then those
at the top; and a screen that grows while the cursor is in its last row shows rows of the scrollback again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cloche_term.on_bittty.history import BLANK, History
from cloche_term.on_bittty.rows import Cell


def resize(board: Any, history: History, rows: int, cols: int) -> None:
    """Gives board and scrollback this size."""
    if cols != board.width:
        history.wrap_to(cols)
        board.resize(cols, board.height)
        _cut_to_width(board)
    if rows < board.height:
        _shrink(board, history, rows)
    elif rows > board.height:
        _grow(board, history, rows)


def _cut_to_width(board: Any) -> None:
    """In one column a wide character has no room: bittty's rows would be longer than the screen is wide."""
    grid = board.blitter.primary_page.grid
    for y, cells in enumerate(grid):
        if len(cells) > board.width:
            grid[y] = [BLANK] * board.width


def _shrink(board: Any, history: History, rows: int) -> None:
    blitter = board.blitter
    primary, alternate = blitter.primary_page, blitter.alt_page
    row = _primary_row(board)
    above = _rows_above(primary, row, rows)
    for y in range(above):
        history.append(primary.grid[y], is_wrapped=primary.wrapped_lines[y])
    primary.scroll_up(above)
    above_alternate = _rows_above(alternate, board.cursor.y, rows) if blitter.in_alt_screen else 0
    alternate.scroll_up(above_alternate)
    _move_primary_row(board, max(0, row - above))
    if blitter.in_alt_screen:
        board.cursor.set_position(None, max(0, board.cursor.y - above_alternate))
    board.resize(board.width, rows)


def _rows_above(page: Any, cursor_row: int, rows: int) -> int:
    """How many rows leave at the top, once the blank ones below text and cursor are gone."""
    used = page.height
    while used > cursor_row + 1 and used > rows and all(cell == BLANK for cell in page.grid[used - 1]):
        used -= 1
    return int(max(0, used - rows))


def _grow(board: Any, history: History, rows: int) -> None:
    row, before = _primary_row(board), board.height
    board.resize(board.width, rows)
    if row != before - 1:
        return
    page = board.blitter.primary_page
    returned = history.take_back(rows - before)
    page.scroll_down(len(returned))
    for y, taken in enumerate(returned):
        page.grid[y] = filled(taken.cells, board.width)
        page.wrapped_lines[y] = taken.is_wrapped
    _move_primary_row(board, row + len(returned))


def filled(cells: list[Cell], cols: int) -> list[Cell]:
    """The cells of a whole row."""
    return cells[:cols] + [BLANK] * (cols - len(cells))


def _primary_row(board: Any) -> int:
    """The row of the primary screen's cursor, which is a saved one while the alternate screen is on."""
    cursor = board.cursor
    return int(cursor.saved[False].y if board.blitter.in_alt_screen else cursor.y)


def _move_primary_row(board: Any, row: int) -> None:
    cursor = board.cursor
    if board.blitter.in_alt_screen:
        cursor.saved[False] = replace(cursor.saved[False], y=row)
    else:
        cursor.set_position(None, row)
