"""Finding text in rows of cells. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from cloche_term.on_bittty.rows import Cell
from cloche_term.terminal import Match

Line = Sequence[tuple[int, Sequence[Cell]]]
"""The rows of one line, with their numbers."""


def find(lines: Iterable[Line], text: str, *, limit: int) -> tuple[Match, ...]:
    """Finds a text, whatever its case, also across the rows of a line.

    Returns:
        The newest `limit` matches, oldest first; of a match in several rows, where it begins and what it covers there.
    """
    wanted = _folded(text)
    newest: deque[Match] = deque(maxlen=limit)
    if wanted:
        for line in lines:
            newest.extend(_find_in(line, wanted))
    return tuple(newest)


def _find_in(line: Line, wanted: str) -> Iterator[Match]:
    whole = "".join(_folded(text) for _, cells in line for _, text in cells)
    start = whole.find(wanted)
    if start < 0:
        return
    places = [
        (number, col)
        for number, cells in line
        for col, (_, text) in enumerate(cells)
        for _ in range(len(text))
    ]
    ends = {number: len(cells) for number, cells in line}
    while start >= 0:
        stop = start + len(wanted)
        number, col = places[start]
        following = places[stop] if stop < len(places) else None
        end = following[1] if following is not None and following[0] == number else ends[number]
        last = places[stop - 1]
        if last[0] == number and (following is None or following[0] != number):
            end = min(end, last[1] + 1)
        yield Match(number, col, end - col)
        start = whole.find(wanted, stop)


def _folded(text: str) -> str:
    """The text in one case, each character still one."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )
