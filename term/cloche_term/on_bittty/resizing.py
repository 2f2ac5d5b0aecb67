"""Another size for a bittty board: lines wrapped anew, and rows that go to the scrollback and come back from it.

bittty itself cuts a screen at its bottom, where the newest rows are. Here blank rows below the text go first, then those
at the top; and a screen that grows while the cursor is in its last row shows rows of the scrollback again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.rows import Cell
from cloche_term.on_bittty.wrapping import BLANK, Row, ends_at, wrap_anew


def resize(board: Any, history: History, rows: int, cols: int) -> None:
    """Gives board and scrollback this size."""
    if cols != board.width:
        _rewrap(board, history, cols)
    if rows < board.height:
        _shrink(board, history, rows)
    elif rows > board.height:
        _grow(board, history, rows)


def _rewrap(board: Any, history: History, cols: int) -> None:
    """Wraps the lines of scrollback and primary screen anew; the alternate screen is cut."""
    page, height = board.blitter.primary_page, board.height
    row, col = _primary_cursor(board)
    used = max(row + 1, *(y + 1 for y in range(height) if ends_at(page.grid[y])), 1)
    rows = [Row(kept.cells, kept.is_wrapped) for kept in history]
    rows += [Row(page.grid[y], page.wrapped_lines[y]) for y in range(used)]
    above = len(history)
    wrapped, (cursor, top) = wrap_anew(rows, cols, [(above + row, col), (above, 0)])
    # The screen begins where it began. If that is more than it holds, or it was full, it ends with the text.
    is_full = row == height - 1 or len(wrapped) - top[0] > height
    first = max(0, len(wrapped) - height) if is_full else top[0]
    history.replace(wrapped[:first])
    board.resize(cols, height)
    shown = wrapped[first : first + height]
    page.grid[:] = [filled(list(shown[y].cells) if y < len(shown) else [], cols) for y in range(height)]
    page.wrapped_lines[:] = [y < len(shown) and shown[y].is_wrapped for y in range(height)]
    _move_primary_cursor(board, max(0, cursor[0] - first), cursor[1])


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
    return _primary_cursor(board)[0]


def _primary_cursor(board: Any) -> tuple[int, int]:
    """The place of the primary screen's cursor, which is a saved one while the alternate screen is on.

    Behind a full row it is in the column after the last one. A saved one may stand below a screen that has shrunk since.
    """
    cursor = board.cursor.saved[False] if board.blitter.in_alt_screen else board.cursor
    col = max(0, min(cursor.x, board.width - 1))
    return max(0, min(int(cursor.y), int(board.height) - 1)), int(col + cursor.wrap_pending)


def _move_primary_row(board: Any, row: int) -> None:
    _move_primary_cursor(board, row, _primary_cursor(board)[1])


def _move_primary_cursor(board: Any, row: int, col: int) -> None:
    cursor = board.cursor
    is_pending = col >= board.width
    col = min(col, board.width - 1)
    if board.blitter.in_alt_screen:
        cursor.saved[False] = replace(cursor.saved[False], x=col, y=row, wrap_pending=is_pending)
        return
    cursor.set_position(col, row)
    if is_pending:
        cursor.arm_pending_wrap()
