"""User ids for machines: where the hub is root, each QEMU runs as a user of its own.

An id is taken by a lock that the machine inherits, so it is free again exactly when the machine is gone, and hubs that
share a host never give the same one to two machines.
"""

from __future__ import annotations

from pathlib import Path

from cloche_hub.errors import TooLarge
from cloche_hub.locks import Lock


class UserIds:
    """A range of user ids.

    Args:
        first, last: both ends included.
        folder: where the locks are, the same for every hub of this host.
    """

    def __init__(self, first: int, last: int, folder: Path) -> None:
        self._first, self._count, self._folder = first, last - first + 1, folder
        self._next = 0

    def take(self) -> tuple[int, Lock]:
        """A user id nobody uses, and the lock to hand on to who runs as it.

        Raises:
            TooLarge: all are in use.
        """
        # SAFETY: only root may write here, or another user could keep every id for itself.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for step in range(self._count):
            slot = (self._next + step) % self._count
            uid = self._first + slot
            lock = Lock.try_take(self._folder / str(uid))
            if lock is not None:
                self._next = slot + 1
                return uid, lock
        raise TooLarge(
            f"all {self._count} user ids for machines are in use; remove sandboxes, or widen machine_uids"
        )
