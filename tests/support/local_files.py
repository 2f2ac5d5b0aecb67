"""`file.*` for a hub without machines: a folder here stands for the machine's tree, its `home/user` for the home."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, CodedError, Conflict, Forbidden, NoSpace, NotFound, WrongState

HOME = "home/user"
_BYTES = 1
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}
_CODES: dict[int, type[CodedError]] = {
    errno.ENOENT: NotFound,
    errno.EACCES: Forbidden,
    errno.EPERM: Forbidden,
    errno.EEXIST: Conflict,
    errno.ENOSPC: NoSpace,
    errno.ENAMETOOLONG: BadRequest,
}
_FIELDS = {
    "read": {"offset", "length"},
    "write": {"mode", "exclusive", "parents"},
    "stat": {"follow"},
    "list": set(),
    "make_dir": {"mode", "parents"},
    "remove": {"recursive"},
    "rename": {"to", "replace"},
    "set_mode": {"mode"},
    "link": {"target", "symbolic"},
}
KINDS = tuple(f"file.{name}" for name in _FIELDS)


async def serve_file(channel: Channel, tree: Path) -> None:
    """Does what a request about files asks for.

    Args:
        channel: offered, of one of `KINDS`.
        tree: stands for the machine's root; made if it is not there.
    """
    (tree / HOME).mkdir(parents=True, exist_ok=True)
    name = channel.kind.removeprefix("file.")
    if unknown := channel.params.keys() - _FIELDS[name] - {"sandbox", "path", "user"}:
        raise BadRequest(f"unknown fields {unknown}")
    try:
        await _Request(channel, tree).serve(name)
    except OSError as error:
        raise _CODES.get(error.errno or 0, WrongState)(
            f"{channel.params['path']}: {error.strerror}"
        ) from None


class _Request:
    def __init__(self, channel: Channel, tree: Path) -> None:
        self._channel, self._params, self._tree = channel, channel.params, tree
        self._path = self._place(self._params["path"])

    async def serve(self, name: str) -> None:
        if name in ("read", "write", "list"):
            return await {"read": self._read, "write": self._write, "list": self._list}[name]()
        return self._channel.close(getattr(self, f"_{name}")())

    def _place(self, path: str) -> Path:
        return self._tree / os.path.normpath(Path(f"/{HOME}", path)).lstrip("/")

    def _entry(self, path: Path, *, follow: bool = False) -> dict[str, Any]:
        status = path.stat(follow_symlinks=follow)
        entry = {
            "name": path.name,
            "path": f"/{path.relative_to(self._tree)}",
            "kind": _KINDS.get(stat.S_IFMT(status.st_mode), "other"),
            "size_bytes": status.st_size,
            "mode": stat.S_IMODE(status.st_mode),
            "uid": status.st_uid,
            "gid": status.st_gid,
            "mtime_ns": status.st_mtime_ns,
        }
        # A Path would not keep every letter of it.
        return {**entry, "target": os.readlink(path)} if entry["kind"] == "link" else entry  # noqa: PTH115

    async def _read(self) -> None:
        if not self._path.is_file():
            self._path.stat()
            raise WrongState(f"{self._path.name}: it is no regular file")
        content = self._path.read_bytes()[self._params.get("offset", 0) :][: self._params.get("length")]
        self._channel.accept(self._entry(self._path, follow=True))
        await self._channel.write(_BYTES, content)
        self._channel.end(_BYTES)
        self._channel.close({"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})

    async def _write(self) -> None:
        params = self._params
        if params.get("exclusive") and self._path.exists():
            raise FileExistsError(errno.EEXIST, "File exists")
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if params.get("parents"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".cloche-{secrets.token_hex(4)}.part")
        digest = hashlib.sha256()
        try:
            with temporary.open("xb") as file:
                self._channel.accept()
                while piece := await self._channel.read(_BYTES):
                    file.write(piece)
                    digest.update(piece)
            if (mode := params.get("mode")) is not None:
                temporary.chmod(mode)
            temporary.rename(self._path)
        finally:
            temporary.unlink(missing_ok=True)
        self._channel.close({**self._entry(self._path), "sha256": digest.hexdigest()})

    async def _list(self) -> None:
        entries = [self._entry(path) for path in self._path.iterdir()]
        self._channel.accept()
        for start in range(0, len(entries), 64):
            await self._channel.send_message({"entries": entries[start : start + 64]})
        self._channel.end(0)
        self._channel.close({"entries": len(entries)})

    def _stat(self) -> dict[str, Any]:
        return self._entry(self._path, follow=self._params.get("follow", True))

    def _make_dir(self) -> dict[str, Any]:
        parents = self._params.get("parents", False)
        self._path.mkdir(parents=parents, exist_ok=parents)
        if (mode := self._params.get("mode")) is not None:
            self._path.chmod(mode)
        return self._entry(self._path)

    def _remove(self) -> dict[str, Any]:
        if not self._path.is_dir() or self._path.is_symlink():
            self._path.unlink()
        elif self._params.get("recursive"):
            count = sum(1 for _ in self._path.rglob("*")) + 1
            shutil.rmtree(self._path)
            return {"removed": count}
        else:
            self._path.rmdir()
        return {"removed": 1}

    def _rename(self) -> dict[str, Any]:
        to = self._place(self._params["to"])
        if to.exists() and not self._params.get("replace"):
            raise FileExistsError(errno.EEXIST, "File exists")
        self._path.rename(to)
        return self._entry(to)

    def _set_mode(self) -> dict[str, Any]:
        self._path.chmod(self._params["mode"])
        return self._entry(self._path, follow=True)

    def _link(self) -> dict[str, Any]:
        if self._params.get("symbolic", True):
            self._path.symlink_to(self._params["target"])
        else:
            self._path.hardlink_to(self._place(self._params["target"]))
        return self._entry(self._path)
