"""Patterns with two wildcards: `*` is any text, also none and also dots and slashes; `?` is any one character.

Everything else stands for itself, exactly: no escapes, no classes, no case folding, no Unicode normalisation.
Rule: matching takes time linear in the text, whatever the pattern: a guest chooses what patterns are matched with.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_GLOB = 256
"""Characters of a pattern."""

# A longer piece is looked for in a way that does not depend on how long it is. Up to here an expression is faster, on
# the worst of texts, too.
_SHORT_PIECE = 32


def matches(pattern: str, text: str) -> bool:
    """Whether a whole text fits a pattern.

    Args:
        pattern: at most `MAX_GLOB` characters, which whoever takes it from outside has checked.
        text: of any length.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return len(text) == len(first) and _fits(first, text, 0)
    *middle, last = rest
    at, end = len(first), len(text) - len(last)
    if at > end or not _fits(first, text, 0) or not _fits(last, text, end):
        return False
    # Between two stars the leftmost place is as good as any: it leaves most room for what follows.
    for piece in middle:
        found = _find(piece, text, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _fits(piece: str, text: str, at: int) -> bool:
    if "?" not in piece:
        return text.startswith(piece, at)
    return all(wanted in ("?", text[at + offset]) for offset, wanted in enumerate(piece))


def _find(piece: str, text: str, at: int, end: int) -> int:
    """Where a piece without stars first occurs in a part of the text; -1 if it does not."""
    if "?" not in piece:
        return text.find(piece, at, end)
    if len(piece) <= _SHORT_PIECE:
        found = _expression(piece).search(text, at, end)
        return found.start() if found else -1
    # Bit n of `state`: the piece's first n+1 characters end here. One step a character, however much repeats.
    anything = sum(1 << offset for offset, wanted in enumerate(piece) if wanted == "?")
    wants = dict.fromkeys(piece, anything)
    for offset, wanted in enumerate(piece):
        wants[wanted] |= 1 << offset
    whole, state = 1 << (len(piece) - 1), 0
    for place in range(at, end):
        state = (state << 1 | 1) & wants.get(text[place], anything)
        if state & whole:
            return place - len(piece) + 1
    return -1


@lru_cache(maxsize=1024)
def _expression(piece: str) -> re.Pattern[str]:
    # Nothing in it repeats: at each place it looks at no more than the piece's length.
    return re.compile("".join("." if wanted == "?" else re.escape(wanted) for wanted in piece), re.DOTALL)
