"""The hub's home folder: made private, and held by one hub at a time.

Rule: the lock is flock's, which the kernel drops with its holder: a killed hub leaves nothing to clean up.
Rule: a folder that somebody else made is never changed, only refused.
"""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from cloche_hub.errors import HomeInUse, StoreFailed

DATABASE_FILE = "hub.db"
LOCK_FILE = "hub.lock"


class HomeLock:
    """Holds a home until it is released; a context manager."""

    def __init__(self, home: Path) -> None:
        """Makes the home if there is none, and takes its lock.

        Raises:
            HomeInUse: another hub has it.
            StoreFailed: it cannot be made, or others may write in it.
        """
        try:
            _make_private(home)
            self._descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreFailed(f"cannot use {home} as the hub's home: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_pid(self._descriptor)
            os.close(self._descriptor)
            raise HomeInUse(
                f"another hub (pid {holder or 'unknown'}) has {home} open: use it, end it with `cloche hub stop`, "
                "or set CLOCHE_HOME to another folder",
                pid=holder,
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Lets another hub in. Idempotent."""
        # The file stays: deleting it would let a third hub lock a new file while a second one waits for this one.
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def make_private_file(path: Path) -> None:
    """Makes sure that a file exists and only its owner can read it.

    Raises:
        OSError: it cannot be made or changed, or is a symbolic link.
    """
    # SAFETY: O_NOFOLLOW: whoever could plant a link here must not make us open another file.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _make_private(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        # SAFETY: whoever else can write here could replace the database or the tokens under the hub.
        status = home.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise StoreFailed(f"the hub's home {home} is not a folder; set CLOCHE_HOME to one") from None
        if status.st_uid not in (os.geteuid(), 0):
            raise StoreFailed(
                f"the hub's home {home} belongs to user {status.st_uid}: set CLOCHE_HOME"
            ) from None
        if status.st_mode & 0o022:
            raise StoreFailed(f"others may write in the hub's home: run `chmod go-w {home}`") from None


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None
