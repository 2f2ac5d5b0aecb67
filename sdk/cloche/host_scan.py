"""What a tree of this host holds, as a plan of what to copy. Blocks, in steps.

Rule: no symbolic link in a tree is followed: what is outside of it is not sent. The one that is named itself is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cloche.errors import WrongState
from cloche.transfer import Item, Kind, Plan, permissions

_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}
_STEP = 256
"""Entries between two chances to call it off."""


def scan(path: Path, plan: Plan) -> Iterator[None]:
    """Fills a plan with what is at a path; each step takes a moment.

    What is there itself has no name in the plan.

    Raises:
        OSError: something cannot be read.
        WrongState: it is neither a file nor a folder.
        TooLarge: it is more than the plan takes.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode):
        plan.add(_item(None, "", "file", status))
    elif stat.S_ISDIR(status.st_mode):
        root = _item(None, "", "dir", status)
        plan.add(root)
        yield from _scan_folder(path, root, plan)
    else:
        raise WrongState(f"{path}: it is no file and no folder")


def _scan_folder(top: Path, root: Item, plan: Plan) -> Iterator[None]:
    waiting = [root]
    seen = 0
    while waiting:
        folder = waiting.pop()
        with os.scandir(top.joinpath(*folder.parts)) as entries:
            for entry in entries:
                item = _plan_entry(entry, folder, plan)
                if item is not None and item.kind == "dir":
                    waiting.append(item)
                seen += 1
                if seen % _STEP == 0:
                    yield


def _plan_entry(entry: os.DirEntry[str], folder: Item, plan: Plan) -> Item | None:
    shown = "/".join((*folder.parts, entry.name))
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        plan.skip(shown.encode(errors="backslashreplace").decode(), "its name is not UTF-8")
        return None
    try:
        status = entry.stat(follow_symlinks=False)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode))
        # A Path would not keep every letter of it.
        target = os.readlink(entry.path) if kind == "link" else ""  # noqa: PTH115
        target.encode()
    except FileNotFoundError:
        return None  # gone since the folder was read
    except UnicodeEncodeError:
        plan.skip(shown, "the link's target is not UTF-8")
        return None
    if kind is None:
        plan.skip(shown, "it is no file, folder or link")
        return None
    item = _item(folder, entry.name, kind, status, target)
    plan.add(item)
    return item


def _item(folder: Item | None, name: str, kind: Kind, status: os.stat_result, target: str = "") -> Item:
    size_bytes = status.st_size if kind == "file" else 0
    return Item(folder, name, kind, size_bytes, permissions(status.st_mode), status.st_mtime_ns, target)
