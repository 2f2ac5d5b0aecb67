"""What is asked of a terminal in another process, one after the other and in order.

    errands.add(errand)         soon, after all that was added before
    await errands.run_for_ever()

A key that was pressed behind a paste is typed behind it, though the paste has to be encoded first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from cloche_term import TerminalError

Errand = Callable[[], Awaitable[None]]

_MOST = 1000
"""Errands that wait; a terminal that is that far behind is about to be given up."""


class Errands:
    """A queue of errands, and who does them."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, Errand]] = deque()
        self._is_busy = False
        self._added = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether all errands are done."""
        return not self._waiting and not self._is_busy

    def add(self, errand: Errand, *, instead_of: str = "") -> None:
        """Has this done after all others.

        Args:
            errand: does it; a terminal that is lost meanwhile is no error.
            instead_of: where the newest one that waits was added with the same word, this one takes its place.
        """
        if instead_of and self._waiting and self._waiting[-1][0] == instead_of:
            self._waiting.pop()
        if len(self._waiting) < _MOST:
            self._waiting.append((instead_of, errand))
            self._added.set()

    def clear(self) -> None:
        """Forgets what waits."""
        self._waiting.clear()

    async def run_for_ever(self) -> None:
        """Does errands until it is cancelled."""
        while True:
            self._added.clear()
            while self._waiting:
                _, errand = self._waiting.popleft()
                self._is_busy = True
                try:
                    await errand()
                except (TerminalError, ValueError):
                    # Whoever feeds the terminal sees that it is lost, and opens another. What is no proper question (a
                    # paste of more than a terminal takes) comes to nothing.
                    continue
                finally:
                    self._is_busy = False
            # Without a bound: it waits for a person.
            await self._added.wait()
