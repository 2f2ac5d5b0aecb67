"""What is typed while a console has the keyboard, cut into what is the program's and what is Textual's. Pure.

    keys                              the program's, in the form it expects (`key_forms`), Esc at once
    a paste                           the program's, told as what it is, so that it is marked as the program wants it
    mouse, focus, reports             Textual's: they are about the dashboard, or need to know where in it they belong
    ctrl+]                            the way out: what comes after it is Textual's again

Whoever reads the keyboard says what time it is, and calls `time_is_up` when `deadline` has passed.

Rules:
- Every byte of a key comes out, in order, and once. What a terminal reports never gets to the program as typing.
- A read may end anywhere. What may be the beginning of more is held back, for a moment where it may be a key of its own.
- What is pasted is never taken for the way out, and a paste whose end was lost does not keep the way out closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cloche_term.terminal import Modes
from cloche_tui.terminal_input.key_forms import (
    is_way_out,
    typed_escape,
    typed_sequence,
    typed_text,
    without_events,
)

WAY_OUT = 0x1D
"""ctrl+], as a terminal of old sends it."""
KEY_WAIT_S = 0.02
"""How long more is waited for where the key may be whole: alt+[, alt+O, Esc behind a report."""
SEQUENCE_WAIT_S = 0.5
"""How long the rest of a sequence is waited for that no single key begins."""
PASTE_WAIT_S = 2.0
"""Silence after which a paste is over."""
MOST_PASTED = 4 << 20
"""Bytes that are told as one paste; of more, the next is told as another."""

_PIECES = re.compile(
    rb"""
    (?P<text>[^\x1b\x1d]+)
  | (?P<leave>\x1d)
  | (?P<paste>\x1b\[200~)
  | (?P<report>
        \x1b\[<[0-9;-]*[Mm] | \x1b\[M[\x00-\xff]{3} | \x1b\[[0-9]+;[0-9-]+;[0-9-]+M      # the mouse, in three forms
      | \x1b\[[IO]                                                                       # the focus
      | \x1b\[[?>=][0-9;:]*[ -/]*[@-~] | \x1b\[[0-9;:]*t | \x1b\[[0-9;]*[ -/]+y | \x1b\[[03]n
      | \x1b\[(?!1;)[0-9]+;[0-9]+R          # where the cursor is; in row 1 it is F3 with a modifier
    )
  | (?P<answer>\x1b\][0-9]+;[^\x07\x1b]*(?:\x07|\x1b\\) | \x1b(?:P[0-9]*[$+>!|=]|_G)[^\x1b]*\x1b\\)
  | (?P<key>
        \x1b\x1b?\[\[[A-E] | \x1b\x1b?\[[0-9;:]*[ -/]*[@-Z\\-~]
      | \x1b\x1b?O[0-9;]*[A-Za-z\ ]
      | \x1b[^\x1b\[O]
    )
  | (?P<escape>\x1b)
    """,
    re.VERBOSE | re.DOTALL,
)
# What may go on in the next read. First what may be a key of its own: Esc, alt+Esc, alt+[, alt+O, each maybe with Esc.
_MAYBE_WHOLE = re.compile(rb"\x1b\x1b?[\[O]\Z|\x1b\x1b\Z")
_BEGUN = re.compile(
    rb"\x1b\[<[0-9;-]{0,30}\Z|\x1b\[M[\x00-\xff]{0,2}\Z|\x1b\[[?>=][0-9;:]{0,60}[ -/]{0,2}\Z"
    rb"|\x1b\x1b?\[[0-9;:]{1,60}[ -/]{0,2}\Z|\x1b\x1b?O[0-9;]{1,10}\Z|\x1b\[\[\Z"
    rb"|\x1b\][0-9]+;[^\x07\x1b]{0,4000}\x1b?\Z|\x1b(?:P[0-9]*[$+>!|=]|_G)[^\x1b]{0,4000}\x1b?\Z",
    re.DOTALL,
)
_IS_KEY = re.compile(rb"\x1b\x1b?[\[O][0-9;:]*\Z|\x1b\[\[\Z")
_REST_OF_REPORT = re.compile(rb"\[<[0-9;-]+[Mm]|\[[IO](?![0-9;])|\[[?][0-9;:]+[$a-z]")
_PASTE_END = b"\x1b[201~"


@dataclass(frozen=True, slots=True)
class ForProgram:
    """Bytes that are typed into the console."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pasted:
    """Something was pasted into the console."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ForTextual:
    """Bytes for Textual to read."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """The way out was taken; nothing comes behind this."""

    rest: bytes
    """What was read behind it, now Textual's."""


Piece: TypeAlias = ForProgram | Pasted | ForTextual | Left


class Splitter:
    """Cuts what is typed from the moment on in which a console has got the keyboard."""

    def __init__(self, modes: Modes | None = None) -> None:
        self.modes = modes or Modes()
        """Of the program's terminal; to be set when they change."""
        self._held = b""
        self._held_until: float | None = None
        self._escape_at: float | None = None
        self._pasting_at: float | None = None
        self._pasted = bytearray()

    @property
    def deadline(self) -> float | None:
        """When `time_is_up` is to be called, if nothing is typed before."""
        return self._held_until if self._pasting_at is None else self._pasting_at + PASTE_WAIT_S

    def split(self, data: bytes, now: float, *, is_cut: bool = False) -> list[Piece]:
        """What was typed, cut.

        Args:
            data: what was read in one go. A terminal sends the bytes of one key together.
            now: the time in seconds, from any beginning.
            is_cut: whether there was more than the read took, so that it may end inside of anything.
        """
        late = self.time_is_up(now)
        if self._escape_at is not None and now < self._escape_at + KEY_WAIT_S and _REST_OF_REPORT.match(data):
            # The read ended right behind the ESC of a report. That was passed on as the key; the rest will not be.
            data = b"\x1b" + data
        data, self._held, self._held_until, self._escape_at = self._held + data, b"", None, None
        return _joined([*late, *self._pieces(data, now, is_cut=is_cut)])

    def time_is_up(self, now: float) -> list[Piece]:
        """Nothing more was typed until the deadline: what that comes to."""
        if self._pasting_at is not None:
            if now < self._pasting_at + PASTE_WAIT_S:
                return []
            return [self._end_paste(len(self._pasted))]
        if self._held_until is None or now < self._held_until:
            return []
        held, self._held, self._held_until = self._held, b"", None
        if held == b"\x1b":
            return [ForProgram(typed_escape(self.modes))]
        if held == b"\x1b\x1b" or _IS_KEY.fullmatch(held):
            return [ForProgram(self._key(held))]
        # Half of a report.
        return []

    def _pieces(self, data: bytes, now: float, *, is_cut: bool) -> Iterator[Piece]:
        at, is_behind_report = 0, False
        while at < len(data):
            if self._pasting_at is not None:
                at, pasted = self._paste(data, at, now)
                yield from pasted
                continue
            if self._holds(data, at, now, has_more=is_cut or is_behind_report):
                return
            found = _PIECES.match(data, at)
            assert found is not None, "every byte is at least text, the way out or Esc"
            at, is_behind_report = found.end(), found.lastgroup in ("report", "answer")
            if found.lastgroup == "leave" or (found.lastgroup == "key" and is_way_out(found[0])):
                yield Left(without_events(data[at:]))
                return
            yield from self._meant(found, now, is_last=at == len(data))

    def _meant(self, found: re.Match[bytes], now: float, *, is_last: bool) -> Iterator[Piece]:
        """What one piece comes to; of what nobody here has asked for, nothing."""
        kind, data = found.lastgroup, found[0]
        if kind == "text":
            yield ForProgram(typed_text(data, self.modes))
        elif kind == "key":
            yield ForProgram(self._key(data))
        elif kind == "escape":
            self._escape_at = now if is_last else None
            yield ForProgram(typed_escape(self.modes))
        elif kind == "report":
            yield ForTextual(data)
        elif kind == "paste":
            self._pasting_at = now

    def _key(self, sequence: bytes) -> bytes:
        return typed_sequence(sequence, self.modes)

    def _holds(self, data: bytes, at: int, now: float, *, has_more: bool) -> bool:
        """Keeps the rest of a read back if there may be more to it."""
        if data[at] != 0x1B:
            return False
        rest = data[at:]
        if _MAYBE_WHOLE.fullmatch(rest) or (has_more and rest == b"\x1b"):
            wait_s = KEY_WAIT_S
        elif _BEGUN.fullmatch(rest):
            wait_s = SEQUENCE_WAIT_S
        else:
            return False
        self._held, self._held_until = rest, now + wait_s
        return True

    def _paste(self, data: bytes, start: int, now: float) -> tuple[int, list[Piece]]:
        """Takes what is pasted; returns where it ends in the data, and the paste if it is over."""
        before = len(self._pasted)
        self._pasting_at = now
        self._pasted += data[start:]
        # The end may have begun in what was there before.
        end = self._pasted.find(_PASTE_END, max(before - len(_PASTE_END) + 1, 0))
        if end >= 0:
            return start + end + len(_PASTE_END) - before, [self._end_paste(end)]
        if len(self._pasted) < MOST_PASTED:
            return len(data), []
        piece = Pasted(bytes(self._pasted))
        self._pasted.clear()
        return len(data), [piece]

    def _end_paste(self, end: int) -> Pasted:
        pasted, self._pasting_at = Pasted(bytes(self._pasted[:end])), None
        self._pasted.clear()
        return pasted


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one kind as one, so that what was typed together arrives together; none that is empty."""
    joined: list[Piece] = []
    for piece in pieces:
        if not isinstance(piece, Left) and not piece.data:
            continue
        last = joined[-1] if joined else None
        if isinstance(piece, ForProgram) and isinstance(last, ForProgram):
            joined[-1] = ForProgram(last.data + piece.data)
        elif isinstance(piece, ForTextual) and isinstance(last, ForTextual):
            joined[-1] = ForTextual(last.data + piece.data)
        else:
            joined.append(piece)
    return joined
