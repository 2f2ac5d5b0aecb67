"""What is marked in a row of a console: matches of a search, what is selected, and the cursor. Pure."""

from __future__ import annotations

from cloche_tui.model.matches import Matches
from cloche_tui.model.picture import Picture
from cloche_tui.model.selection import Bounds
from cloche_tui.widgets.terminal_strips import Mark, Marked


def marks_of(
    picture: Picture, row: int, *, matches: Matches | None, selected: Bounds | None, cursor: Mark
) -> list[Marked]:
    """The marks of a row; later ones are on top.

    Args:
        picture: the console.
        row: of its view.
        matches: what was searched for and found.
        selected: what is selected.
        cursor: how the cursor looks.
    """
    line, marks = picture.view_line + row, list[Marked]()
    for match in matches.on_line(line) if matches is not None else ():
        is_newest = matches is not None and match is matches.current
        if cells := picture.cells_of_match(match, line):
            marks.append(Marked(*cells, Mark.NEWEST_MATCH if is_newest else Mark.MATCH))
    if selected is not None and (cells := selected.columns(line, picture.size[1])):
        marks.append(Marked(*cells, Mark.SELECTED))
    if picture.cursor.is_visible and row == picture.cursor.row:
        marks.append(Marked(*picture.cursor_cells(), cursor))
    return marks
