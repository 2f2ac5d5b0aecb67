"""This host's side of a copy: a folder that is filled with what a sandbox holds, and trees that are read from. Blocks.

Rules:
- SAFETY: what fills a tree here is hostile. Every name is opened from a descriptor of the folder above it, never
  through a symbolic link, so nothing can be made outside, whatever was made before or is there already.
- A file appears complete or not at all: it is written under a hidden name that must not exist, and renamed.
- Nothing but regular files and links is replaced, and a folder never.
- The kernel takes this process's umask off every mode, as it does for `cp`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from cloche.errors import NoSpace, WrongState

_PERMISSIONS = 0o777
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a FIFO would wait for a writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class LocalTree:
    """A folder of this host.

    Args:
        path: the folder; a link to it is followed, being this user's own.

    Raises:
        OSError: there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with naming(path):
            self._root = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Lets go of the folder. To be called once."""
        os.close(self._root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def make_folder(self, parts: tuple[str, ...], mode: int) -> bool:
        """Makes a folder that its maker can fill; returns whether it was not there. See `finish_folder`.

        Raises:
            OSError: it cannot be made, or something else is in the way.
        """
        with self._folder_of(parts) as (folder, name):
            try:
                os.mkdir(name, mode | stat.S_IRWXU, dir_fd=folder)
            except FileExistsError:
                # SAFETY: a link to a folder is not a folder: it may lead anywhere.
                if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, "it is there and is no folder") from None
                return False
            return True

    def finish_folder(self, parts: tuple[str, ...], mode: int, mtime_ns: int) -> None:
        """Gives a folder that was made, and that nothing more is made in, its permissions and time."""
        with self._folder_of((*parts, ".")) as (folder, name):
            now = stat.S_IMODE(os.stat(name, dir_fd=folder).st_mode)
            # Only ever less: the umask is off already. What it has from the folder above (set-gid) stays.
            if now & _PERMISSIONS & ~mode:
                os.chmod(name, now & (mode | ~_PERMISSIONS), dir_fd=folder)
            _set_time(name, mtime_ns, folder=folder)

    def new_file(self, parts: tuple[str, ...], mode: int, size_bytes: int) -> NewFile:
        """A file that is to take that place when it is complete.

        Args:
            size_bytes: what it is said to have; so much room must be on the disk.

        Raises:
            OSError, WrongState: something that is no file is in its place.
            NoSpace: the disk has not the room.
        """
        with self._folder_of(parts) as (folder, name):
            _require_replaceable(folder, name)
            room = os.statvfs(self._path)
            free = room.f_bavail * room.f_frsize
            if size_bytes > free:
                raise NoSpace(
                    f"{self._shown(parts)}: it has {size_bytes} bytes, and the disk has room for {free}"
                )
            return NewFile(folder, name, mode, self._shown(parts))

    def make_link(self, parts: tuple[str, ...], target: str) -> None:
        """Makes a symbolic link, also in place of a file or link.

        Raises:
            OSError, WrongState: it cannot be made, or something else is in the way.
        """
        with self._folder_of(parts) as (folder, name):
            _require_replaceable(folder, name)
            temporary = _hidden_name()
            os.symlink(target, temporary, dir_fd=folder)
            try:
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(temporary, dir_fd=folder)
                raise

    def open_file(self, parts: tuple[str, ...]) -> SourceFile:
        """A file to be read.

        Raises:
            OSError: it cannot be read.
            WrongState: it is no regular file any more.
        """
        with self._folder_of(parts) as (folder, name):
            return SourceFile(os.open(name, _READ, dir_fd=folder), self._shown(parts))

    def _shown(self, parts: tuple[str, ...]) -> str:
        return str(self._path.joinpath(*parts))

    @contextlib.contextmanager
    def _folder_of(self, parts: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder something is in, and its name there; errors of the system name the path."""
        *above, name = parts
        with naming(self._shown(parts)):
            folder = os.dup(self._root)
            try:
                for part in above:
                    # SAFETY: one component at a time, and O_NOFOLLOW: a link on the way ends it.
                    below = os.open(part, _FOLDER, dir_fd=folder)
                    os.close(folder)
                    folder = below
                yield folder, name
            finally:
                os.close(folder)


class NewFile:
    """A file of this host that is not complete. Ended by `commit` or `abandon`; errors of the system name its path.

    Args:
        folder: a descriptor of the folder it is in; the caller's to close.
        name: what it will be called.
        mode: its permissions, less the umask.
        path: what it is called in errors.
    """

    def __init__(self, folder: int, name: str, mode: int, path: str) -> None:
        self._name, self._path, self._temporary = name, path, _hidden_name()
        self._digest = hashlib.sha256()
        self._folder = os.dup(folder)
        try:
            self._file = os.open(self._temporary, _NEW, mode, dir_fd=self._folder)
        except BaseException:
            os.close(self._folder)
            raise
        self._is_over = False

    def write(self, data: bytes) -> None:
        """Appends."""
        self._digest.update(data)
        view = memoryview(data)
        with naming(self._path):
            while view:
                view = view[os.write(self._file, view) :]

    @property
    def sha256(self) -> str:
        """Of what has been written."""
        return self._digest.hexdigest()

    def commit(self, mtime_ns: int) -> None:
        """Puts it in its place."""
        with naming(self._path):
            _set_time(self._file, mtime_ns)
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._end()

    def abandon(self) -> None:
        """Leaves what was there. Does nothing once it is in its place."""
        if self._is_over:
            return
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._folder)
        self._end()

    def _end(self) -> None:
        self._is_over = True
        os.close(self._file)
        os.close(self._folder)


class SourceFile:
    """A file of this host that is read, to the size it had in the beginning: one that grows has an end.

    Args:
        descriptor: open for reading; closed by `close`.
        path: what it is called in errors.

    Raises:
        WrongState: it is no regular file.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self._file, self._path, self._digest = descriptor, path, hashlib.sha256()
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise WrongState(f"{path}: it is no regular file")
        self._left = status.st_size

    def read(self, most: int) -> bytes:
        """The next bytes; empty at the end."""
        with naming(self._path):
            data = os.read(self._file, min(most, self._left))
        self._left -= len(data)
        self._digest.update(data)
        return data

    @property
    def is_read(self) -> bool:
        """Whether nothing is left to be read."""
        return self._left == 0

    @property
    def sha256(self) -> str:
        """Of what has been read."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Lets go of it. To be called once."""
        os.close(self._file)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Makes errors of the system name a path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _require_replaceable(folder: int, name: str) -> None:
    """Raises unless there is nothing, a file or a link: what is written to a device or into a folder is not replaced."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder is there")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        raise FileExistsError(errno.EEXIST, "what is there is no file")


def _set_time(file: int | str, mtime_ns: int, *, folder: int | None = None) -> None:
    # A file system may not have it, and a guest may say any number.
    with contextlib.suppress(OSError, OverflowError):
        os.utime(file, ns=(time.time_ns(), mtime_ns), dir_fd=folder)


def _hidden_name() -> str:
    return f".cloche-{secrets.token_hex(8)}.part"
