"""What a guest or a stranger wrote, as it may stand in a line of ours.

Rules:
- Whatever does not show is escaped: what a terminal obeys, what turns its neighbours round, and letters of which nothing
  is seen. So no name looks blank, or like another with something unseen in it; letters that look alike stay alike.
- What is drawn into the character before it (accents, signs of vowels, the parts of a syllable) stays, as scripts need
  it, up to `MOST_MARKS` of them; without such a character it would be drawn into ours, and is escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MOST_MARKS = 8
"""On one character. Burmese and Tibetan need six or seven; without a bound they reach over the lines around."""

# What Unicode has as letters, symbols or marks, and nobody sees: fillers and blanks, and what selects a variant of the
# character before, which terminals draw as the same.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_SYLLABLE_PARTS = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")


def printable(text: str) -> str:
    """A text that stays on its line and does nothing to a terminal: what does not show is escaped.

    SAFETY: what a guest wrote must not paint over the terminal of whoever reads the message.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(text))


def is_unseen(character: str) -> bool:
    """Whether nothing is seen where it stands."""
    return not character.isprintable() or _UNSEEN.match(character) is not None


def is_part_of_syllable(character: str) -> bool:
    """Whether it is a vowel or a final consonant of Hangul that is drawn into the syllable before it."""
    return _SYLLABLE_PARTS.match(character) is not None


def _shown(text: str) -> Iterator[str]:
    # Marks that the last character may still have; none without one.
    room = 0
    for character in text:
        joins = not character.isascii() and _joins(character)
        if is_unseen(character) or (joins and not room):
            room = 0
            yield ascii(character)[1:-1]
        else:
            room = room - 1 if joins else MOST_MARKS
            yield character


def _joins(character: str) -> bool:
    """Whether it is drawn into the character before it."""
    return (
        unicodedata.category(character)[0] == "M"
        or is_part_of_syllable(character)
        or _SKIN_TONES.match(character) is not None
    )
