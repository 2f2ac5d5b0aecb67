"""What a console has shown, as a text file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cloche.errors import BadRequest, NotFound
from cloche_term import TerminalError
from cloche_tui.own_files import typed_path

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
    _write(typed_path(name), text)
    return text.count("\n")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadRequest(f"{path} is there already; give another name") from None
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror or error}") from None


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
