"""Writing files so that they are there after a kill and a power cut, and telling what a disk cannot do.

Blocking: for threads only.

Rule: a file appears under its name whole or not at all: it is written under another one, synced, renamed, and then the
folder is synced, which is what makes the new name last.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from cloche_hub.errors import NoSpace, StoreFailed

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Has an OSError inside raised as ours.

    Args:
        what: what could not be done, for the message: `keep the screen of con_…`.

    Raises:
        NoSpace: the disk is full, or the hub's user has no more of it.
        StoreFailed: anything else.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise NoSpace(f"cannot {what}: the disk of the hub's home is full; free some space") from None
        raise StoreFailed(f"cannot {what}: {error.strerror}") from None


def make_folder(path: Path) -> None:
    """Makes a private folder in one that exists, to last; does nothing if it is there."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        sync_folder(path.parent)


def open_new(path: Path) -> int:
    """A descriptor for writing a private file that is made now; what was left under its name is deleted."""
    path.unlink(missing_ok=True)
    # SAFETY: O_EXCL and O_NOFOLLOW: whatever stands under that name is never written to.
    return os.open(path, _NEW, 0o600)


def put_in_place(descriptor: int, new: Path, place: Path) -> None:
    """Gives a file that has been written its name, in the place of what has it, at once and to last.

    Raises:
        OSError: it has not got the name.
        StoreFailed: it has, and nobody knows whether it keeps it.
    """
    os.fsync(descriptor)
    new.rename(place)
    try:
        sync_folder(place.parent)
    except OSError as error:
        raise StoreFailed(f"cannot keep {place}: {error.strerror}") from None


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Writes all of it; of a write that fails, some may have been written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(path: Path) -> None:
    """Returns when the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
