"""What a guest wrote, as it may stand in a message."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text that stays on its line and does nothing to a terminal: what does not show is escaped.

    SAFETY: what a guest wrote must not paint over the terminal of whoever reads the message.
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
