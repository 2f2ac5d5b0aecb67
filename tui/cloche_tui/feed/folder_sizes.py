"""How much is in the folders that somebody wants copied, as far as that is soon known. Nothing is copied here.

Rules:
- Counting ends after a moment, or after some thousand files: a person waits for it.
- SAFETY: what a guest says of its folders may have no end, nor a name lead out of its folder; see `file_panes`.
- What cannot be looked into is not counted. Whoever copies it is told why.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from cloche.aio import Files
from cloche.errors import CodedError
from cloche.threads import in_thread
from cloche_tui.model.file_panes import row_of_entry
from cloche_tui.model.transfers import Amount
from cloche_wire.aio.bounds import within

MOST_COUNTED = 10_000
"""Files and folders."""
PATIENCE_S = 1.0


@dataclass(slots=True)
class _Count:
    """What is counted so far."""

    folders: int = 0
    """Of those that were named."""
    files: int = 0
    size_bytes: int = 0
    seen: int = 0

    def amount(self, *, is_all: bool) -> Amount:
        return Amount(self.folders, self.files, self.size_bytes, is_all=is_all)


async def amount_here(
    paths: Sequence[str], *, most: int = MOST_COUNTED, patience_s: float = PATIENCE_S
) -> Amount:
    """How much these are on this host. Links in folders are files.

    Args:
        paths: of folders, or links to some; what is neither counts as a file.
        most: more are not counted.
        patience_s: it takes no longer than this, but for a single folder.
    """
    until = time.monotonic() + patience_s
    return await in_thread(lambda: _counted_here(paths, most, until))


def _counted_here(paths: Sequence[str], most: int, until: float) -> Amount:
    count = _Count()
    for path in paths:
        is_folder = os.path.isdir(path)  # noqa: PTH112 - as text, with whatever bytes it has
        count.folders += is_folder
        count.files += not is_folder
        for folder, folders, names in os.walk(path):
            for name in names:
                count.files += 1
                with contextlib.suppress(OSError):
                    count.size_bytes += os.lstat(f"{folder}/{name}").st_size
            count.seen += len(folders) + len(names)
            if count.seen > most or time.monotonic() > until:
                return count.amount(is_all=False)
    return count.amount(is_all=True)


async def amount_there(
    files: Files, paths: Sequence[str], *, most: int = MOST_COUNTED, patience_s: float = PATIENCE_S
) -> Amount:
    """How much these are in a sandbox.

    Args:
        files: the sandbox's.
        paths: of folders, or of links that may lead to some.
        most: more are not counted.
        patience_s: it takes no longer than this.
    """
    count, is_all = _Count(), True
    try:
        async with within(patience_s):
            for path in paths:
                is_all &= await _count_there(files, path, most, count)
    except TimeoutError:
        is_all = False
    return count.amount(is_all=is_all)


async def _count_there(files: Files, path: str, most: int, count: _Count) -> bool:
    """Counts what is at a path; returns whether that is all of it."""
    waiting, is_all = [path], True
    try:
        if (await files.stat(path)).kind != "dir":
            count.files += 1
            return True
    except CodedError:
        return False
    count.folders += 1
    while waiting:
        folder = waiting.pop()
        try:
            async with aclosing(files.scan(folder)) as entries:
                async for row in (row_of_entry(entry) async for entry in entries):
                    count.seen += 1
                    if count.seen > most:
                        return False
                    if row.kind == "dir" and not row.refusal:
                        waiting.append(f"{folder.rstrip('/')}/{row.name}")
                    elif row.kind != "dir":
                        count.files += 1
                        count.size_bytes += row.size_bytes
        except CodedError:
            is_all = False
    return is_all
