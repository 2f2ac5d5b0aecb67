"""The stored screens of consoles: what a hub that was killed leaves of each to the next one.

Rule: what `append` or `checkpoint` has returned for outlives a kill and a power cut, so its bytes may be acknowledged
to the guest, which then forgets them.
Rule: a stored screen has no holes. Who has missed bytes of a console stores a checkpoint behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Size:
    """How large a console is from here on."""

    rows: int
    cols: int


Entry: TypeAlias = bytes | Size
"""What happens to a screen: output, or another size."""


@dataclass(frozen=True, slots=True)
class StoredScreen:
    """A snapshot, and what has happened to the screen since."""

    offset: int
    """How many bytes of output come before the entries."""
    snapshot: bytes | None
    """The terminal at `offset`; None: nothing has been output or stored before the entries."""
    entries: tuple[Entry, ...]
    """In order."""

    @property
    def end(self) -> int:
        """How many bytes of the console's output are in this."""
        return self.offset + sum(len(entry) for entry in self.entries if isinstance(entry, bytes))


class ScreenLog(Protocol):
    """The stored screen of one console that goes on; for one coroutine at a time."""

    @property
    def end(self) -> int:
        """How many bytes of the console's output are stored."""
        ...

    @property
    def log_bytes(self) -> int:
        """What the entries since the newest checkpoint take on disk."""
        ...

    async def append(self, offset: int, entries: Sequence[Entry]) -> None:
        """Adds what has happened; durable when it returns. Cancelling leaves open whether it is kept.

        Args:
            offset: where the first byte stands, or would stand; must be `end`.
            entries: output and sizes, in order.

        Raises:
            ValueError: the offset is another one.
            NoSpace: the disk is full; nothing of it is kept, and it may be tried again.
            StoreFailed: the disk failed.
        """
        ...

    async def checkpoint(self, offset: int, snapshot: bytes) -> None:
        """Puts a snapshot in the place of everything before, at once or not at all; durable when it returns.

        Args:
            offset: how many bytes of output the snapshot has seen; at least `end`.
            snapshot: the terminal, as its library wrote it.

        Raises:
            ValueError: the offset is before `end`.
            NoSpace: the disk is full; what was stored stays, and goes on.
            StoreFailed: the disk failed.
        """
        ...

    async def close(self, *, keep: bool) -> None:
        """Ends it. Idempotent.

        Args:
            keep: leave what is stored for another hub; otherwise it is deleted.
        """
        ...


class Screens(Protocol):
    """The stored screens of all consoles."""

    async def begin(self, console_id: str) -> ScreenLog:
        """Goes on with what is stored of a console, its torn end cut off; with nothing, at offset 0, where nothing is.

        Raises:
            NoSpace, StoreFailed: the disk is full, or failed.
        """
        ...

    async def load(self, console_id: str) -> StoredScreen | None:
        """What is stored of a console, without a torn end; None if nothing is.

        Raises:
            StoreFailed: it cannot be read.
        """
        ...

    async def stored(self) -> Sequence[str]:
        """The ids of all consoles of which something is stored."""
        ...

    async def remove(self, console_id: str) -> None:
        """Deletes what is stored of a console that no `ScreenLog` goes on with, if anything is."""
        ...
