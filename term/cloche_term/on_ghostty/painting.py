"""Lines of runs as the bytes that print them, one below the other, in a terminal that was just reset.

Pure writing. Rules:
- A line that was wrapped is printed without a line break behind it, so that the other terminal wraps it too, and wraps
  it anew when its size changes.
- A wrap takes the background of the text with it into the new row; what lies behind the text there is erased again.
- After characters of which terminals may not agree how wide they are, the column is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from cloche_term.rendition import rendition
from cloche_term.terminal import PLAIN, Run

RESET = "\x1b[0m"
_ERASE_REST = "\x1b[K"


class Line(NamedTuple):
    """One row of a screen or its scrollback."""

    runs: tuple[Run, ...]
    is_wrapped: bool
    """Its text goes on in the next row."""
    has_filler: bool
    """Its last cell is blank because a wide character had no room there."""
    begins_wide: bool
    """Its first character is wide."""


def paint(lines: Iterable[Line], link: Callable[[int, int], str]) -> Iterator[str]:
    """Prints the lines; the cursor ends in the last one, with a plain pen.

    Args:
        lines: From top to bottom.
        link: Where the hyperlink of a cell leads to, by the number of its line here and its column.
    """
    goes_on = False
    for number, (line, following) in enumerate(_with_following(lines)):
        if number and not goes_on:
            yield "\r\n"
        was_wrapped, goes_on = goes_on, line.is_wrapped and following is not None
        if not goes_on:
            runs = _without_blanks(line.runs, at_least=1 if was_wrapped else 0)
        elif line.has_filler and following is not None and following.begins_wide:
            runs = _shortened(line.runs)
        else:
            runs = line.runs
        yield from _row(_with_links(runs, number, link))
        if was_wrapped and not goes_on and _cells(runs) < _cells(line.runs):
            yield _ERASE_REST


def _with_following(lines: Iterable[Line]) -> Iterator[tuple[Line, Line | None]]:
    """Each line with the one below it."""
    above: Line | None = None
    for line in lines:
        if above is not None:
            yield above, line
        above = line
    if above is not None:
        yield above, None


def _cells(runs: Iterable[Run]) -> int:
    return sum(run.cells for run in runs)


def _without_blanks(runs: tuple[Run, ...], *, at_least: int) -> tuple[Run, ...]:
    """The runs without the blank cells at their end that a reset terminal has anyway."""
    kept = list(runs)
    while kept and kept[-1].style == PLAIN and not kept[-1].text.rstrip(" "):
        kept.pop()
    if kept and kept[-1].style == PLAIN:
        text = kept[-1].text.rstrip(" ")
        kept[-1] = Run(text, PLAIN, kept[-1].cells - (len(kept[-1].text) - len(text)))
    if not kept and at_least:
        kept = [Run(" " * at_least, PLAIN, at_least)]
    return tuple(kept)


def _shortened(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """The runs without their last cell, which is blank."""
    *before, last = runs
    return (*before, Run(last.text[:-1], last.style, last.cells - 1)) if last.cells > 1 else tuple(before)


def _with_links(
    runs: Iterable[Run], number: int, link: Callable[[int, int], str]
) -> Iterator[tuple[int, Run, str]]:
    """Each run with its column and where it leads to; runs are split where that changes."""
    col = 0
    for run in runs:
        if run.style.is_link and len(run.text) == run.cells:
            begins, target = 0, link(number, col)
            for index in range(1, run.cells):
                other = link(number, col + index)
                if other != target:
                    yield col + begins, Run(run.text[begins:index], run.style, index - begins), target
                    begins, target = index, other
            yield col + begins, Run(run.text[begins:], run.style, run.cells - begins), target
        else:
            yield col, run, link(number, col) if run.style.is_link else ""
        col += run.cells


def _row(runs: Iterable[tuple[int, Run, str]]) -> Iterator[str]:
    pen, linked, is_unsure = PLAIN, "", False
    for col, run, target in runs:
        if is_unsure:
            yield f"\x1b[{col + 1}G"
        if run.style != pen:
            yield rendition(run.style)
            pen = run.style
        if target != linked:
            yield f"\x1b]8;;{target}\x1b\\"
            linked = target
        yield run.text
        is_unsure = not run.text.isascii()
    if linked:
        yield "\x1b]8;;\x1b\\"
    if pen != PLAIN:
        yield RESET
