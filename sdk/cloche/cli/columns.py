"""How wide texts are on a terminal, and how columns of them fit into one. Pure.

Rule: what is cut ends with `…`, so that nobody takes the beginning for the whole.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

GAP = "  "
"""Between columns."""
_LEAST = 8
"""Of a column that is made narrower."""


def width_of(text: str) -> int:
    """How many places of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_places, text))


def cut(text: str, most: int) -> str:
    """A text of at most so many places."""
    if width_of(text) <= most:
        return text
    kept, room = "", most - 1
    for character in text:
        room -= _places(character)
        if room < 0:
            break
        kept += character
    return f"{kept}…" if most > 0 else ""


def padded(text: str, width: int) -> str:
    """A text with blanks behind it, up to a width."""
    return text + " " * (width - width_of(text))


def fit(widths: Sequence[int], most: int, shrinking: Collection[int]) -> list[int]:
    """Widths of columns that together fit into so many places, as far as that goes.

    Args:
        widths: as the columns would like.
        most: with the gaps between them.
        shrinking: the columns that may be cut, by number; the widest gives way first.
    """
    fitted = list(widths)
    over = sum(fitted) + len(GAP) * (len(fitted) - 1) - most
    while over > 0:
        wide = [number for number in shrinking if fitted[number] > _LEAST]
        if not wide:
            break
        widest = max(wide, key=fitted.__getitem__)
        fitted[widest] -= 1
        over -= 1
    return fitted


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
