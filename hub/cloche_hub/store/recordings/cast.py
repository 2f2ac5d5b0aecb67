"""asciicast v2 as text: a header, then one event a line (https://docs.asciinema.org/manual/asciicast/v2/).

Pure: what is shown goes in as bytes with its time, and comes out as lines. Rule: an event is never long, whatever the
guest shows at once, so that a reader needs little memory. What is typed is not recorded: it is where passwords are.

Beyond the format, the header has a `cloche` object: whose recording it is, and of what.
"""

from __future__ import annotations

import codecs
import json
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cloche_hub.domain.times import to_text
from cloche_hub.ports import Header
from cloche_hub.store.recordings.masking import Masker

EVENT_BYTES = 16 << 10
"""Output of one event."""
MARKER_CHARS = 500
CUT_HERE = "cut here: "
"""How the last marker of a recording begins that lacks its end."""
# Some readers end lines at these; in JSON they may be spelt out.
_LINE_ENDS = (("\x85", "\\u0085"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


@dataclass(frozen=True, slots=True)
class Output:
    """Something was shown."""

    at_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    """The terminal has another size."""

    at_s: float
    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class Marker:
    """Something worth finding again."""

    at_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Nothing more is recorded."""

    at_s: float
    reason: str
    """Behind `CUT_HERE`."""


Move: TypeAlias = Output | Resize | Marker | Cut
"""What is said to a recording, with the seconds since it began."""


def masked(header: Header, secrets: Sequence[bytes]) -> Header:
    """The header with the secrets masked in what a person or a program gave."""
    mask = Masker(secrets).mask
    command = None if header.command is None else tuple(map(mask, header.command))
    return replace(header, title=mask(header.title), command=command)


def header_line(header: Header) -> bytes:
    """The first line."""
    told: dict[str, object] = {
        "version": 2,
        "width": header.cols,
        "height": header.rows,
        "timestamp": int(header.started_at.timestamp()),
        "title": header.title,
        "env": {"TERM": header.term},
        "cloche": {
            "recording": header.id,
            "kind": str(header.kind),
            "of": header.of,
            "sandbox": header.sandbox,
            "sandbox_name": header.sandbox_name,
            "owner": header.owner,
            "started_at": to_text(header.started_at),
        },
    }
    if header.command is not None:
        told["command"] = shlex.join(header.command)
    return _line(told)


def marker_line(at_s: float, text: str) -> bytes:
    """A line that says that something happened."""
    return _event(at_s, "m", text[:MARKER_CHARS])


class CastEvents:
    """Makes the lines behind the header.

    Args:
        secrets: to be masked; a resize or a marker in the middle of one parts it.
    """

    def __init__(self, secrets: Sequence[bytes] = ()) -> None:
        self._masker = Masker(secrets)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # When what the masker holds back was shown: times and how many bytes of each.
        self._held: deque[tuple[float, int]] = deque()
        self.duration_s = 0.0
        """The time of the last event."""

    def lines(self, move: Move) -> Iterator[bytes]:
        """The lines that are certain now."""
        if isinstance(move, Output):
            for start in range(0, len(move.data), EVENT_BYTES):
                yield from self._show(move.at_s, move.data[start : start + EVENT_BYTES])
            return
        yield from self._shown(self._masker.end())
        self.duration_s = max(self.duration_s, move.at_s)
        match move:
            case Resize(at_s, rows, cols):
                yield _event(at_s, "r", f"{cols}x{rows}")
            case Marker(at_s, text):
                yield marker_line(at_s, self._masker.mask(text))
            case Cut(at_s, reason):
                yield marker_line(at_s, CUT_HERE + reason)

    def end(self) -> Iterator[bytes]:
        """What was held back."""
        yield from self._shown(self._masker.end())
        if rest := self._decoder.decode(b"", final=True):
            yield _event(self.duration_s, "o", rest)

    def _show(self, at_s: float, data: bytes) -> Iterator[bytes]:
        self._held.append((at_s, len(data)))
        yield from self._shown(self._masker.feed(data))

    def _shown(self, data: bytes) -> Iterator[bytes]:
        """Events of what is held back no longer, each piece with the time at which it was shown."""
        place = 0
        while place < len(data):
            at_s, length = self._held.popleft()
            here = min(length, len(data) - place)
            if here < length:
                self._held.appendleft((at_s, length - here))
            text = self._decoder.decode(data[place : place + here])
            place += here
            self.duration_s = at_s
            if text:
                yield _event(at_s, "o", text)


def _event(at_s: float, code: str, text: str) -> bytes:
    return _line([round(at_s, 6), code, text])


def _line(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    if not text.isascii():
        # Ten times as fast as `translate`, of which a guest that is no friend of ASCII could make the hub do much.
        for end, spelt in _LINE_ENDS:
            text = text.replace(end, spelt)
    # Half a surrogate pair, which only a marker or a title can hold, is no text in UTF-8.
    return f"{text}\n".encode(errors="replace")
