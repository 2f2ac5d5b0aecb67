"""Stored screens that are only kept in memory, with a disk that can be full."""

from __future__ import annotations

from collections.abc import Sequence

from cloche_hub.errors import NoSpace
from cloche_hub.ports import Entry, StoredScreen


class FakeScreens:
    """Implements `ports.Screens`."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredScreen] = {}
        """What is stored, by the console's id."""
        self.is_full = False
        """Set it to have everything that writes fail."""

    async def begin(self, console_id: str) -> FakeScreenLog:
        self.require_space()
        self.kept.setdefault(console_id, StoredScreen(0, None, ()))
        return FakeScreenLog(self, console_id)

    async def load(self, console_id: str) -> StoredScreen | None:
        return self.kept.get(console_id)

    async def stored(self) -> Sequence[str]:
        return sorted(self.kept)

    async def remove(self, console_id: str) -> None:
        self.kept.pop(console_id, None)

    def require_space(self) -> None:
        if self.is_full:
            raise NoSpace("the disk is full")


class FakeScreenLog:
    """Implements `ports.ScreenLog`."""

    def __init__(self, screens: FakeScreens, console_id: str) -> None:
        self._screens, self._console_id = screens, console_id
        self._is_closed = False

    @property
    def end(self) -> int:
        return self._screens.kept[self._console_id].end

    @property
    def log_bytes(self) -> int:
        stored = self._screens.kept[self._console_id]
        return sum(len(entry) if isinstance(entry, bytes) else 1 for entry in stored.entries)

    async def append(self, offset: int, entries: Sequence[Entry]) -> None:
        stored = self._screens.kept[self._console_id]
        if offset != stored.end:
            raise ValueError(f"{self._console_id} is stored up to {stored.end}, not {offset}")
        self._screens.require_space()
        kept = StoredScreen(stored.offset, stored.snapshot, (*stored.entries, *entries))
        self._screens.kept[self._console_id] = kept

    async def checkpoint(self, offset: int, snapshot: bytes) -> None:
        if offset < self.end:
            raise ValueError(f"{self._console_id} is stored up to {self.end}, after {offset}")
        self._screens.require_space()
        self._screens.kept[self._console_id] = StoredScreen(offset, snapshot, ())

    async def close(self, *, keep: bool) -> None:
        if not keep and not self._is_closed:
            await self._screens.remove(self._console_id)
        self._is_closed = True
