"""The stored screens of consoles (`ports.Screens`): one folder a console, written and read in threads of their own.

    <home>/consoles/<con_id>/screen

Why threads of their own: a slow disk must only hold up who waits for it, and nothing of asyncio's common threads.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from cloche_hub.ports import Entry, StoredScreen
from cloche_hub.store import disk
from cloche_hub.store.screen_file import ScreenFile, load_screen, remove_screen

T = TypeVar("T")

CONSOLES_FOLDER = "consoles"
_THREADS = 4
"""Syncs under way at once; more would only queue in the kernel."""
_ID = re.compile(r"con_[0-9a-z]{1,32}", re.ASCII)


class StoredLog:
    """The stored screen of one console that goes on; from `StoredScreens.begin`."""

    def __init__(self, screens: StoredScreens, file: ScreenFile, console_id: str) -> None:
        self._screens, self._file, self._console_id = screens, file, console_id

    @property
    def end(self) -> int:
        """How many bytes of the console's output are stored."""
        return self._file.end

    @property
    def log_bytes(self) -> int:
        """What the entries since the newest checkpoint take on disk."""
        return self._file.log_bytes

    async def append(self, offset: int, entries: Sequence[Entry]) -> None:
        """Adds what has happened; durable when it returns. See `ports.ScreenLog`."""
        await self._screens.run(partial(self._file.append, offset, entries))

    async def checkpoint(self, offset: int, snapshot: bytes) -> None:
        """Puts a snapshot in the place of everything before. See `ports.ScreenLog`."""
        await self._screens.run(partial(self._file.checkpoint, offset, snapshot))

    async def close(self, *, keep: bool) -> None:
        """Ends it, and deletes what is stored unless it is to be kept. Idempotent."""
        await self._screens.run(self._file.close)
        self._screens.forget(self._file)
        if not keep:
            await self._screens.remove(self._console_id)


class StoredScreens:
    """The stored screens in one folder; make it with `open_screens`."""

    def __init__(self, folder: Path, threads: ThreadPoolExecutor) -> None:
        self._folder, self._threads = folder, threads
        self._open: set[ScreenFile] = set()

    async def begin(self, console_id: str) -> StoredLog:
        """Goes on with what is stored of a console. See `ports.Screens`.

        Raises:
            ValueError: that is no console's id.
        """
        folder = self._place(console_id)
        if folder is None:
            raise ValueError(f"{console_id!r} is no console's id")
        return StoredLog(self, await self.run(partial(self._begin, folder)), console_id)

    async def load(self, console_id: str) -> StoredScreen | None:
        """What is stored of a console; None if nothing is, or that is no console's id. See `ports.Screens`."""
        folder = self._place(console_id)
        return None if folder is None else await self.run(partial(load_screen, folder))

    async def stored(self) -> Sequence[str]:
        """The ids of all consoles of which something is stored, sorted."""
        return await self.run(self._stored)

    async def remove(self, console_id: str) -> None:
        """Deletes what is stored of a console, if anything is."""
        folder = self._place(console_id)
        if folder is not None:
            await self.run(partial(remove_screen, folder))

    async def run(self, work: Callable[[], T]) -> T:
        """Has a thread do something. Cancelled, what has begun goes on; what comes after it waits for it."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def forget(self, file: ScreenFile) -> None:
        """A file that has been closed need not be closed at the end."""
        self._open.discard(file)

    def close(self) -> None:
        """Closes every file; what is stored stays."""
        for file in self._open:
            file.close()

    def _begin(self, folder: Path) -> ScreenFile:
        file = ScreenFile(folder)
        # Here, for whoever asked may have been cancelled meanwhile.
        self._open.add(file)
        return file

    def _stored(self) -> list[str]:
        with disk.told(f"list {self._folder}"):
            return sorted(entry.name for entry in self._folder.iterdir() if _ID.fullmatch(entry.name))

    def _place(self, console_id: str) -> Path | None:
        # SAFETY: a guest says which consoles it has: what it says becomes a path only in the form of an id.
        return self._folder / console_id if _ID.fullmatch(console_id) else None


@asynccontextmanager
async def open_screens(home: Path) -> AsyncIterator[StoredScreens]:
    """The stored screens in a home that this process holds; what is stored stays there at the end.

    Raises:
        NoSpace, StoreFailed: their folder cannot be made.
    """
    folder = home / CONSOLES_FOLDER
    with disk.told(f"make {folder}"):
        disk.make_folder(folder)
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="screens")
    screens = StoredScreens(folder, threads)
    try:
        yield screens
    finally:
        # By now nobody waits for anything; at most a few syncs are under way.
        threads.shutdown()
        screens.close()
