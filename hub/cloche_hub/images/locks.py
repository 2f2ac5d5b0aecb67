"""Locks between processes that share a cache: flock(2) on files that are never deleted.

The kernel drops a lock with the last descriptor that holds it, so a killed process leaves none behind, and a
process that inherits the descriptor keeps it.
Rule: a lock file is never unlinked: two processes could then hold "the same" lock on two files.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

_POLL_S = 0.2


class FileLock:
    """A lock that is held from its making until it is closed; a context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def try_take(cls, path: Path, *, shared: bool = False) -> FileLock | None:
        """Takes the lock of a file or folder if that is possible at once.

        Args:
            path: made as an empty file if there is nothing.
            shared: any number may share it; otherwise it is for one.
        """
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    @classmethod
    def take_briefly(cls, path: Path, *, shared: bool = False) -> FileLock:
        """Waits, blocking, for a lock that nobody holds in the way for longer than a few file operations."""
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    @classmethod
    async def take(cls, path: Path, *, while_waiting: Callable[[], None] = lambda: None) -> FileLock:
        """Waits for a lock that may be held for minutes; cancelling it leaves nothing behind.

        Asks again and again rather than blocking in a thread, which could not be cancelled.
        """
        while (lock := cls.try_take(path)) is None:
            while_waiting()
            await asyncio.sleep(_POLL_S)
        return lock

    def fileno(self) -> int:
        """The descriptor that holds the lock; a process that inherits it holds the lock too."""
        return self._descriptor

    def close(self) -> None:
        """Gives the lock back. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: Path) -> int:
    if path.is_dir():
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # For reading: machines inherit locks, and need not be able to write into them.
    return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
