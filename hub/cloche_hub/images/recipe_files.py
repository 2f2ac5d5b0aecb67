"""A recipe's `files` folder: packed for the root file system, and hashed for the cache's key.

Rule: only names, contents, links and the executable bit count; owners, times and other mode bits of the
checkout do not, so the same commit gives the same image everywhere.
"""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from cloche_hub.errors import BadRequest


def pack_files(folder: Path | None) -> bytes:
    """The folder as a tar archive owned by root; an empty archive for None.

    Raises:
        BadRequest: it holds something that is neither file, folder nor symbolic link.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, name in _walk(folder):
            info = tarfile.TarInfo(name)
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            elif stat.S_ISLNK(mode):
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, str(path.readlink())
                archive.addfile(info)
            else:
                data = path.read_bytes()
                info.size, info.mode = len(data), 0o755 if mode & stat.S_IXUSR else 0o644
                archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def files_digest(folder: Path | None) -> str:
    """A hash of everything `pack_files` would pack, in hex."""
    return hashlib.sha256(pack_files(folder)).hexdigest()


class FilesDigest:
    """`files_digest`, which reads a folder again only when something in it has changed."""

    def __init__(self) -> None:
        self._known: dict[Path | None, tuple[list[tuple[object, ...]], str]] = {}

    def __call__(self, folder: Path | None) -> str:
        """See `files_digest`."""
        stamp = [(name, *_stamp(path)) for path, name in _walk(folder)]
        known = self._known.get(folder)
        if known is None or known[0] != stamp:
            # The state before the reading: a change meanwhile is seen the next time.
            known = self._known[folder] = (stamp, files_digest(folder))
        return known[1]


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.lstat()
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _walk(folder: Path | None) -> Iterator[tuple[Path, str]]:
    if folder is None:
        return
    # SAFETY: links are packed as links and never followed, so a recipe can not pull in files of the host.
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise BadRequest(f"{path}: is neither a file, a folder nor a symbolic link")
        yield path, path.relative_to(folder).as_posix()
