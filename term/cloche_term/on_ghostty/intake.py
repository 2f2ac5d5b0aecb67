"""Bytes into the native terminal, piece by piece: its size kept, its lines counted, its sequences bounded.

Rules:
- A program cannot change the size: it may ask for 132 columns (DECCOLM), and after the piece it has ours again.
- A sequence longer than `MOST_SEQUENCE_BYTES` is cancelled and the rest of it dropped. The library would parse it
  well, but could not say any more where it stands, and nobody could take a snapshot until it ends; a program that
  never ends it would keep that for ever.
"""

from __future__ import annotations

import re
from itertools import pairwise

from cloche_term.on_ghostty.line_numbers import LineNumbers
from cloche_term.on_ghostty.native import NativeTerminal

PIECE_BYTES = 16 * 1024
_CANCEL = b"\x18"
_TO_ALTERNATE = re.compile(rb"\x1b\[\?(?:1049|1047|47)h")

# What ends a string for the parser. BEL ends OSC only, but where it comes in another string, that was none of ours.
_STRING_END = re.compile(rb"[\x07\x18\x1a\x1b]")
_STRINGS = {b"\x1b]": "osc", b"\x1bP": "dcs", b"\x1b_": "apc", b"\x1b^": "pm", b"\x1bX": "sos"}
_BEGINNINGS = {kind: beginning for beginning, kind in _STRINGS.items()}


class Intake:
    """Feeds one native terminal."""

    def __init__(self, native: NativeTerminal, lines: LineNumbers, *, cancelled: str | None = None) -> None:
        self._native = native
        self._lines = lines
        self._size = native.look().size
        self.cancelled = cancelled if cancelled in _BEGINNINGS else None
        """The kind of string that has been cancelled and has not ended: what arrives belongs to it."""
        self._began = b""
        """How the sequence that has half arrived begins."""

    def feed(self, data: bytes) -> bool:
        """Writes all of it; returns whether the terminal had to be brought back to its size."""
        was_resized = False
        for begin in range(0, len(data), PIECE_BYTES):
            piece = data[begin : begin + PIECE_BYTES]
            if self.cancelled:
                piece = self._behind_string(piece)
            # Lines are counted before the alternate screen hides them.
            places = [0, *(found.start() for found in _TO_ALTERNATE.finditer(piece)), len(piece)]
            for start, stop in pairwise(places):
                was_resized |= self._write(piece[start:stop])
        return was_resized

    def resize(self, rows: int, cols: int) -> None:
        """Gives the terminal another size."""
        self._size = (rows, cols)
        self._native.resize(rows, cols)
        self._lines.follow(self._native.look())

    def unfinished(self) -> bytes:
        """What has only half arrived, so that another terminal takes what follows for its rest."""
        if self.cancelled:
            return _BEGINNINGS[self.cancelled] + (b"9999;" if self.cancelled == "osc" else b"")
        return self._native.continuation() or b""

    def _write(self, piece: bytes) -> bool:
        self._native.write(piece)
        state = self._native.look()
        if not state.is_ground:
            self._bound_sequence()
        was_resized = state.size != self._size
        if was_resized:
            self._native.resize(*self._size)
        self._lines.follow(self._native.look(), piece)
        return was_resized

    def _bound_sequence(self) -> None:
        unfinished = self._native.continuation()
        if unfinished is not None:
            self._began = unfinished[:2]
            return
        self._native.write(_CANCEL)
        self.cancelled = _STRINGS.get(self._began)

    def _behind_string(self, piece: bytes) -> bytes:
        """What of a piece comes after the cancelled string; its own terminator is harmless."""
        end = _STRING_END.search(piece)
        if end is None:
            return b""
        self.cancelled = None
        return piece[end.start() :] if piece[end.start()] == 0x1B else piece[end.end() :]
