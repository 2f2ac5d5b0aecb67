"""The text a person copies from a console, which its terminal has to be asked for where it is not in the view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche_tui.model.cells import glyphs_in
from cloche_tui.model.picture import Picture
from cloche_tui.model.selection import Bounds, Place, Unit, extent

if TYPE_CHECKING:
    from cloche_term.apart.terminals import ApartTerminal


async def copied_text(terminal: ApartTerminal, picture: Picture, bounds: Bounds | None) -> str:
    """The text between two places of a console, as far as it is kept.

    Args:
        terminal: the console's.
        picture: what it shows.
        bounds: which text; None: all that is in the view.

    Raises:
        TerminalError: the terminal is lost.
    """
    bounds = _kept(bounds or _view(picture), picture.oldest_line)
    texts = await terminal.lines(bounds.start.line, bounds.stop.line + 1)
    lines = [glyphs_in(text) for text in texts]
    # What is below the last line that was written is not there.
    lines += [()] * (len(bounds.lines) - len(lines))
    # In the alternate screen a program says itself where lines end.
    text = bounds.text(lines, cols=picture.size[1], joins_wrapped=not picture.modes.is_alternate)
    return text.rstrip("\n") if bounds.stop.line > bounds.start.line else text


def _view(picture: Picture) -> Bounds:
    first, last = picture.view_line, picture.view_line + picture.size[0] - 1
    return Bounds(Place(first, 0), extent(Place(last, 0), Unit.LINES, ()).stop)


def _kept(bounds: Bounds, oldest_line: int) -> Bounds:
    oldest = Place(oldest_line, 0)
    return Bounds(max(bounds.start, oldest), max(bounds.stop, oldest))
