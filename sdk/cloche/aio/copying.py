"""Copies a file or a whole tree between this host and a sandbox: first a plan of all of it, then many files at once.

Rules:
- The first thing that goes wrong ends the copy. What is complete by then stays; nothing is half-written on either side.
- SAFETY: what comes from the sandbox is checked by `transfer` when the plan is made, and made here through `local_tree`.
  Links come last, so that none is there while files are made.
- So many channels are open at once, and no more: the agent serves a bounded number, and others want some, too.
"""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloche.aio.file_streams import PIECE, Pull, Push, asked, pull
from cloche.errors import Conflict, TooLarge, WrongState
from cloche.host_scan import scan
from cloche.local_tree import LocalTree, NewFile, SourceFile
from cloche.threads import in_thread
from cloche.transfer import (
    Copied,
    Item,
    OnProgress,
    Plan,
    Tally,
    check_name,
    most_bytes,
    permissions,
    stays_inside,
)
from cloche_wire.errors import ungrouped

if TYPE_CHECKING:
    from cloche.aio.files import Files
    from cloche.file_messages import FileEntry
    from cloche.link import Link

LANES = 16
"""Files that are copied at once."""
_NO_MORE = object()


@dataclass(frozen=True, slots=True)
class Remote:
    """The sandbox's side of a copy."""

    link: Link
    sandbox: str
    path: str
    user: str | None

    def below(self, item: Item) -> str:
        """The path of something in it."""
        if not item.parts:
            return self.path
        return "/".join((self.path.removesuffix("/"), *item.parts))

    def params(self, item: Item, **more: Any) -> dict[str, Any]:
        """Of a request that concerns something in it."""
        return asked(self.sandbox, self.below(item), self.user, **more)


async def download(
    files: Files, remote: Remote, local: Path, plan: Plan, on_progress: OnProgress | None
) -> Copied:
    """Copies from the sandbox to exactly that place here; see `Files.download`."""
    began = time.monotonic()
    await _plan_remote(files, remote, plan)
    tally = Tally(plan.size_bytes, on_progress)
    place = await in_thread(local.resolve)
    # A folder that is there is filled; its own links are this user's.
    fills = bool(plan.folders) and await in_thread(place.is_dir)
    tree = await in_thread(partial(LocalTree, place if fills else place.parent))
    try:
        await _Download(remote, tree, () if fills else (place.name,), tally).carry_out(plan)
    finally:
        tree.close()
    return Copied(tally.files, tally.bytes, time.monotonic() - began, tuple(plan.skipped))


async def upload(
    files: Files, local: Path, remote: Remote, plan: Plan, on_progress: OnProgress | None
) -> Copied:
    """Copies from here to exactly that place in the sandbox; see `Files.upload`."""
    began = time.monotonic()
    steps = scan(local, plan)
    while await in_thread(lambda: next(steps, _NO_MORE)) is not _NO_MORE:
        pass
    tally = Tally(plan.size_bytes, on_progress)
    place = await in_thread(local.resolve)
    tree = await in_thread(partial(LocalTree, place if plan.folders else place.parent))
    try:
        await _Upload(files, remote, tree, () if plan.folders else (place.name,), tally).carry_out(plan)
    finally:
        tree.close()
    return Copied(tally.files, tally.bytes, time.monotonic() - began, tuple(plan.skipped))


async def _in_lanes(work: Callable[[Item], Awaitable[object]], items: Iterable[Item]) -> None:
    """Does the work for each item, so many at once; the first error ends it all."""
    waiting = iter(items)

    async def lane() -> None:
        for item in waiting:
            await work(item)

    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            for _ in range(LANES):
                tasks.create_task(lane())


# From the sandbox.


async def _plan_remote(files: Files, remote: Remote, plan: Plan) -> None:
    entry = await files.stat(remote.path, user=remote.user)
    if entry.kind not in ("file", "dir"):
        raise WrongState(f"{remote.path}: it is no file and no folder")
    # What the guest calls it is of no interest.
    plan.add(_item(None, "", entry))
    level = list(plan.folders)
    while level:
        known = len(plan.folders)
        await _in_lanes(lambda folder: _list_folder(files, remote, folder, plan), level)
        level = plan.folders[known:]


