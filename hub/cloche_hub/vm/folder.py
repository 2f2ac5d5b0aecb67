"""What one machine has on its host: its overlay, its two sockets, the record by which a later hub finds it.

    machines/<id>/   lock machine.json disk.qcow2 qmp.sock agent.sock

Rules:
- The machine inherits the lock: a folder whose lock can be taken belongs to a machine that is gone.
- A folder is for the hub's eyes only (0700); a machine gets descriptors, never names.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cloche_hub.errors import BadRequest, Conflict, MachineFailed
from cloche_hub.locks import Lock
from cloche_hub.vm.process import is_process

_RECORD = "machine.json"
_BACKLOG = 16


@dataclass(frozen=True, slots=True)
class Record:
    """Which process a machine is."""

    machine_id: str
    pid: int
    start_ticks: int
    accelerator: str
    image: str
    flavor: str
    created_at: str


class MachineFolder:
    """The folder of one machine. Make it with `create`, or take an existing one's path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, parent: Path, machine_id: str) -> tuple[MachineFolder, Lock]:
        """Makes the folder of a new machine, in place of one that a dead machine has left.

        Returns:
            The folder, and the lock for the machine to inherit.

        Raises:
            BadRequest: the id is no name for a folder.
            Conflict: a machine of that id runs.
        """
        # SAFETY: the id becomes a path; ids are ours, but a "/" or ".." must not get this far.
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", machine_id):
            raise BadRequest(f"{machine_id!r} can not be a machine's id")
        folder = cls(parent / machine_id)
        if folder.path.exists():
            if folder.is_live():
                raise Conflict(f"a machine {machine_id} runs already")
            folder.remove()
        _make_private(parent)
        folder.path.mkdir(mode=0o700)
        lock = Lock.try_take(folder._lock_path)
        assert lock is not None
        return folder, lock

    @property
    def machine_id(self) -> str:
        return self.path.name

    @property
    def disk(self) -> Path:
        """The overlay."""
        return self.path / "disk.qcow2"

    @property
    def _lock_path(self) -> Path:
        return self.path / "lock"

    def is_live(self) -> bool:
        """Whether its machine still runs."""
        try:
            lock = Lock.try_take(self._lock_path)
        except FileNotFoundError:
            return False
        if lock is None:
            return True
        lock.close()
        # SAFETY: a machine that has broken out of QEMU can give up the locks it has inherited, but not its process.
        record = self.read_record()
        return record is not None and is_process(record.pid, record.start_ticks)

    def remove(self) -> int:
        """Deletes it with all in it; returns the bytes freed. Idempotent."""
        size = self.disk_bytes()
        shutil.rmtree(self.path, ignore_errors=True)
        return size

    def disk_bytes(self) -> int:
        """The blocks the overlay uses."""
        try:
            return self.disk.stat().st_blocks * 512
        except FileNotFoundError:
            return 0

    # The record

    def write_record(self, record: Record) -> None:
        """Notes which process the machine is; a reader sees the whole record or none."""
        draft = self.path / (_RECORD + ".new")
        draft.write_text(json.dumps(asdict(record)))
        draft.rename(self.path / _RECORD)

    def read_record(self) -> Record | None:
        """Which process the machine is; None if that was never written down."""
        try:
            return Record(**json.loads((self.path / _RECORD).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    # Sockets

    def listen(self, name: str) -> socket.socket:
        """A listening socket of that name, for the machine to inherit: who connects from now on is served."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self._short_path(name) as address:
                listening.bind(address)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
        return listening

    def connect(self, name: str) -> socket.socket:
        """A connection to that socket.

        Raises:
            OSError: nobody listens.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self._short_path(name) as address:
                # A Unix socket connects at once or not at all.
                connection.connect(address)
        except BaseException:
            connection.close()
            raise
        connection.settimeout(0)
        return connection

    @contextlib.contextmanager
    def _short_path(self, name: str) -> Iterator[str]:
        # A socket's address holds 107 bytes; a home may be deeper than that.
        folder = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{folder}/{name}.sock"
        finally:
            os.close(folder)


def machine_folders(parent: Path) -> list[MachineFolder]:
    """Every machine's folder, by name."""
    try:
        with os.scandir(parent) as entries:
            # SAFETY: what lies in a folder decides which process is ended: nobody else may have made it or write in it.
            paths = [Path(entry.path) for entry in entries if _is_private(entry.stat(follow_symlinks=False))]
    except FileNotFoundError:
        return []
    return [MachineFolder(path) for path in sorted(paths)]


def _is_private(status: os.stat_result) -> bool:
    """Whether it is a folder of ours in which nobody else may write."""
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _make_private(parent: Path) -> None:
    """Makes the folder of all machines, for our eyes only whatever the umask.

    Raises:
        MachineFailed: it is somebody else's.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_private(parent.stat(follow_symlinks=False)):
        raise MachineFailed(f"{parent} can be written by others; remove it, or run: chmod 700 {parent}")
