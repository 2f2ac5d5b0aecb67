"""What a guest writes to a terminal, as a person's own terminal may have it. Pure.

Rules:
- Only what is in the tables here (and in `commands`) passes: text, colours, moving and erasing, the modes programs
  need, titles, links. Whatever is not known is dropped.
- SAFETY: nothing passes that a terminal answers by typing (it would be typed into the console, or after the way out
  into the person's own shell), that reads or writes the clipboard, prints, opens, downloads, resizes, locks the keyboard
  or waits, or that erases what the terminal held before. The hub's emulator has answered the program's questions.
- What passes consists of whole sequences and whole characters, so something can be written between any two pieces.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from cloche.cli.viewing.commands import COMMANDS
from cloche.cli.viewing.modes import OF_KEYS, OFF_BY_DEFAULT, ON_BY_DEFAULT, Modes
from cloche.cli.viewing.sequences import Character, Command, Control, Escape, Text, Token, Tokenizer

CLEAR = b"\x1b[H\x1b[J"
"""An empty screen, and the cursor at its beginning."""

_MOST = 1000
"""Rows and columns a console has at most: a greater count does no more, and costs a terminal more."""
_LONGEST_COLOUR = 200

# Text and the commonest sequences, as far as they are harmless by their looks: nothing else is matched in one go.
_HARMLESS = re.compile(
    "(?:[\x08-\x0f\x20-\x7e\xa0-\U0010ffff]+"
    "|\x1b\\[(?:[0-9;:]{0,40}m|[0-9]{0,3}(?:;[0-9]{0,3})?[@ABCDEFGHKLMPSXZdfr`]|[012]?J)"
    "|\x1b[()][0AB]|\x1b[78DEHM])++"
)
_CHARACTERS = frozenset("\x08\t\n\x0b\x0c\r\x0e\x0f")
_CHARSETS = [slot + charset for slot in "()*+" for charset in "0AB"]
_ESCAPES = frozenset([*"78DEHMNO", "#3", "#4", "#5", "#6", "#8", *_CHARSETS])
_KEYPAD = frozenset("=>")
_SHOWN_MODES = frozenset((*OFF_BY_DEFAULT, *ON_BY_DEFAULT))
_KEY_MODES = frozenset(OF_KEYS)
_CURSOR_SAVED = "?1048"


class GuestOutput:
    """One console's output on its way to one terminal; pieces may be cut anywhere.

    Attributes:
        modes: what has been switched in that terminal.
    """

    def __init__(self, *, keys: bool = True, encoding: str = "utf-8") -> None:
        """Begins with a terminal that is as it was.

        Args:
            keys: whether modes pass that change what keys and the mouse send; not for who only watches.
            encoding: the terminal's.
        """
        self.modes = Modes()
        self._has_keys, self._encoding = keys, encoding
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tokens = Tokenizer()
        self._has_rung = False

    def anew(self, *, keys: bool) -> GuestOutput:
        """The output from another beginning on, in the same terminal, whose `modes` were undone but for the title."""
        begun = GuestOutput(keys=keys, encoding=self._encoding)
        begun.modes.has_title = self.modes.has_title
        return begun

    def passed(self, data: bytes) -> bytes:
        """What of a piece passes."""
        text, at = self._decoder.decode(data), 0
        self._has_rung = False
        kept: list[str] = []
        while at < len(text):
            if self._tokens.is_between and (found := _HARMLESS.match(text, at)):
                kept.append(found[0])
                at = found.end()
            else:
                token, at = self._tokens.step(text, at)
                if token is not None:
                    kept.append(self._allowed(token))
        return "".join(kept).encode(self._encoding, "replace")

    def _allowed(self, token: Token) -> str:
        match token:
            case Text(text):
                return text
            case Character(character):
                return self._character(character)
            case Escape(code):
                return self._escape(code)
            case Control(code, parameters) if rule := _RULES.get(code):
                return rule(parameters)
            case Control(code, parameters) if switch := _SWITCHES.get(code):
                return switch(self, code, parameters)
            case Command(kind, text) if command := COMMANDS.get(kind):
                return command(self.modes, text)
        return ""

    def _character(self, character: str) -> str:
        if character == "\x07":
            # Once a piece is enough to be heard.
            has_rung, self._has_rung = self._has_rung, True
            return "" if has_rung else character
        return character if character in _CHARACTERS else ""

    def _escape(self, code: str) -> str:
        if code == "c":
            # What it resets beyond this is the person's own, and what the terminal held before would be gone.
            return (self.modes.undo(title=False) + CLEAR).decode()
        is_allowed = code in _ESCAPES or (code in _KEYPAD and self._has_keys)
        return f"\x1b{code}" if is_allowed else ""

    def _switch_modes(self, code: str, parameters: str) -> str:
        prefix, is_on = code[:-1], code[-1] == "h"
        passed = []
        for number in parameters.split(";"):
            mode = prefix + number
            if mode in _SHOWN_MODES or (mode in _KEY_MODES and self._has_keys):
                self.modes.switch(mode, is_on=is_on)
                passed.append(number)
            elif mode == _CURSOR_SAVED:
                passed.append(number)
        return f"\x1b[{prefix}{';'.join(passed)}{code[-1]}" if passed else ""

    def _switch_keyboard(self, code: str, parameters: str) -> str:
        """kitty's keyboard modes, pushed, popped or set."""
        numbers = _numbers(parameters, 2)
        if not self._has_keys or numbers is None:
            return ""
        keyboard, first = self.modes.keyboard, numbers[0]
        if code == ">u":
            return keyboard.push(first or 0)
        if code == "<u":
            return keyboard.pop(1 if first is None else first)
        how = numbers[1] if len(numbers) > 1 else 1
        combined = {2: keyboard.flags | (first or 0), 3: keyboard.flags & ~(first or 0)}
        return keyboard.switch(combined.get(how or 1, first or 0))

    def _switch_long_keys(self, _code: str, parameters: str) -> str:
        """xterm's longer form of keys with modifiers."""
        if not self._has_keys or parameters not in ("4", "4;", "4;0", "4;1", "4;2"):
            return ""
        self.modes.has_long_keys = True
        return f"\x1b[>{parameters}m"

    def _switch_shape(self, _code: str, parameters: str) -> str:
        if parameters not in ("", *"0123456"):
            return ""
        self.modes.has_shape = True
        return f"\x1b[{parameters} q"