async def _list_folder(files: Files, remote: Remote, folder: Item, plan: Plan) -> None:
    async with aclosing(files.scan(remote.below(folder), user=remote.user)) as entries:
        async for entry in entries:
            _plan_entry(entry, folder, plan)


def _plan_entry(entry: FileEntry, folder: Item, plan: Plan) -> None:
    shown = "/".join((*folder.parts, entry.name))
    if entry.unusable:
        plan.skip(shown, "its name is not UTF-8")
        return
    check_name(entry.name)
    if entry.kind not in ("file", "dir", "link"):
        plan.skip(shown, "it is no file, folder or link")
    elif entry.kind == "link" and not stays_inside(entry.target or "", folder.depth + 1):
        plan.skip(shown, "the link could lead out of what is copied")
    else:
        plan.add(_item(folder, entry.name, entry))


def _item(folder: Item | None, name: str, entry: FileEntry) -> Item:
    kind: Any = entry.kind
    size_bytes = max(0, entry.size_bytes) if kind == "file" else 0
    return Item(folder, name, kind, size_bytes, permissions(entry.mode), entry.mtime_ns, entry.target or "")


class _Download:
    """One download whose plan is made.

    Args:
        prefix: what leads to the root in `tree`.
    """

    def __init__(self, remote: Remote, tree: LocalTree, prefix: tuple[str, ...], tally: Tally) -> None:
        self._remote, self._tree, self._prefix, self._tally = remote, tree, prefix, tally

    async def carry_out(self, plan: Plan) -> None:
        """Makes all of it here."""
        made: list[Item] = []
        await in_thread(lambda: self._make_folders(plan.folders, made))
        await _in_lanes(self._fetch, plan.files)
        await in_thread(lambda: self._finish(plan.links, made))

    def _at(self, item: Item) -> tuple[str, ...]:
        return self._prefix + item.parts

    def _make_folders(self, folders: Iterable[Item], made: list[Item]) -> None:
        for item in folders:
            parts = self._at(item)
            is_new = bool(parts) and self._tree.make_folder(parts, item.mode)
            if is_new:
                made.append(item)

    def _finish(self, links: Iterable[Item], made: list[Item]) -> None:
        for item in links:
            self._tree.make_link(self._at(item), item.target)
        for item in reversed(made):
            self._tree.finish_folder(self._at(item), item.mode, item.mtime_ns)

    async def _fetch(self, item: Item) -> None:
        shown = "/".join(self._at(item))
        async with pull(self._remote.link, self._remote.params(item)) as source:
            landing = _Landing(self._tree, self._at(item), source.entry)
            try:
                await self._land(source, landing, shown)
            finally:
                if landing.is_open:
                    await in_thread(landing.abandon)
        self._tally.copied(shown)

    async def _land(self, source: Pull, landing: _Landing, shown: str) -> None:
        most = most_bytes(source.entry.size_bytes)
        received = 0
        while piece := await source.read():
            received += len(piece)
            if received > most:
                # SAFETY: what a guest sends without end must not fill this disk.
                raise TooLarge(f"{source.entry.path}: it sends more than the {most} bytes it said it has")
            self._tally.moved(len(piece), shown)
            landing.waiting += piece
            if len(landing.waiting) >= PIECE:
                await in_thread(landing.flush)
        passed = await source.end()
        await in_thread(lambda: landing.finish(lambda sha256: source.check(passed, sha256)))


