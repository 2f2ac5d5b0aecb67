"""Locks between processes: flock(2) on folders, or on files that are never deleted.

The kernel gives a lock back with the last descriptor of it. So a killed process leaves none behind, and a lock that
QEMU has inherited lasts exactly as long as QEMU, whatever becomes of the hub: who can take it knows that the machine is
gone.
Rule: a lock file is never unlinked, unless its whole folder goes; two processes could then hold "the same" lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

_POLL_S = 0.1  # between two attempts of who waits for minutes


class Lock:
    """A lock that is held until it is closed, here and in every process that has inherited it. A context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def try_take(cls, path: Path) -> Lock | None:
        """Takes the lock of a file for this holder alone, or returns None if anybody holds it.

        Args:
            path: made as an empty file if there is nothing.
        """
        try:
            return cls._take(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None

    @classmethod
    def try_take_folder(cls, path: Path) -> Lock | None:
        """Takes the lock of a folder, which goes with it when it is renamed; None if anybody holds it, or it is gone."""
        try:
            return cls._take(path, fcntl.LOCK_EX | fcntl.LOCK_NB, os.O_DIRECTORY)
        except (BlockingIOError, FileNotFoundError):
            return None

    @classmethod
    def take_briefly(cls, path: Path) -> Lock:
        """Takes a lock alone; blocks while somebody holds it, which must only be for a few file operations."""
        return cls._take(path, fcntl.LOCK_EX)

    @classmethod
    def share(cls, path: Path) -> Lock:
        """Takes a lock together with others; blocks while somebody has it alone, which must only be for a moment."""
        return cls._take(path, fcntl.LOCK_SH)

    @classmethod
    async def take(cls, path: Path, *, while_waiting: Callable[[], None] = lambda: None) -> Lock:
        """Waits for a lock that may be held for minutes. Cancelling it leaves nothing behind.

        It asks again and again, since a thread that blocks in flock(2) could not be cancelled.
        """
        while (lock := cls.try_take(path)) is None:
            while_waiting()
            await asyncio.sleep(_POLL_S)
        return lock

    @classmethod
    def _take(cls, path: Path, operation: int, kind: int = os.O_CREAT) -> Self:
        # SAFETY: for reading: machines inherit locks, and one that has broken out of QEMU must not fill the disk by them.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | kind, 0o600)
        try:
            fcntl.flock(descriptor, operation)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def fileno(self) -> int:
        """The descriptor to inherit."""
        return self._descriptor

    def close(self) -> None:
        """Gives up this holder's part of the lock. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_held(path: Path) -> bool:
    """Whether anybody holds a lock, in this process or another."""
    lock = Lock.try_take(path)
    if lock is None:
        return True
    lock.close()
    return False
