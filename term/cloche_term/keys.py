"""Keys by name: what a person pressed, before any mode decides what that types.

Names are those of the terminal libraries people bind keys with (`ctrl+left`, `shift+f5`, `full_stop`, `upper_a`), so
that a widget can hand its key events on; nothing of such a library is needed here.
"""

from __future__ import annotations

import string
import unicodedata
from dataclasses import dataclass

NAMED_KEYS = frozenset(
    (
        *("escape", "enter", "tab", "backspace", "insert", "delete", "home", "end", "pageup", "pagedown"),
        *("up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 25)),
        *(f"kp_{digit}" for digit in range(10)),
        *("kp_decimal", "kp_divide", "kp_multiply", "kp_subtract", "kp_add", "kp_enter", "kp_equal"),
        *("caps_lock", "scroll_lock", "num_lock", "print_screen", "pause", "menu"),
    )
)
"""Keys that are no character. Every other key is named by the character it types."""

KEYPAD_TEXT = {
    **{f"kp_{digit}": str(digit) for digit in range(10)},
    "kp_decimal": ".",
    "kp_divide": "/",
    "kp_multiply": "*",
    "kp_subtract": "-",
    "kp_add": "+",
    "kp_equal": "=",
}
"""What the keys of the numeric pad type that type a character."""
UNSHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))
"""Which key of a US keyboard types a character with shift: by the character it types without."""

_MODIFIERS = {
    "ctrl": "ctrl",
    "alt": "alt",
    "meta": "alt",
    "shift": "shift",
    "super": "command",
    "cmd": "command",
}

_OTHER_NAMES = {
    "return": "enter",
    "esc": "escape",
    "del": "delete",
    "page_up": "pageup",
    "page_down": "pagedown",
}

_SHORT_CHARACTER_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}


def _names_of(character: str) -> tuple[str, ...]:
    """How an ASCII character that is no letter or digit is named."""
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return (name, _SHORT_CHARACTER_NAMES[name]) if name in _SHORT_CHARACTER_NAMES else (name,)


_CHARACTERS = {
    **{name: character for character in string.punctuation + " " for name in _names_of(character)},
    **{f"upper_{letter.lower()}": letter for letter in string.ascii_uppercase},
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key with the modifiers held down.

    Raises:
        ValueError: The name is neither in `NAMED_KEYS` nor one character.
    """

    name: str
    """One of `NAMED_KEYS`, or the character itself."""
    ctrl: bool = False
    alt: bool = False
    shift: bool = False
    command: bool = False

    def __post_init__(self) -> None:
        if self.name not in NAMED_KEYS and not (len(self.name) == 1 and self.name.isprintable()):
            raise ValueError(f"no key is named {self.name!r}")


def key_named(name: str, character: str | None = None) -> Key | None:
    """Reads the name of a key with its modifiers, such as `ctrl+shift+left`, `alt+full_stop` or `A`.

    Args:
        name: The name, modifiers first, joined by `+`.
        character: What the key has typed, where that is known: it decides for characters without a name here.

    Returns:
        None where neither says which key it is.
    """
    held = dict.fromkeys(("ctrl", "alt", "shift", "command"), False)
    rest = name
    while "+" in rest[1:-1] and (modifier := _MODIFIERS.get(rest.partition("+")[0])) is not None:
        held[modifier] = True
        rest = rest.partition("+")[2]
    rest = _OTHER_NAMES.get(rest, rest)
    found = _CHARACTERS.get(rest, rest)
    if found not in NAMED_KEYS and not (len(found) == 1 and found.isprintable()):
        if character is None or len(character) != 1 or not character.isprintable():
            return None
        found = character
    return Key(found, **held)