class _Landing:
    """Where a file comes to lie; what has come waits until it is worth waking a thread. Blocks.

    Attributes:
        waiting: what is not on the disk yet.
    """

    def __init__(self, tree: LocalTree, parts: tuple[str, ...], entry: FileEntry) -> None:
        self._tree, self._parts, self._entry = tree, parts, entry
        self._file: NewFile | None = None
        self.waiting = bytearray()

    @property
    def is_open(self) -> bool:
        """Whether there is something to be abandoned."""
        return self._file is not None

    def flush(self) -> NewFile:
        """Writes what waits."""
        if self._file is None:
            entry = self._entry
            self._file = self._tree.new_file(self._parts, permissions(entry.mode), entry.size_bytes)
        self._file.write(bytes(self.waiting))
        self.waiting.clear()
        return self._file

    def finish(self, check: Callable[[str], None]) -> None:
        """Puts it in its place if `check` has nothing against its sha256."""
        file = self.flush()
        check(file.sha256)
        file.commit(self._entry.mtime_ns)
        self._file = None

    def abandon(self) -> None:
        """Leaves what was there."""
        if self._file is not None:
            self._file.abandon()


# To the sandbox.


class _Upload:
    """One upload whose plan is made.

    Args:
        prefix: what leads to the root in `tree`.
    """

    def __init__(
        self, files: Files, remote: Remote, tree: LocalTree, prefix: tuple[str, ...], tally: Tally
    ) -> None:
        self._files, self._remote, self._tree, self._prefix, self._tally = files, remote, tree, prefix, tally
        self._unfinished: set[Item] = set()

    async def carry_out(self, plan: Plan) -> None:
        """Makes all of it there."""
        for level in plan.levels():
            await _in_lanes(self._make_folder, level)
        await _in_lanes(self._send, plan.files)
        await _in_lanes(self._make_link, plan.links)
        for level in reversed(list(plan.levels())):
            await _in_lanes(self._finish_folder, [item for item in level if item in self._unfinished])

    async def _make_folder(self, item: Item) -> None:
        path, user = self._remote.below(item), self._remote.user
        mode = item.mode | stat.S_IRWXU
        try:
            await self._files.make_dir(path, mode=mode, user=user)
        except Conflict:
            # One that is there is filled, and stays as it is.
            if (await self._files.stat(path, user=user)).kind != "dir":
                raise
        else:
            if mode != item.mode:
                self._unfinished.add(item)

    async def _finish_folder(self, item: Item) -> None:
        await self._files.chmod(self._remote.below(item), item.mode, user=self._remote.user)

    async def _make_link(self, item: Item) -> None:
        path, user = self._remote.below(item), self._remote.user
        try:
            await self._files.symlink(path, item.target, user=user)
        except Conflict:
            # Only a link gives way: nothing else of the same name is the same thing.
            if (await self._files.stat(path, follow=False, user=user)).kind != "link":
                raise
            await self._files.remove(path, user=user)
            await self._files.symlink(path, item.target, user=user)

    async def _send(self, item: Item) -> None:
        parts = self._prefix + item.parts
        shown = "/".join(parts)
        source = _Source(self._tree, parts)
        try:
            piece = await in_thread(source.read)
            async with Push(self._remote.link, self._remote.params(item, mode=item.mode)) as sink:
                while piece:
                    await sink.write(piece)
                    self._tally.moved(len(piece), shown)
                    piece = b"" if source.is_read else await in_thread(source.read)
                await sink.finish(source.sha256)
        finally:
            source.close()
        self._tally.copied(shown)


class _Source:
    """A file of this host that is opened when it is first read. Blocks."""

    def __init__(self, tree: LocalTree, parts: tuple[str, ...]) -> None:
        self._tree, self._parts = tree, parts
        self._file: SourceFile | None = None

    def read(self) -> bytes:
        """The next bytes; empty at the end."""
        return self._open().read(PIECE)

    def _open(self) -> SourceFile:
        if self._file is None:
            self._file = self._tree.open_file(self._parts)
        return self._file

    @property
    def is_read(self) -> bool:
        """Whether nothing is left to be read."""
        return self._open().is_read

    @property
    def sha256(self) -> str:
        """Of what has been read."""
        return self._open().sha256

    def close(self) -> None:
        """Lets go of it."""
        if self._file is not None:
            self._file.close()
