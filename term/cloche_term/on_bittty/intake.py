"""How bytes come to the fallback emulator: decoded, in slices, and never as a sequence without an end.

bittty keeps the beginning of a sequence until its end arrives, however long that takes, and remembers many of those it
has read. So what is longer than any sequence that means something is not let in.

Rule: nothing a program writes raises. What makes bittty itself fail is passed over up to the next sequence.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, Final

MOST_PARAMETER_CHARACTERS = 256
MOST_STRING_CHARACTERS = 16 * 1024
_SLICE_CHARACTERS = 4096

# In UTF-8 they are characters like others, and bittty alone would begin sequences with them.
_EIGHT_BIT_CONTROLS: Final = re.compile("[\x80-\x9f]")
_LONG_PARAMETERS: Final = re.compile(
    r"\x1b\[[0-9;:?<=>]{257,}[^\x18\x1a\x1b\x40-\x7e]*(?:[\x18\x1a\x40-\x7e]|(\Z))?"
)
_END_OF_PARAMETERS: Final = re.compile(r"[\x18\x1a\x40-\x7e]|(?=\x1b)")
_ENDLESS_PARAMETERS: Final = b"\x1b[" + b"9" * (MOST_PARAMETER_CHARACTERS + 1)
# A string that is read to its end, and ignored (ECMA-48, 8.3.143).
_IGNORED_STRING: Final = "\x1bX"


class Intake:
    """Feeds one board."""

    def __init__(self, board: Any) -> None:
        self._parser = board.parser
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_skipping_parameters = False

    def feed(self, data: bytes) -> None:
        """Takes what the program has written."""
        text = _EIGHT_BIT_CONTROLS.sub("", self._decoder.decode(data))
        for start in range(0, len(text), _SLICE_CHARACTERS):
            self._feed_slice(text[start : start + _SLICE_CHARACTERS])

    @property
    def unfinished(self) -> bytes:
        """The beginning of a sequence, and of a character, that has not ended yet."""
        pending, _ = self._decoder.getstate()
        begun = _ENDLESS_PARAMETERS if self._is_skipping_parameters else str(self._parser.buffer).encode()
        return begun + pending

    def _feed_slice(self, text: str) -> None:
        if self._is_skipping_parameters:
            end = _END_OF_PARAMETERS.search(text)
            if end is None:
                return
            self._is_skipping_parameters = False
            text = text[end.end() :]
        self._parse(_LONG_PARAMETERS.sub(self._skip, text))
        self._shorten()

    def _skip(self, match: re.Match[str]) -> str:
        """Lets nothing in of parameters that are too long; if they go on after this slice, of those neither."""
        if match[1] is not None:
            self._is_skipping_parameters = True
        return ""

    def _parse(self, text: str) -> None:
        parser = self._parser
        while True:
            try:
                parser.feed(text)
            except Exception:
                self._pass_over()
                text = ""
            else:
                return

    def _pass_over(self) -> None:
        """Drops the sequence that was being read, up to where the next one begins."""
        parser = self._parser
        rest = parser.buffer[parser.pos + 1 :]
        following = rest.find("\x1b")
        parser.reset()
        parser.buffer = rest[following:] if following >= 0 else ""

    def _shorten(self) -> None:
        """Lets nothing more in of parameters that are too long, and lets a string go on as one that is ignored."""
        parser = self._parser
        size = len(parser.buffer)
        if parser.mode is None:
            return
        if parser.mode == "csi":
            if size > MOST_PARAMETER_CHARACTERS:
                parser.reset()
                self._is_skipping_parameters = True
        elif size > MOST_STRING_CHARACTERS:
            # An ESC at its end may be half of the terminator.
            beginning = _IGNORED_STRING + ("\x1b" if parser.buffer.endswith("\x1b") else "")
            parser.reset()
            parser.feed(beginning)
