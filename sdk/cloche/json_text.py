"""JSON that a person reads or writes: shown without harm, read strictly. Pure.

Rule: what is shown is the value and nothing else: whatever does not print, or only changes how its neighbours look, is
written as JSON's own escapes. So two texts that differ look different, but for letters that look alike.
Rule: what two readers could understand differently (a member that comes twice, NaN) is refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, NoReturn

from cloche.printable import is_part_of_syllable, is_unseen

# Marks that are drawn over the character before them, or that nobody sees, such as what selects a variant.
_MARKS = frozenset({"Mn", "Me"})
# What editors obey in a text that they open: lines such as `vim: set …` and `-*- mode: … -*-`.
_ORDERS = re.compile(r"(?i)(?<!\w)(vim?[<=>]?\d*|ex|local variables)\s*(:)|-(\*)-")


def shown_json(value: Any) -> str:
    """A value as indented JSON that does nothing to a terminal, nor to an editor, but appear in it."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    # SAFETY: a guest wrote it. Outside of JSON's texts there is nothing but ASCII, so only texts are escaped.
    return _ORDERS.sub(_escape_order, visible_json(text))


def brief_json(value: Any, *, most: int) -> str:
    """A value as one line of at most so many characters, cut where it is longer."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    # Nothing becomes shorter by being made visible: of a long one only the beginning needs to be.
    line = visible_json(text[: most + 1])
    return line if len(line) <= most else f"{line[: most - 1]}…"


def visible_json(text: str) -> str:
    """The same JSON, in which all of its texts can be seen."""
    return text if text.isascii() and text.isprintable() else "".join(map(_visible, text))


def parse_json(text: str) -> Any:
    """A value from what a person wrote.

    Raises:
        ValueError: it is no good JSON; the message says why.
    """
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("too many lists and maps inside one another") from None


def _visible(character: str) -> str:
    if character.isascii():
        seen = character.isprintable() or character == "\n"
    else:
        is_mark = unicodedata.category(character) in _MARKS or is_part_of_syllable(character)
        seen = not is_mark and not is_unseen(character)
    if seen:
        return character
    return f"\\u{ord(character):04x}" if character == "\x7f" else json.dumps(character)[1:-1]


def _escape_order(found: re.Match[str]) -> str:
    sign = found[2] or found[3]
    return found[0].replace(sign, f"\\u{ord(sign):04x}")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member comes twice in one map")
    return members


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")
