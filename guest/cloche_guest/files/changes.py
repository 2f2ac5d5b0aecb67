"""What is done at once: a look, a new folder, another name, other permissions, a link.

To be called as the user who asks. Each returns the entry of what is there afterwards, and raises CodedError.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Any

from cloche_guest.files import paths
from cloche_guest.files.entries import look_at
from cloche_guest.files.messages import (
    LinkRequest,
    MakeDirRequest,
    RenameRequest,
    SetModeRequest,
    StatRequest,
)
from cloche_guest.files.refusals import naming
from cloche_guest.files.replacing import make_parents

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def look(request: StatRequest, home: str) -> dict[str, Any]:
    """What is at a path."""
    path = paths.resolve(request.path, home)
    with naming(path):
        return look_at(path, follow=request.follow)


def make_dir(request: MakeDirRequest, home: str) -> dict[str, Any]:
    """Makes a folder. With `parents` also those above it, and one that is there already stays as it is."""
    path = paths.resolve(request.path, home)
    with naming(path):
        if request.parents and os.path.isdir(path):
            return look_at(path, follow=True)
        made: list[bytes] = []
        try:
            if request.parents:
                make_parents(paths.split(path)[0], made)
            os.mkdir(path, 0o777 if request.mode is None else 0o700)
        except OSError:
            with contextlib.suppress(OSError):
                while made:
                    os.rmdir(made.pop())
            raise
        if request.mode is not None:
            _set_folder_mode(path, request.mode)
        return look_at(path, follow=False)


def rename(request: RenameRequest, home: str) -> dict[str, Any]:
    """Gives a file or a folder another name; links are renamed themselves."""
    source, path = paths.resolve(request.path, home), paths.resolve(request.to, home)
    with naming(source):
        status = os.lstat(source)
    if request.replace:
        with naming(path):
            os.rename(source, path)
    else:
        _rename_to_new(source, status, path)
    with naming(path):
        return look_at(path, follow=False)


def set_mode(request: SetModeRequest, home: str) -> dict[str, Any]:
    """Sets the permissions of what a path leads to."""
    path = paths.resolve(request.path, home)
    with naming(path):
        os.chmod(path, request.mode)
        return look_at(path, follow=True)


def link(request: LinkRequest, home: str) -> dict[str, Any]:
    """Makes a symbolic link, or another name of a file."""
    path = paths.resolve(request.path, home)
    if request.symbolic:
        # It means what it says to whoever follows it; nothing is resolved here.
        target = paths.encode(request.target)
        with naming(path):
            os.symlink(target, path)
    else:
        target = paths.resolve(request.target, home)
        with naming(target):
            os.lstat(target)
        with naming(path):
            os.link(target, path, follow_symlinks=False)
    with naming(path):
        return look_at(path, follow=False)


def _rename_to_new(source: bytes, status: os.stat_result, path: bytes) -> None:
    """Renames to a name that is free: takes it first, with something empty of the same kind, which is then replaced."""
    is_folder = stat.S_ISDIR(status.st_mode)
    with naming(path):
        if is_folder:
            os.mkdir(path, 0o700)
        else:
            os.close(os.open(path, _OPEN_NEW, 0o600))
        try:
            os.rename(source, path)
        except OSError:
            with contextlib.suppress(OSError):
                (os.rmdir if is_folder else os.unlink)(path)
            raise


def _set_folder_mode(path: bytes, mode: int) -> None:
    # SAFETY: by a descriptor: the name may mean another file by now, and whoever acts may be root.
    folder = os.open(path, _OPEN_FOLDER)
    try:
        os.fchmod(folder, mode)
    finally:
        os.close(folder)
