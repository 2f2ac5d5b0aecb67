"""The lines of a call in rows of a width, made as they are wanted. Knows no widget.

SAFETY: a guest chooses how many lines there are; nothing here looks further than it was asked to.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import count, islice

from cloche_tui.model.call_text import CallLine
from cloche_tui.model.roles import Line
from cloche_tui.widgets.wrapping import wrap


class CallRows:
    """See the module.

    Args:
        lines: all of them; taken as they are needed.
        width: places in a row, at least 2.
    """

    def __init__(self, lines: Iterable[CallLine], width: int) -> None:
        self.lines: list[CallLine] = []
        """Those that have been taken."""
        self._source = iter(lines)
        self.wrap_to(width)

    def wrap_to(self, width: int) -> None:
        """Begins anew with rows of another width; none is made yet."""
        self.made: list[tuple[Line, int]] = []
        """Each row, and the number of its line."""
        self.is_whole = False
        """Whether there are no more."""
        self._rest = self._wrapped(width)

    def make(self, rows: int) -> None:
        """Makes so many rows more, or as many as there are."""
        before = len(self.made)
        self.made += islice(self._rest, rows)
        self.is_whole = self.is_whole or len(self.made) - before < rows

    def first_row_of(self, line: int) -> int:
        """Where this line begins; 0 if it has no row yet."""
        row = bisect_left(self.made, line, key=lambda made: made[1])
        return row if row < len(self.made) else 0

    def _wrapped(self, width: int) -> Iterator[tuple[Line, int]]:
        for number in count():
            if number == len(self.lines):
                line = next(self._source, None)
                if line is None:
                    return
                self.lines.append(line)
            one = self.lines[number]
            for row in wrap(one.line, width, indent=one.indent):
                yield row, number
