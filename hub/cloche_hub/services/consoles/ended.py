"""The consoles that have ended and can still be looked at: of each sandbox the newest, until it is removed.

Rule: a stored screen holds what was shown, secrets too: when `forget` returns, it is no longer on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import structlog

from cloche_hub.domain.console import MAX_ENDED, Console
from cloche_hub.ports import Screens

_log = structlog.get_logger(__name__)


class EndedConsoles:
    """The ended consoles of this hub.

    Args:
        screens: where what they showed last is stored.
        is_there: whether a sandbox is not removed yet.
    """

    def __init__(self, screens: Screens, is_there: Callable[[str], bool]) -> None:
        self._screens, self._is_there = screens, is_there
        self._of: dict[str, list[Console]] = {}
        self._leaving: list[Console] = []
        self._turn = asyncio.Lock()

    def __iter__(self) -> Iterator[Console]:
        return (console for consoles in self._of.values() for console in consoles)

    def keep(self, console: Console) -> None:
        """One has ended: from now on it is only looked at; an older one may have to go for it."""
        if not self._is_there(console.sandbox):
            return
        kept = self._of.setdefault(console.sandbox, [])
        kept.append(console)
        if len(kept) > MAX_ENDED:
            self._leaving.append(kept.pop(0))

    async def settle(self, console: Console) -> None:
        """Nothing will be stored of one any more: deletes what is, unless it is kept, and of those that had to go."""
        if console not in self._of.get(console.sandbox, ()):
            self._leaving.append(console)
        await self._delete()

    async def forget(self, sandbox_id: str) -> None:
        """Deletes what the ended consoles of a sandbox have shown."""
        self._leaving += self._of.pop(sandbox_id, ())
        await self._delete()

    async def forget_removed(self) -> None:
        """Deletes what those of all removed sandboxes have shown."""
        for sandbox_id in [one for one in self._of if not self._is_there(one)]:
            self._leaving += self._of.pop(sandbox_id)
        await self._delete()

    async def forget_left(self) -> None:
        """Deletes the screens that an earlier hub has left: nobody can look at them any more. Before there are others."""
        for console_id in await self._screens.stored():
            await self._remove_screen(console_id)

    async def _delete(self) -> None:
        # One at a time, so that who comes second also finds them deleted.
        async with self._turn:
            while self._leaving:
                await self._remove_screen(self._leaving[0].id)
                del self._leaving[0]

    async def _remove_screen(self, console_id: str) -> None:
        try:
            await self._screens.remove(console_id)
        except Exception as error:
            # The edge of the port: what is left is removed when the next hub starts.
            _log.warning("screen_not_removed", console=console_id, reason=str(error))
