"""Files as tests of the dashboard want them."""

from __future__ import annotations

from typing import Any

from cloche.file_messages import FileEntry
from cloche_tui.model.file_panes import FileRow, Listing, Pane, Side
from cloche_tui.model.transfers import Direction, Wanted


def entry(name: str, kind: str = "file", **more: Any) -> FileEntry:
    """What a guest says of a file."""
    said: dict[str, Any] = {
        "name": name, "path": f"/home/user/{name}", "kind": kind, "size_bytes": 1, "mode": 0o644, "uid": 1000,
        "gid": 1000, "mtime_ns": 1_700_000_000_000_000_000, "target": None, "unusable": False,
    }  # fmt: skip
    return FileEntry(**(said | more))


def row(name: str, kind: str = "file", **more: Any) -> FileRow:
    """A file in a folder."""
    return FileRow(name, kind, **more)


def pane(*rows: FileRow | str, side: Side = Side.HERE, folder: str = "/a") -> Pane:
    """A folder that is shown."""
    shown = Pane(side)
    shown.show(Listing(folder, [row(one) if isinstance(one, str) else one for one in rows]))
    return shown


def down(name: str = "a", *, folder: str = "/here", **more: Any) -> Wanted:
    """A copy out of a sandbox."""
    return Wanted(Direction.DOWN, name, f"/home/user/{name}", folder, **more)


def up(name: str = "a", *, source: str = "/here", **more: Any) -> Wanted:
    """A copy into a sandbox."""
    return Wanted(Direction.UP, name, f"{source}/{name}", "/home/user", **more)
