"""A file's new content, all or nothing: written beside it under a hidden name, and put in its place when complete.

Rules:
- Until then what was there stays as it was, and nothing is left of what is given up.
- A symbolic link is followed, and what it leads to is replaced (made, where it leads nowhere yet), as with `cp` and
  `>`; unless the file must be new: then a link is in the way like anything else.
- What was there must be a regular file that its user may write. Its permissions stay, without set-uid and set-gid; so
  do its owner and group as far as the user may give files away. Other hard links to it keep the old content.
- Nothing is flushed to the disk: a machine that is cut off may lose what it wrote last, as any program's.

SAFETY: the folder is held by a descriptor, so it is the same from beginning to end, whatever is renamed meanwhile. The
hidden name is random and must not exist, so nobody can put a link or a file of theirs in its place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from cloche_guest.files.paths import follow, split, temporary_name
from cloche_guest.files.reading import require_regular

_MOST_LINKS = 40
"""As many as the kernel follows in one path."""
_OPEN_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Replacement:
    """New content for a file. To be used as one user all along; ended by `commit` or `abandon`.

    Args:
        path: the file's.
        mode: its permissions; None: those it has, or what is usual.
        exclusive: whether there must be nothing at the path.
        parents: whether missing folders above it are made.

    Raises:
        OSError: it can not be written there.
        WrongState: what is there has no content to replace.
    """

    def __init__(
        self, path: bytes, *, mode: int | None = None, exclusive: bool = False, parents: bool = False
    ) -> None:
        self._exclusive = exclusive
        self._made: list[bytes] = []
        with contextlib.ExitStack() as undo:
            undo.callback(self._remove_made)
            folder_path, self._name = split(path if exclusive else _destination(path))
            if not self._name:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if parents:
                make_parents(folder_path, self._made)
            self._folder = os.open(folder_path, _OPEN_FOLDER)
            undo.callback(os.close, self._folder)
            self._before = self._look_before(path)
            self._mode = mode
            if mode is None and self._before is not None:
                self._mode = stat.S_IMODE(self._before.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
            self._temporary = temporary_name(os.urandom(8))
            # Nobody reads it before it has its permissions.
            first_mode = 0o666 if self._mode is None else 0o600
            self._fd = os.open(self._temporary, _OPEN_NEW, first_mode, dir_fd=self._folder)
            undo.pop_all()

    def write(self, data: bytes) -> None:
        """Appends to the new content.

        Raises:
            OSError: there is no room.
        """
        left = memoryview(data)
        while left:
            left = left[os.write(self._fd, left) :]

    def commit(self) -> os.stat_result:
        """Puts the file in its place and returns what it is now.

        Raises:
            OSError: that can not be done; `abandon` has still to be called.
        """
        if self._before is not None:
            self._keep_owner(self._before)
        if self._mode is not None:
            os.fchmod(self._fd, self._mode)
        if self._exclusive:
            # A rename would replace what has come there since.
            os.link(
                self._temporary,
                self._name,
                src_dir_fd=self._folder,
                dst_dir_fd=self._folder,
                follow_symlinks=False,
            )
            os.unlink(self._temporary, dir_fd=self._folder)
        else:
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        status = os.fstat(self._fd)
        self._close()
        return status

    def abandon(self) -> None:
        """Leaves everything as it was."""
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._folder)
        self._close()
        self._remove_made()

    def _close(self) -> None:
        os.close(self._fd)
        os.close(self._folder)

    def _look_before(self, path: bytes) -> os.stat_result | None:
        """What is there now, if it may be replaced; None if there is nothing."""
        try:
            handle = os.open(self._name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
        except FileNotFoundError:
            return None
        try:
            if self._exclusive:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            status = os.fstat(handle)
            require_regular(status, path)
            if not os.access(b"/proc/self/fd/%d" % handle, os.W_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return status
        finally:
            os.close(handle)

    def _keep_owner(self, before: os.stat_result) -> None:
        now = os.fstat(self._fd)
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            # Only root may give a file away; a user may at least keep the group, being in it.
            for owner in (before.st_uid, -1):
                with contextlib.suppress(PermissionError):
                    os.fchown(self._fd, owner, before.st_gid)
                    return

    def _remove_made(self) -> None:
        """Removes the folders that were made for it, as far as nobody has used them since."""
        with contextlib.suppress(OSError):
            while self._made:
                os.rmdir(self._made.pop())


def make_parents(folder: bytes, made: list[bytes]) -> None:
    """Makes a folder and those above it, where they are missing; appends those it made, the outermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = split(folder)[0]
    for path in reversed(missing):
        try:
            os.mkdir(path)
        except FileExistsError:
            # Somebody was faster, or a file is in the way; then what comes next says so.
            continue
        made.append(path)


def _destination(path: bytes) -> bytes:
    """Where a path leads when the last part of it is a symbolic link, and what that leads to another one."""
    for _ in range(_MOST_LINKS):
        try:
            path = follow(path, os.readlink(path))
        except FileNotFoundError:
            return path
        except OSError as error:
            if error.errno == errno.EINVAL:  # it is no link
                return path
            raise
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
