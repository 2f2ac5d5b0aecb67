"""All that a terminal shows, to compare two of them."""

from __future__ import annotations

from typing import Any

from cloche_term.terminal import Terminal


def look_of(terminal: Terminal) -> dict[str, Any]:
    """Rows with their styles, cursor, modes, title and the lines that are kept."""
    terminal.update()
    return {
        "rows": [terminal.row(y) for y in range(terminal.rows)],
        "cursor": terminal.cursor,
        "modes": terminal.modes,
        "title": terminal.title,
        "first_line": terminal.first_line,
        "lines": terminal.lines(0, terminal.first_line + terminal.rows),
    }
