"""One file in an answer: what it is called and what the kernel says of it. Pure, but for `look_at`.

Rule: a name that is not UTF-8 is given as bytes; nothing can be asked of such a file, it can only be seen.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Any

from cloche_guest.files.paths import as_text, split

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}


def entry(path: bytes, status: os.stat_result, target: bytes | None = None) -> dict[str, Any]:
    """A file as the hub is told of it.

    Args:
        path: absolute.
        status: of the file, or of the link itself.
        target: what a symbolic link says, where it is one.
    """
    made: dict[str, Any] = {
        "name": as_text(split(path)[1] or path),
        "path": as_text(path),
        "kind": _KINDS.get(stat.S_IFMT(status.st_mode), "other"),
        "size_bytes": status.st_size,
        "mode": stat.S_IMODE(status.st_mode),
        "uid": status.st_uid,
        "gid": status.st_gid,
        "mtime_ns": status.st_mtime_ns,
    }
    if target is not None:
        made["target"] = as_text(target)
    return made


def look_at(path: bytes, *, follow: bool) -> dict[str, Any]:
    """The entry of what is at a path now.

    Raises:
        OSError: there is nothing, or it can not be seen.
    """
    status = os.stat(path, follow_symlinks=follow)
    return entry(path, status, read_target(path, status))


def read_target(name: bytes, status: os.stat_result, folder: int | None = None) -> bytes | None:
    """What a symbolic link says; None if it is none, or none any more."""
    if stat.S_ISLNK(status.st_mode):
        with contextlib.suppress(OSError):
            return os.readlink(name, dir_fd=folder)
    return None
