"""User ids for machines: where the hub is root, each QEMU runs as a user of its own.

An id is taken by a lock that the machine inherits, so it is free again exactly when the machine is gone, and hubs that
share a host never give the same one to two machines. An id that anybody else's process runs as is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from cloche_hub.errors import TooLarge
from cloche_hub.locks import Lock

_PROC = Path("/proc")


def running_uids(proc: Path = _PROC) -> set[int]:
    """The user ids some process of this host runs as, or could take up again.

    Args:
        proc: the kernel's list of processes.
    """
    uids: set[int] = set()
    for process in proc.iterdir():
        if process.name.isdecimal():
            try:
                # Not the folder's owner: that is root for a process that may not be dumped.
                status = (process / "status").read_bytes()
            except OSError:
                continue  # It has ended.
            # SAFETY: a process gives itself its name; the kernel escapes newlines in it, so this line is the kernel's.
            uids.update(map(int, status.partition(b"\nUid:")[2].partition(b"\n")[0].split()))
    return uids


class UserIds:
    """A range of user ids.

    Args:
        first, last: both ends included.
        folder: where the locks are, the same for every hub of this host.
        running: tells which ids processes run as now.
    """

    def __init__(
        self, first: int, last: int, folder: Path, *, running: Callable[[], Collection[int]] = running_uids
    ) -> None:
        self._first, self._count, self._folder = first, last - first + 1, folder
        self._running = running
        self._next = 0

    def take(self) -> tuple[int, Lock]:
        """A user id nobody uses, and the lock to hand on to who runs as it.

        Raises:
            TooLarge: all are in use.
        """
        # SAFETY: only root may write here, or another user could keep every id for itself.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SAFETY: who runs as a machine's user may signal and trace its QEMU: a container, or whoever was given the id.
        running = self._running()
        for step in range(self._count):
            slot = (self._next + step) % self._count
            uid = self._first + slot
            if uid in running:
                continue
            lock = Lock.try_take(self._folder / str(uid))
            if lock is not None:
                self._next = slot + 1
                return uid, lock
        raise TooLarge(
            f"all {self._count} user ids for machines are in use; remove sandboxes, or widen machine_uids"
        )
