"""A recording's file read back, in pieces, never whole. Blocking: for threads.

Rule: of a file that is still written, or was when its hub was killed, the text ends with its last whole line. One that
is finished and does not read to its end is damaged, and said to be.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from cloche_hub.errors import NotFound, StoreFailed
from cloche_hub.store import disk
from cloche_hub.store.recordings.cast_file import GZIP

PIECE = 64 << 10
"""Bytes of a piece at most."""
LONGEST_LINE = 1 << 20
"""More than any line of ours has."""


class Torn(Exception):
    """The file ends before its text does."""


def text_pieces(path: Path, *, is_finished: bool) -> Generator[bytes]:
    """The text in pieces; close it if it is left early.

    Raises:
        NotFound: the file is gone.
        StoreFailed: it is damaged or cannot be read.
    """
    rest = b""
    try:
        for piece in _inflated(path):
            if is_finished:
                yield piece
                continue
            whole = piece.rfind(b"\n") + 1
            if whole:
                yield rest + piece[:whole]
                rest = piece[whole:]
            else:
                rest += piece
    except Torn:
        if is_finished:
            raise StoreFailed(f"the recording {path.name} is damaged: restore it from a copy") from None


def text_lines(path: Path, *, is_finished: bool) -> Generator[bytes]:
    """The text line by line, each without its end; raises as `text_pieces`."""
    rest = b""
    for piece in text_pieces(path, is_finished=is_finished):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise StoreFailed(f"the recording {path.name} is damaged: a line has no end")


def _inflated(path: Path) -> Generator[bytes]:
    """Pieces of what was compressed; raises Torn where there is no more of it and gzip's end is missing or wrong."""
    inflate = zlib.decompressobj(GZIP)
    with _opened(path) as file, disk.told(f"read the recording {path.name}"):
        while not inflate.eof:
            data = inflate.unconsumed_tail or file.read(PIECE)
            try:
                # SAFETY: a guest can make text that is a thousand times its file: it is taken in bounded pieces.
                piece = inflate.decompress(data, PIECE)
            except zlib.error:
                raise Torn from None
            if piece:
                yield piece
            elif not data:
                raise Torn


def _opened(path: Path) -> BinaryIO:
    with disk.told(f"read the recording {path.name}"):
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise NotFound(f"the file of the recording {path.name} is gone") from None
