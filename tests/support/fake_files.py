"""Files of a machine that is none: a tree in memory behind the requests that a real agent serves.

There are a home, `/home/user`, and `/tmp`. Everything is allowed to everybody; what depends on users, devices and file
systems is for tests with real machines. Passes the contract of files (tests/contract/test_files.py).
"""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, Conflict, NoSpace, NotFound, WrongState

BYTES = 1
HOME = "/home/user"
_BATCH = 64
_MTIME_NS = 1_700_000_000_000_000_000


@dataclass
class Node:
    """One file; a name of it is a path in the tree."""

    kind: str
    data: bytes = b""
    mode: int = 0o644
    target: str | None = None


@dataclass
class FakeFiles:
    """The tree, and what requests do to it."""

    tree: dict[str, Node] = field(
        default_factory=lambda: {path: Node("dir", mode=0o755) for path in ("/", "/home", HOME, "/tmp")}
    )
    """Absolute path → what is there."""
    room: int = 1 << 40
    """Bytes that a file may have."""
    taken: int = 0
    """Bytes that writes have taken from their streams."""
    sent: int = 0
    """Bytes that reads have got rid of."""
    under_way: int = 0
    """Reads and writes that have begun and not ended."""

    def handlers(self) -> Mapping[str, Callable[[Channel], Awaitable[None]]]:
        """Kind of request → what serves it."""
        return {
            "file.read": self._read,
            "file.write": self._write,
            "file.list": self._list,
            "file.stat": self._answer(self._stat),
            "file.make_dir": self._answer(self._make_dir),
            "file.remove": self._answer(self._remove),
            "file.rename": self._answer(self._rename),
            "file.set_mode": self._answer(self._set_mode),
            "file.link": self._answer(self._link),
        }

    # In streams.

    async def _read(self, channel: Channel) -> None:
        path = _resolve(channel.params)
        node = self._find(path)
        if node.kind != "file":
            raise WrongState(f"{path}: it is no regular file")
        offset, length = channel.params.get("offset", 0), channel.params.get("length")
        data = node.data[offset:] if length is None else node.data[offset : offset + length]
        channel.accept(_entry(path, node))
        self.under_way += 1
        try:
            for start in range(0, len(data), 1 << 14):
                piece = data[start : start + (1 << 14)]
                await channel.write(BYTES, piece)
                self.sent += len(piece)
        finally:
            self.under_way -= 1
        channel.end(BYTES)
        channel.close({"size_bytes": len(data)})
        await channel.wait_confirmed()

    async def _write(self, channel: Channel) -> None:
        params, path = channel.params, _resolve(channel.params)
        before = self._find(path) if path in self.tree else None
        if before is not None and params.get("exclusive"):
            raise Conflict(f"{path}: File exists")
        if before is not None and before.kind != "file":
            raise WrongState(f"{path}: it is no regular file")
        if not params.get("parents"):
            self._require_folder(posixpath.dirname(path))
        channel.accept()
        self.under_way += 1
        data = bytearray()
        try:
            while piece := await channel.read(BYTES):
                data += piece
                self.taken += len(piece)
                if len(data) > self.room:
                    raise NoSpace(f"{path}: the machine's disk is full")
        finally:
            self.under_way -= 1
        if params.get("parents"):
            self._make_parents(path)
        mode = params.get("mode") or (before.mode if before is not None else 0o644)
        node = self.tree[path] = Node("file", bytes(data), mode)
        channel.close(_entry(path, node))
        await channel.wait_confirmed()

    async def _list(self, channel: Channel) -> None:
        path = _resolve(channel.params)
        self._require_folder(path)
        channel.accept()
        names = self._below(path, deep=False)
        for start in range(0, len(names), _BATCH):
            batch = [_entry(name, self.tree[name]) for name in names[start : start + _BATCH]]
            await channel.send_message({"entries": batch})
        channel.end(0)
        channel.close({"entries": len(names)})
        await channel.wait_confirmed()

    # At once.

    @staticmethod
    def _answer(
        change: Callable[[Mapping[str, Any], str], dict[str, Any]],
    ) -> Callable[[Channel], Awaitable[None]]:
        async def serve(channel: Channel) -> None:
            channel.close(change(channel.params, _resolve(channel.params)))
            await channel.wait_confirmed()

        return serve

    def _stat(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        return _entry(path, self._find(path) if params.get("follow", True) else self._at(path))

    def _make_dir(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        if params.get("parents"):
            self._make_parents(path)
            if path in self.tree and self.tree[path].kind == "dir":
                return _entry(path, self.tree[path])
        self._require_free(path)
        self.tree[path] = Node("dir", mode=params.get("mode") or 0o755)
        return _entry(path, self.tree[path])

    def _remove(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        self._at(path)
        below = self._below(path, deep=True)
        if below and not params.get("recursive"):
            raise WrongState(f"{path}: Directory not empty")
        for name in (*below, path):
            del self.tree[name]
        return {"removed": len(below) + 1}

    def _rename(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        to = _resolve(params, "to")
        self._at(path)
        if not params.get("replace"):
            self._require_free(to)
        self._require_folder(posixpath.dirname(to))
        for name in (path, *self._below(path, deep=True)):
            self.tree[to + name[len(path) :]] = self.tree.pop(name)
        return _entry(to, self.tree[to])

    def _set_mode(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        node = self._find(path)
        node.mode = params["mode"]
        return _entry(path, node)

    def _link(self, params: Mapping[str, Any], path: str) -> dict[str, Any]:
        self._require_free(path)
        if params.get("symbolic", True):
            self.tree[path] = Node("link", mode=0o777, target=params["target"])
        else:
            self.tree[path] = self._at(_resolve(params, "target"))
        return _entry(path, self.tree[path])

    # The tree.

    def _at(self, path: str) -> Node:
        if path not in self.tree:
            raise NotFound(f"{path}: No such file or directory")
        return self.tree[path]

    def _find(self, path: str) -> Node:
        """What a path leads to."""
        for _ in range(40):
            node = self._at(path)
            if node.target is None:
                return node
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), node.target))
        raise BadRequest(f"{path}: Too many levels of symbolic links")

    def _below(self, path: str, *, deep: bool) -> list[str]:
        begin = path.rstrip("/") + "/"
        names = sorted(name for name in self.tree if name.startswith(begin) and name != path)
        return names if deep else [name for name in names if "/" not in name[len(begin) :]]

    def _require_folder(self, path: str) -> None:
        if self._find(path).kind != "dir":
            raise WrongState(f"{path}: Not a directory")

    def _require_free(self, path: str) -> None:
        if path in self.tree:
            raise Conflict(f"{path}: File exists")
        self._require_folder(posixpath.dirname(path))

    def _make_parents(self, path: str) -> None:
        folder = posixpath.dirname(path)
        if folder not in self.tree:
            self._make_parents(folder)
            self.tree[folder] = Node("dir", mode=0o755)


def _resolve(params: Mapping[str, Any], name: str = "path") -> str:
    return posixpath.normpath(posixpath.join(HOME, params[name]))


def _entry(path: str, node: Node) -> dict[str, Any]:
    made = {
        "name": posixpath.basename(path) or "/",
        "path": path,
        "kind": node.kind,
        "size_bytes": len(node.data),
        "mode": node.mode,
        "uid": 1000,
        "gid": 1000,
        "mtime_ns": _MTIME_NS,
    }
    return made if node.target is None else {**made, "target": node.target}
