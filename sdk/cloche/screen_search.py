"""Finding on a screen what was not there before: what `Console.until` waits for. Pure.

What is searched is the screen's text: its rows, a line feed between each two, and in the cursor's row blanks up to the
cursor, since a prompt such as `$ ` ends with one that nobody can see otherwise.

*Old* is what was on the screen when something was last found, from its top to the end of what was found, and stands
there unchanged. A match begins in what is not old. Rows are known by their numbers (`Screen.first_line`), so what is
old stays old while the screen scrolls; a row that reads otherwise than then, because it was cleared, redrawn or
rewritten, is not old; and nothing is if the row in which the last match ended is blank.

On the alternate screen nothing is old: full-screen programs redraw as they like. What is old on the other one stays so
meanwhile.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import NamedTuple

from cloche.printable import printable
from cloche.screens import Screen

_SHOWN_LINES = 10
"""Rows of a screen in a message."""
_SHOWN_CHARACTERS = 200
"""Of each of them."""


@dataclass(frozen=True, slots=True)
class Old:
    """What is old since something was found."""

    lines: Mapping[int, str] = field(default_factory=dict)
    """By its number, each line's text as far as it is old."""
    last: int = -1
    """The line in which the last match ended."""

    def stands(self, line: int, row: str) -> bool:
        """Whether a line begins with what is old of it."""
        # Without the blanks: those before the cursor are gone when it has moved on.
        return line in self.lines and row.startswith(self.lines[line].rstrip())


def search(old: Old, pattern: re.Pattern[str], screen: Screen) -> tuple[re.Match[str], Old] | None:
    """The first match in what is new on a screen, and what is old from then on; None if there is none."""
    rows = _rows(screen)
    text = "\n".join(rows)
    if screen.is_alternate:
        found = pattern.search(text)
        return None if found is None else (found, old)
    lines = [
        _Line(number, row, start)
        for number, row, start in zip(count(screen.first_line), rows, _starts(rows), strict=False)
    ]
    if _is_void(old, lines):
        old = Old()
    place = 0
    for start, end in _new_parts(old, lines):
        place = max(place, start)
        if place > end:
            continue
        found = pattern.search(text, place)
        if found is None:
            return None
        if found.start() <= end:
            return found, _old_since(found.end(), old, lines)
        place = found.start()
    return None


class _Line(NamedTuple):
    """A row of a screen."""

    number: int
    text: str
    start: int
    """Where it begins in the text of all rows."""


def _is_void(old: Old, lines: list[_Line]) -> bool:
    """Whether the row of the last match is blank now, or not on the screen any more though it did not scroll off it."""
    row = old.last - lines[0].number
    if row < 0 or not old.lines.get(old.last, "").strip():
        return False
    return row >= len(lines) or not lines[row].text.strip()


def _new_parts(old: Old, lines: list[_Line]) -> Iterator[tuple[int, int]]:
    """Where what is new begins and ends, in each row that has such."""
    for line in lines:
        is_old = old.stands(line.number, line.text)
        known = min(len(old.lines[line.number]), len(line.text)) if is_old else 0
        # What is behind the last match begins with the line feed, if nothing else is in its row.
        if not is_old or known < len(line.text) or line.number >= old.last:
            yield line.start + known, line.start + len(line.text)


def _old_since(end: int, before: Old, lines: list[_Line]) -> Old:
    """What is old when a match has ended at this place in the text."""
    passed = {line.number: line.text[: end - line.start] for line in lines if line.start <= end}
    # A match in a row that was rewritten does not make what is below it new.
    below = {
        line.number: before.lines[line.number]
        for line in lines
        if line.start > end and before.stands(line.number, line.text)
    }
    return Old(passed | below, max(passed))


def pattern_of(wanted: str | re.Pattern[str]) -> re.Pattern[str]:
    """A text as the pattern that finds it; a pattern as it is.

    Raises:
        TypeError: it is neither a text nor a pattern of text.
        ValueError: the text is empty.
    """
    if not isinstance(wanted, str) and not (
        isinstance(wanted, re.Pattern) and isinstance(wanted.pattern, str)
    ):
        raise TypeError(f"what is waited for is a text or a compiled pattern of text, not {wanted!r}")
    if not wanted:
        raise ValueError("an empty text is on every screen; name what is to be waited for")
    return re.compile(re.escape(wanted)) if isinstance(wanted, str) else wanted


def not_shown(wanted: str | re.Pattern[str], why: str, screen: Screen | None) -> str:
    """The message of an error: what was waited for, why it did not come, and the screen's last rows."""
    name = repr(wanted) if isinstance(wanted, str) else f"/{printable(wanted.pattern)}/"
    said = f"the console did not show {printable(name)} {why}"
    if screen is None:
        return f"{said}; its screen has not been told"
    lines = screen.text.split("\n")[-_SHOWN_LINES:] if screen.text else ["(nothing)"]
    shown = [f"  | {printable(line[:_SHOWN_CHARACTERS])}" for line in lines]
    return "\n".join([f"{said}; its screen ends with", *shown])


def _starts(rows: list[str]) -> list[int]:
    """Where each row begins in the text of all."""
    return list(accumulate((len(row) + 1 for row in rows[:-1]), initial=0))


def _rows(screen: Screen) -> list[str]:
    rows = list(screen.lines) or [""]
    at = screen.cursor.row
    if 0 <= at < len(rows):
        rows[at] += " " * (min(screen.cursor.col, screen.cols) - _columns(rows[at]))
    return rows


def _columns(text: str) -> int:
    """How many columns a text takes, near enough to tell how many blanks are behind it."""
    if text.isascii():
        return len(text)
    return sum(_column_count(character) for character in text)


def _column_count(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
