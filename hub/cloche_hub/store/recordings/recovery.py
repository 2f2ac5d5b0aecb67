"""What a killed hub left under way: finished as far as it got, with a last marker that says so. Blocking: for threads.

Rule: nothing that was flushed is lost, wherever the file is torn. The file is written anew beside the old one, which
stays until that is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from cloche_hub.errors import NotFound, StoreFailed
from cloche_hub.ports import Header
from cloche_hub.store import disk
from cloche_hub.store.recordings.cast import CUT_HERE, header_line, marker_line
from cloche_hub.store.recordings.cast_file import GZIP, LEVEL, Finished
from cloche_hub.store.recordings.reading import text_lines

LEFT = "the hub ended before the recording did"


def finish_left(path: Path, header: Header) -> Finished:
    """Finishes a recording's file.

    Args:
        path: the file; where there is none, one that says nothing is made.
        header: what begins a file of which not even that was kept.

    Raises:
        NoSpace, StoreFailed: it cannot be finished now; it is as it was.
    """
    try:
        # Its hub may have been killed after the last byte, and before the row.
        return _measured(path)
    except (NotFound, StoreFailed):
        with disk.told(f"finish the recording {path.name}"):
            return _finish_torn(path, header)


def _measured(path: Path) -> Finished:
    text = _Text()
    for line in text_lines(path, is_finished=True):
        text.add(line)
    return text.finished(path.stat().st_size, is_cut=text.is_cut)


def _finish_torn(path: Path, header: Header) -> Finished:
    new = path.with_name(f"{path.name}.new")
    text, gzip = _Text(), zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    descriptor = disk.open_new(new)
    try:
        for line in _lines(path, header, text):
            text.add(line)
            disk.write_all(descriptor, gzip.compress(line + b"\n"))
        disk.write_all(descriptor, gzip.flush())
        size = os.fstat(descriptor).st_size
        disk.put_in_place(descriptor, new, path)
    finally:
        os.close(descriptor)
        new.unlink(missing_ok=True)
    return text.finished(size, is_cut=True)


def _lines(path: Path, header: Header, text: _Text) -> Iterator[bytes]:
    with contextlib.suppress(NotFound):
        yield from text_lines(path, is_finished=False)
    if not text.bytes:
        yield header_line(header).rstrip(b"\n")
    yield marker_line(text.duration_s, CUT_HERE + LEFT).rstrip(b"\n")


class _Text:
    """What is known of the lines that have passed."""

    def __init__(self) -> None:
        self.bytes = 0
        self._digest = hashlib.sha256()
        self._last = b""

    def add(self, line: bytes) -> None:
        """Another one, without its end."""
        self.bytes += len(line) + 1
        self._digest.update(line)
        self._digest.update(b"\n")
        self._last = line

    @property
    def duration_s(self) -> float:
        """The time of the last event."""
        match self._event():
            case [(int() | float()) as at_s, *_]:
                return float(at_s)
        return 0.0

    @property
    def is_cut(self) -> bool:
        """Whether the last line says so."""
        match self._event():
            case [_, "m", str() as marker]:
                return marker.startswith(CUT_HERE)
        return False

    def finished(self, size_bytes: int, *, is_cut: bool) -> Finished:
        """All of it."""
        return Finished(self.duration_s, size_bytes, self.bytes, self._digest.hexdigest(), is_cut)

    def _event(self) -> object:
        try:
            return json.loads(self._last)
        except ValueError:
            # The header is none, and what a failing disk returns may be anything.
            return None
