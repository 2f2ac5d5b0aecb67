"""What a stream for a terminal consists of: text, control characters, and sequences that begin with ESC. Pure.

Cut as ECMA-48 and the DEC terminals do: control characters inside a sequence count as if they stood before it, CAN and
SUB end one, ESC begins the next. Nothing here knows what a sequence means; that is `filtering`.

Rules:
- Pieces may be cut anywhere; of a sequence that never ends only so much is kept as a sequence may have.
- Strings that nobody here wants (DCS, APC, PM, SOS) are swallowed to their end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

_LONGEST_CONTROL = 256
_LONGEST_COMMAND = 4096

_TEXT = re.compile("[\x20-\x7e\xa0-\U0010ffff]+")
_CONTROL = re.compile(r"([<=>?]?)([0-9;:]*)([ -/]*)")
# Nearly all of them: in one piece, and nothing inside that does not belong there.
_WHOLE_CONTROL = re.compile(r"\x1b\[([<=>?]?)([0-9;:]{0,200})([ -/]{0,2})([@-~])")
_COMMAND_END = re.compile("[\x07\x18\x1a\x1b]")
_STRING_END = re.compile("[\x18\x1a\x1b]")
_ESC, _ABORTS = "\x1b", "\x18\x1a"


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that show."""

    text: str


@dataclass(frozen=True, slots=True)
class Character:
    """One control character, such as a line's end."""

    character: str


@dataclass(frozen=True, slots=True)
class Escape:
    """ESC and a few characters: `code` is all behind ESC."""

    code: str


@dataclass(frozen=True, slots=True)
class Control:
    """A control sequence (CSI): `CSI ? 1049 h` has the code `?h` and the parameters `1049`."""

    code: str
    parameters: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command to the terminal with a text (OSC): `kind` is its number, `k` for the title as screen has it."""

    kind: str
    text: str


Token: TypeAlias = Text | Character | Escape | Control | Command


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    CONTROL = auto()
    COMMAND = auto()
    STRING = auto()


# What a character behind ESC begins.
_BEGINS = {
    "[": _State.CONTROL,
    "]": _State.COMMAND,
    "k": _State.COMMAND,
    "P": _State.STRING,
    "X": _State.STRING,
    "^": _State.STRING,
    "_": _State.STRING,
}


class Tokenizer:
    """Cuts a stream into tokens, one at a time."""

    def __init__(self) -> None:
        self._state = _State.GROUND
        self._kept = ""
        self._is_screen_title = False
        self._steps = {
            _State.GROUND: self._ground,
            _State.ESCAPE: self._escape,
            _State.CONTROL: self._control,
            _State.COMMAND: self._command,
            _State.STRING: self._string,
        }

    @property
    def is_between(self) -> bool:
        """Whether no sequence has begun that is not ended."""
        return self._state is _State.GROUND

    def step(self, text: str, start: int) -> tuple[Token | None, int]:
        """The next token of a piece, if it is whole, and where to go on.

        Args:
            text: a piece of the stream; all of it is to be stepped through before the next one.
            start: below its length.
        """
        return self._steps[self._state](text, start)

    def _ground(self, text: str, start: int) -> tuple[Token | None, int]:
        if found := _TEXT.match(text, start):
            return Text(found[0]), found.end()
        if found := _WHOLE_CONTROL.match(text, start):
            prefix, parameters, intermediates, final = found.groups()
            return Control(f"{prefix}{intermediates}{final}", parameters), found.end()
        character = text[start]
        if character == _ESC:
            self._begin(_State.ESCAPE)
        elif character < " ":
            return Character(character), start + 1
        # DEL shows nothing. The C1 characters, which some terminals take for sequences, nobody writes in UTF-8.
        return None, start + 1

    def _escape(self, text: str, start: int) -> tuple[Token | None, int]:
        character = text[start]
        if character < " " or character >= "\x7f":
            return self._inside(character, start)
        if not self._kept and character in _BEGINS:
            self._begin(_BEGINS[character])
            self._is_screen_title = character == "k"
            return None, start + 1
        self._keep(character, _LONGEST_CONTROL)
        if character < "0":
            return None, start + 1
        return Escape(self._end()), start + 1

    def _control(self, text: str, start: int) -> tuple[Token | None, int]:
        character = text[start]
        if character < " " or character >= "\x7f":
            return self._inside(character, start)
        if character < "@":
            self._keep(character, _LONGEST_CONTROL)
            return None, start + 1
        kept = self._end()
        well_formed = _CONTROL.fullmatch(kept) if len(kept) <= _LONGEST_CONTROL else None
        if well_formed is None:
            return None, start + 1
        prefix, parameters, intermediates = well_formed.groups()
        return Control(f"{prefix}{intermediates}{character}", parameters), start + 1

    def _command(self, text: str, start: int) -> tuple[Token | None, int]:
        found = _COMMAND_END.search(text, start)
        end = found.start() if found else len(text)
        self._keep(text[start:end], _LONGEST_COMMAND)
        if found is None:
            return None, end
        kept = self._end()
        if found[0] == _ESC:
            # ESC \ is the proper end; any other sequence ends it as well.
            self._begin(_State.ESCAPE)
        if found[0] in _ABORTS or len(kept) > _LONGEST_COMMAND:
            return None, end + 1
        kind, _, value = ("k", "", kept) if self._is_screen_title else kept.partition(";")
        return Command(kind, value), end + 1

    def _string(self, text: str, start: int) -> tuple[Token | None, int]:
        found = _STRING_END.search(text, start)
        if found is None:
            return None, len(text)
        self._begin(_State.ESCAPE if found[0] == _ESC else _State.GROUND)
        return None, found.end()

    def _inside(self, character: str, start: int) -> tuple[Token | None, int]:
        """A character within a sequence that is no part of it."""
        if character == _ESC:
            self._begin(_State.ESCAPE)
        elif character in _ABORTS:
            self._end()
        elif character < " ":
            return Character(character), start + 1
        elif character != "\x7f":
            # Text: what was begun is none.
            self._end()
            return None, start
        return None, start + 1

    def _begin(self, state: _State) -> None:
        self._state, self._kept = state, ""

    def _keep(self, characters: str, most: int) -> None:
        # One more than may be, so that it is seen at the end.
        self._kept = (self._kept + characters)[: most + 1]

    def _end(self) -> str:
        kept = self._kept
        self._begin(_State.GROUND)
        return kept
