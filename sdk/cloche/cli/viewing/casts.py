"""Recordings as text: asciicast v2, a header and one event a line. Pure.

    {"version": 2, "width": 80, "height": 24, …}
    [0.25, "o", "hello\\r\\n"]            seconds since the beginning; o: output, r: `COLSxROWS`, m: a marker

Rule: who wrote it is not trusted; what is malformed is an error that says in which line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from cloche.errors import BadRequest

_LONGEST_LINE = 16 << 20
_MOST = 1000
_SIZE = re.compile(r"([0-9]{1,4})x([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Header:
    """How a recording begins."""

    rows: int
    cols: int
    title: str


@dataclass(frozen=True, slots=True)
class Happened:
    """Something in a recording."""

    at_s: float
    """Seconds since its beginning; never less than of the event before."""


@dataclass(frozen=True, slots=True)
class Shown(Happened):
    """Output."""

    data: bytes


@dataclass(frozen=True, slots=True)
class SizeChanged(Happened):
    """The console has this size from here on."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class Marked(Happened):
    """A word of the hub's, such as why the recording is cut."""

    text: str


CastLine: TypeAlias = Header | Shown | SizeChanged | Marked


class CastReader:
    """Reads a recording that comes in pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._number = 0
        self._at_s = 0.0

    def read(self, piece: bytes) -> Iterator[CastLine]:
        """What has become whole with this piece.

        Raises:
            BadRequest: it is no recording.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise BadRequest("this is no recording: a line has no end")
        for line in lines:
            self._number += 1
            if line.strip() and (found := self._parse(line)) is not None:
                yield found

    def end(self) -> Iterator[CastLine]:
        """What stands in a last line without a line's end."""
        yield from self.read(b"\n")

    def _parse(self, line: bytes) -> CastLine | None:
        try:
            value = json.loads(line)
            return _header(value) if self._number == 1 else self._event(value)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise BadRequest(
                f"this is no recording: line {self._number} is not as asciicast v2 has it"
            ) from None

    def _event(self, value: Any) -> CastLine | None:
        at_s, code, data = value
        if not isinstance(data, str) or not math.isfinite(at_s):
            raise ValueError
        self._at_s = max(self._at_s, float(at_s))
        match code:
            case "o":
                return Shown(self._at_s, data.encode(errors="replace"))
            case "r":
                cols, rows = _size(data)
                return SizeChanged(self._at_s, rows, cols)
            case "m":
                return Marked(self._at_s, data)
        # What was typed, and what other versions have.
        return None


def clock(seconds: float) -> str:
    """A place in a recording, as people write it: `1:02`, `1:00:00`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _header(value: Any) -> Header:
    if value["version"] != 2:
        raise ValueError
    title = value.get("title")
    return Header(_side(value["height"]), _side(value["width"]), title if isinstance(title, str) else "")


def _size(text: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError
    return _side(int(found[1])), _side(int(found[2]))


def _side(value: int) -> int:
    if type(value) is not int or value < 1:
        raise ValueError
    return min(value, _MOST)
