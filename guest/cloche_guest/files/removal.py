"""Removes a file, or a whole tree step by step.

Rules:
- Links are removed, never followed. SAFETY: whoever owns the tree may change it meanwhile; every step goes by a
  descriptor of the folder it is in, and a way back up that leads elsewhere ends the work.
- It stays on one file system: what is mounted in the tree is not its own.
- One descriptor at any depth. The first thing that can not be removed ends it; what is gone by then stays gone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from cloche_guest.files.paths import split
from cloche_guest.files.refusals import naming, refusal, wrong_kind
from cloche_guest.files.slices import Steps, Wait

_BATCH = 64
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class _Folder:
    """A folder on the way down."""

    name: bytes
    place: tuple[int, int]
    """Its device and number: what it is known by on the way back up."""
    folders: list[bytes] = field(default_factory=list)
    """Of those in it, which are known and not yet removed."""


def removing(path: bytes, *, recursive: bool) -> Steps:
    """Removes what is at a path, and results in how many files and folders that were.

    Raises:
        CodedError: something can not be removed; the message names it.
    """
    parent_path, name = split(path)
    if not name:
        raise wrong_kind(path, "the root folder can not be removed")
    with naming(path):
        parent = os.open(parent_path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=parent)
                yield {"removed": 1}
            elif not recursive:
                os.rmdir(name, dir_fd=parent)
                yield {"removed": 1}
            else:
                yield from _Tree(parent, path).removing()
        finally:
            os.close(parent)


class _Tree:
    """A tree that is being removed.

    Args:
        parent: the folder it is in.
        path: its own.
    """

    def __init__(self, parent: int, path: bytes) -> None:
        self._parent, self._path = parent, path
        name = split(path)[1]
        self._here = os.open(name, _OPEN_FOLDER, dir_fd=parent)
        self._trail = [_Folder(name, _place(self._here))]
        self._removed = 0

    def removing(self) -> Steps:
        """Removes it all."""
        try:
            while self._trail:
                if self._trail[-1].folders:
                    self._go_down()
                elif not self._empty_some():
                    self._go_up()
                yield Wait.TURN
        finally:
            os.close(self._here)
        yield {"removed": self._removed}

    def _empty_some(self) -> bool:
        """Removes files of this folder and takes note of folders in it; returns whether there were any."""
        here = self._trail[-1]
        with self._naming(), os.scandir(self._here) as found:
            names = [
                (os.fsencode(one.name), one.is_dir(follow_symlinks=False))
                for one in itertools.islice(found, _BATCH)
            ]
        for name, is_folder in names:
            if is_folder:
                here.folders.append(name)
                continue
            # Somebody else may have been faster.
            with self._naming(name), contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._here)
                self._removed += 1
        return bool(names)

    def _go_down(self) -> None:
        here = self._trail[-1]
        name = here.folders.pop()
        with self._naming(name):
            try:
                below = os.open(name, _OPEN_FOLDER, dir_fd=self._here)
            except FileNotFoundError:
                return
        place = _place(below)
        if place[0] != here.place[0]:
            os.close(below)
            raise wrong_kind(self._below(name), "another file system is mounted here")
        os.close(self._here)
        self._here = below
        self._trail.append(_Folder(name, place))

    def _go_up(self) -> None:
        """Removes this folder, which is empty, from the one above."""
        here = self._trail[-1]
        with self._naming():
            if len(self._trail) == 1:
                os.rmdir(here.name, dir_fd=self._parent)
            else:
                above = os.open(b"..", _OPEN_FOLDER, dir_fd=self._here)
                os.close(self._here)
                self._here = above
                if _place(above) != self._trail[-2].place:
                    raise wrong_kind(self._below(b""), "somebody moved it while it was being removed")
                os.rmdir(here.name, dir_fd=above)
        self._removed += 1
        self._trail.pop()

    def _below(self, name: bytes) -> bytes:
        """The path of something in this folder, for a message; of the folder itself without a name."""
        names = [folder.name for folder in self._trail[1:]]
        return b"/".join([self._path, *names, *([name] if name else [])])

    @contextlib.contextmanager
    def _naming(self, name: bytes = b"") -> Iterator[None]:
        """As `refusals.naming`, for something in this folder; the path is put together only if it is needed."""
        try:
            yield
        except OSError as error:
            raise refusal(error, self._below(name)) from None


def _place(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
