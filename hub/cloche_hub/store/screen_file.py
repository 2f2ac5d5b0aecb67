"""The file that holds the stored screen of one console, and what may be done to it. Blocking: for threads only.

Rule: there is one file, so that a checkpoint replaces snapshot and log together. What is being written lies beside it
under another name, and is worth nothing.
Rule: after a write that failed the file is what it was before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Entry, StoredScreen
from cloche_hub.store import disk
from cloche_hub.store.screen_records import MAGIC, ReadScreen, entry_records, read_records, snapshot_record

SCREEN_FILE = "screen"
_NEW_FILE = "screen.new"


def load_screen(folder: Path) -> StoredScreen | None:
    """What is stored in a console's folder, without a torn end; None if nothing is.

    Raises:
        StoreFailed: it cannot be read, or is none of ours.
    """
    with disk.told(f"read the screen in {folder}"):
        found = _read(folder)
    return None if found is None else found.screen


def remove_screen(folder: Path) -> None:
    """Deletes a console's folder, if it is there.

    Raises:
        StoreFailed: it cannot be deleted.
    """
    with disk.told(f"delete the screen in {folder}"), contextlib.suppress(FileNotFoundError):
        # The name that counts goes first: half a folder must not be taken for a screen.
        (folder / SCREEN_FILE).unlink(missing_ok=True)
        shutil.rmtree(folder)


class ScreenFile:
    """An open file to add to; one call at a time, from whichever thread."""

    def __init__(self, folder: Path) -> None:
        """Goes on with what is stored in a folder, or begins with nothing.

        Raises:
            NoSpace, StoreFailed: the disk is full, or failed, or the file is none of ours.
        """
        self._folder, self._turn = folder, threading.Lock()
        with disk.told(f"keep the screen in {folder}"):
            disk.make_folder(folder)
            found = _read(folder)
            if found is None:
                self._descriptor, self.end = self._put(MAGIC), 0
                self._size = self._log_begins = len(MAGIC)
            else:
                self._descriptor = os.open(folder / SCREEN_FILE, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                self.end, self._size = found.screen.end, found.good_bytes
                self._log_begins = found.log_begins
                self._cut()

    @property
    def log_bytes(self) -> int:
        """What the entries since the snapshot take."""
        return self._size - self._log_begins

    def append(self, offset: int, entries: Sequence[Entry]) -> None:
        """Adds entries; durable when it returns. See `ports.ScreenLog`."""
        with self._turn, disk.told(f"keep the screen in {self._folder}"):
            self._require_open()
            if offset != self.end:
                raise ValueError(f"{self._folder.name} is stored up to {self.end}, not {offset}")
            records, end = entry_records(offset, entries)
            try:
                disk.write_all(self._descriptor, records)
                os.fdatasync(self._descriptor)
            except OSError:
                self._cut()
                raise
            self.end, self._size = end, self._size + len(records)

    def checkpoint(self, offset: int, snapshot: bytes) -> None:
        """Replaces everything by a snapshot; durable when it returns. See `ports.ScreenLog`."""
        with self._turn, disk.told(f"keep the screen in {self._folder}"):
            self._require_open()
            if offset < self.end:
                raise ValueError(f"{self._folder.name} is stored up to {self.end}, after {offset}")
            written = MAGIC + snapshot_record(offset, snapshot)
            try:
                fresh = self._put(written)
            except StoreFailed:
                # Which of the two files has the name after a power cut, nobody knows: nothing is added to either.
                self._close()
                raise
            self._close()
            self._descriptor = fresh
            self.end = offset
            self._size = self._log_begins = len(written)

    def close(self) -> None:
        """Lets go of the file. Idempotent."""
        with self._turn:
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _require_open(self) -> None:
        if self._descriptor < 0:
            raise StoreFailed(f"the screen of {self._folder.name} is closed")

    def _put(self, data: bytes) -> int:
        """Puts a file in place and returns its descriptor, which stands at its end."""
        new = self._folder / _NEW_FILE
        descriptor = disk.open_new(new)
        try:
            disk.write_all(descriptor, data)
            disk.put_in_place(descriptor, new, self._folder / SCREEN_FILE)
        except BaseException:
            os.close(descriptor)
            new.unlink(missing_ok=True)
            raise
        return descriptor

    def _cut(self) -> None:
        """Cuts off what is not a part of the screen, and goes to the end."""
        os.ftruncate(self._descriptor, self._size)
        os.lseek(self._descriptor, self._size, os.SEEK_SET)


def _read(folder: Path) -> ReadScreen | None:
    try:
        data = (folder / SCREEN_FILE).read_bytes()
    except FileNotFoundError:
        return None
    found = read_records(data)
    if found is None:
        raise StoreFailed(f"{folder / SCREEN_FILE} is no screen of this version's")
    return found
