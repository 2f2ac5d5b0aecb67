"""What a recording has shown, as lines: without escape sequences, each with the time when it began.

Pure. What moves the cursor to another place ends a line, so that words of different places do not run together; a few
columns forward are a space. A line that is written over (by a carriage return) is a line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

LINE_CHARS = 4096
"""A longer line is several."""
# Of a sequence that has not ended; a longer one is none.
_HELD_CHARS = 4096

_TOKEN: Final = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f\x1b]+)"
    r"|(?:\x1b\[|\x9b)(?P<params>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<simple>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f])"
)
# A sequence that may go on in the next piece.
_UNFINISHED: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\x9c]*\x1b?|[PX^_][^\x1b\x9c]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*"
)
_ELSEWHERE = frozenset("ABEFGHdf`aeIZ")
"""Ends of CSI sequences that leave the line, or the column, for another."""
_NEW_LINE = frozenset("DEM")
"""After ESC: index, next line, reverse index."""


class Lines:
    """Makes lines of output as it comes."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._chars = 0
        self._begun_at_s = 0.0
        self._held = ""

    def feed(self, at_s: float, text: str) -> Iterator[tuple[float, str]]:
        """The lines that end in what is shown at a time, each with the time when it began."""
        text, self._held = self._held + text, ""
        place = 0
        while place < len(text):
            if found := _TOKEN.match(text, place):
                place = found.end()
                yield from self._take(at_s, found)
            elif len(text) - place < _HELD_CHARS and _UNFINISHED.fullmatch(text, place):
                self._held = text[place:]
                return
            else:
                # It is no sequence, or one without an end: what follows is text.
                place += 1

    def end(self) -> Iterator[tuple[float, str]]:
        """The line that has not ended."""
        if line := "".join(self._line).strip():
            yield self._begun_at_s, line
        self._line, self._chars = [], 0

    def _take(self, at_s: float, found: re.Match[str]) -> Iterator[tuple[float, str]]:
        if text := found["text"]:
            yield from self._write(at_s, text)
        elif (final := found["final"]) is not None:
            if final == "C":
                yield from self._write(at_s, " ")
            elif final in _ELSEWHERE:
                yield from self.end()
        elif (control := found["control"]) is not None:
            if control == "\b":
                self._erase()
            elif control == "\t":
                yield from self._write(at_s, " ")
            elif control in "\n\r\v\f\x84\x85\x8d":
                yield from self.end()
        elif found["simple"] is not None and found["simple"] in _NEW_LINE:
            yield from self.end()

    def _write(self, at_s: float, text: str) -> Iterator[tuple[float, str]]:
        if not self._line:
            self._begun_at_s = at_s
        self._line.append(text)
        self._chars += len(text)
        if self._chars >= LINE_CHARS:
            yield from self.end()

    def _erase(self) -> None:
        """A step back: what follows is written over what was there."""
        if self._line:
            last = self._line.pop()
            self._chars -= 1
            if len(last) > 1:
                self._line.append(last[:-1])


def shown_lines(cast_lines: Iterable[bytes]) -> Iterator[tuple[float, str] | None]:
    """The lines that an asciicast shows, each with the time when it began; and None now and then, to look at a clock.

    Args:
        cast_lines: the asciicast, line by line.
    """
    lines = Lines()
    for number, cast_line in enumerate(cast_lines):
        if number == 0:
            continue
        at_s, code, text = json.loads(cast_line)
        if code == "o":
            yield from lines.feed(at_s, text)
        elif code == "m":
            # Markers are worth finding, too.
            yield at_s, text
        yield None
    yield from lines.end()
