"""What a console has shown, as a text file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.errors import NotFound
from cloche_term import TerminalError
from cloche_tui.own_files import typed_path, write_new

if TYPE_CHECKING:
    from cloche_tui.widgets.terminal_canvas import TerminalCanvas

_LINES_AT_ONCE = 1000


async def save_text(view: TerminalCanvas, name: str) -> int:
    """Writes all lines that are kept; returns how many.

    Args:
        view: which shows the console.
        name: of a file that is not there yet; `~` is the person's home.

    Raises:
        NotFound: nothing has been shown.
        BadRequest: it cannot be written.
    """
    text = await _text(view)
    write_new(typed_path(name), text)
    return text.count("\n")


async def _text(view: TerminalCanvas) -> str:
    terminal, picture = view.terminal, view.picture
    if terminal is None:
        raise NotFound("nothing has been shown here yet")
    lines: list[str] = []
    end = picture.oldest_line + picture.scrollback_rows + picture.size[0]
    try:
        for start in range(picture.oldest_line, end, _LINES_AT_ONCE):
            lines += await terminal.lines(start, min(start + _LINES_AT_ONCE, end))
    except TerminalError:
        raise NotFound("what was shown here is lost") from None
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)
