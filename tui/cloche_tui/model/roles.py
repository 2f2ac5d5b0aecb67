"""What a piece of text means to whoever looks at it. Which colours that gives is `widgets.styles`' to say. Pure.

Rule: a role only underlines what a word or a symbol says already; nothing is told by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from cloche.printable import printable


class Role(StrEnum):
    """What a piece of text means."""

    PLAIN = "plain"
    MUTED = "muted"
    """Beside the point now."""
    GOOD = "good"
    WARNING = "warning"
    """Wants to be looked at."""
    BAD = "bad"
    """Is wrong, or ends something."""
    ACCENT = "accent"
    """To be found at once: a key, a match, what is new."""
    DRIVING = "driving"
    """Keys go into the guest."""
    WATCHING = "watching"
    SELECTED = "selected"
    MARKED = "marked"
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line, on one line."""

    text: str
    """Printable: `line` makes foreign text so."""
    role: Role = Role.PLAIN


Line: TypeAlias = tuple[Span, ...]


def line(*pieces: str | Span) -> Line:
    """A line of texts and spans.

    SAFETY: guests and other users choose names, labels, titles and reasons; all of it is made printable here.
    """
    return tuple(_span(piece) for piece in pieces)


def _span(piece: str | Span) -> Span:
    if not isinstance(piece, Span):
        return Span(printable(piece))
    text = printable(piece.text)
    # Nearly every text is printable as it is, and lists have many.
    return piece if text is piece.text else Span(text, piece.role)


def plain_text(of: Line) -> str:
    """A line without its roles."""
    return "".join(span.text for span in of)
