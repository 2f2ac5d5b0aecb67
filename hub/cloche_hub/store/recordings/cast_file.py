"""The file of one recording that is being written: asciicast text in gzip, bounded, flushed when told. Blocking: for threads.

Rule: `sync` ends what is compressed at a whole byte and syncs the file, so what lies before can be read whatever
happens later; a file that was never finished lacks only gzip's end.
Rule: what a full disk does not take is kept and written first next time: a disk that was full for a while costs nothing.
Rule: the file never grows beyond its bound: before it would, a last marker says so.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cloche_hub.store import disk
from cloche_hub.store.recordings.cast import CUT_HERE, CastEvents, Cut, Move, marker_line

GZIP = 31
"""zlib's word for gzip with the largest window."""
LEVEL = 1
"""Of compression: terminals say the same again and again, and the hub has better things to do."""
# Room for the last marker and gzip's end.
_RESERVE = 512


@dataclass(frozen=True, slots=True)
class Finished:
    """What a finished file is."""

    duration_s: float
    size_bytes: int
    text_bytes: int
    sha256: str
    is_cut: bool


class CastFile:
    """A recording's file. For one thread at a time.

    Args:
        path: where it is made.
        first_line: the header.
        events: makes the other lines.
        max_bytes: of the file.

    Raises:
        NoSpace, StoreFailed: it cannot be made.
    """

    def __init__(self, path: Path, first_line: bytes, events: CastEvents, *, max_bytes: int) -> None:
        self._what, self._events, self._max_bytes = f"keep the recording {path.name}", events, max_bytes
        self._gzip = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._digest = hashlib.sha256()
        self._text_bytes = self._written = 0
        # Compressed, and not yet written.
        self._unwritten = bytearray()
        # Text that may still be inside the compressor.
        self._inside = 0
        self._is_cut = self._is_ended = False
        with disk.told(self._what):
            self._descriptor = disk.open_new(path)
            try:
                disk.sync_folder(path.parent)
                self._compress(first_line)
                self._write_synced()
            except BaseException:
                os.close(self._descriptor)
                path.unlink(missing_ok=True)
                raise

    def drain(self) -> None:
        """Writes what is compressed already. Raises NoSpace, StoreFailed."""
        with disk.told(self._what):
            self._write()

    def add(self, move: Move) -> None:
        """Takes a move, and only compresses it: what is `unwritten` then is to be drained."""
        if self._is_cut:
            return
        self._add(self._events.lines(move))
        if isinstance(move, Cut):
            self._is_cut = True

    @property
    def unwritten(self) -> int:
        """Bytes that wait to be written."""
        return len(self._unwritten)

    def sync(self) -> None:
        """Returns when all lines are on the disk. Raises NoSpace, StoreFailed: then it may be tried again."""
        with disk.told(self._what):
            self._write_synced()

    def finish(self) -> Finished:
        """Writes the end; returns when it is on the disk, and closes the file. May be tried again like `sync`."""
        if not self._is_ended:
            if not self._is_cut:
                self._add(self._events.end())
            self._unwritten += self._gzip.flush(zlib.Z_FINISH)
            self._is_ended = True
        with disk.told(self._what):
            self._write()
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)
        self.close()
        return Finished(
            duration_s=self._events.duration_s,
            size_bytes=self._written,
            text_bytes=self._text_bytes,
            sha256=self._digest.hexdigest(),
            is_cut=self._is_cut,
        )

    def close(self) -> None:
        """Lets go of the file as it is. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if self._is_cut:
                return
            if not self._fits(line):
                self._cut()
                return
            self._compress(line)

    def _fits(self, line: bytes) -> bool:
        room = self._max_bytes - _RESERVE - _at_most(len(line))
        if self._size + _at_most(self._inside) > room:
            # So near the bound it is worth knowing exactly.
            self._end_block()
        return self._size <= room

    def _cut(self) -> None:
        limit = f"{self._max_bytes >> 20} MiB" if self._max_bytes >= 1 << 20 else f"{self._max_bytes} bytes"
        self._is_cut = True
        self._compress(marker_line(self._events.duration_s, f"{CUT_HERE}a recording has at most {limit}"))

    def _compress(self, line: bytes) -> None:
        self._digest.update(line)
        self._text_bytes += len(line)
        self._inside += len(line)
        self._unwritten += self._gzip.compress(line)

    @property
    def _size(self) -> int:
        return self._written + len(self._unwritten)

    def _end_block(self) -> None:
        if self._inside:
            self._unwritten += self._gzip.flush(zlib.Z_SYNC_FLUSH)
            self._inside = 0

    def _write_synced(self) -> None:
        if not self._is_ended:
            self._end_block()
        self._write()
        if self._descriptor >= 0:
            os.fdatasync(self._descriptor)

    def _write(self) -> None:
        while self._unwritten:
            # A copy, for what is exported cannot shrink.
            count = os.write(self._descriptor, bytes(self._unwritten[: 1 << 20]))
            del self._unwritten[:count]
            self._written += count


def _at_most(text_bytes: int) -> int:
    """What text can become by compressing: a little more than it was, where it cannot be compressed."""
    return text_bytes + text_bytes // 1000 + 64