def _numbers(parameters: str, most: int) -> list[int | None] | None:
    """The numbers of a sequence, None for one that is left out; None in all if they are no such list."""
    parts = parameters.split(";")
    if len(parts) > most or any(len(part) > 9 or ":" in part for part in parts):
        return None
    return [int(part) if part else None for part in parts]


def _counted(final: str, most: int) -> Callable[[str], str]:
    """A sequence with so many counts or places, none of them beyond what a console has."""

    def rule(parameters: str) -> str:
        numbers = _numbers(parameters, most)
        if numbers is None:
            return ""
        bounded = ("" if number is None else str(min(number, _MOST)) for number in numbers)
        return f"\x1b[{';'.join(bounded)}{final}"

    return rule


def _one_of(code: str, allowed: str) -> Callable[[str], str]:
    """A sequence without a parameter, or with one of these digits."""
    prefix, rest = (code[0], code[1:]) if code[0] == "?" else ("", code)
    return lambda parameters: f"\x1b[{prefix}{parameters}{rest}" if parameters in ("", *allowed) else ""


def _colour(parameters: str) -> str:
    return f"\x1b[{parameters}m" if len(parameters) <= _LONGEST_COLOUR else ""


# `T` with more than one parameter makes the mouse wait for the program, `3J` erases what was there before.
_RULES: dict[str, Callable[[str], str]] = {
    "m": _colour,
    **{final: _counted(final, 1) for final in "@ABCDEGFILMPSTXZ`abdegu"},
    **{final: _counted(final, 2) for final in "Hfrs"},
    **{code: _one_of(code, "012") for code in ("J", "K", "?J", "?K", '"q')},
    "?W": _one_of("?W", "5"),
    "!p": _one_of("!p", ""),
}
_SWITCHES: dict[str, Callable[[GuestOutput, str, str], str]] = {
    **dict.fromkeys(("h", "l", "?h", "?l"), GuestOutput._switch_modes),  # noqa: SLF001 - its own table
    **dict.fromkeys((">u", "<u", "=u"), GuestOutput._switch_keyboard),  # noqa: SLF001
    ">m": GuestOutput._switch_long_keys,  # noqa: SLF001
    " q": GuestOutput._switch_shape,  # noqa: SLF001
}
