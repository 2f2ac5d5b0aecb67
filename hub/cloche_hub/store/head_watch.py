"""Where the committed audit chain ends, and waiting for it to move. Lives in the event loop alone."""

from __future__ import annotations

import asyncio

from cloche_hub.domain.audit import GENESIS, Head
from cloche_hub.errors import ShuttingDown


class HeadWatch:
    """Tells any number of waiters that there are new events; what they are, the waiters read themselves."""

    def __init__(self) -> None:
        self.head = GENESIS
        """Where the committed chain ends now."""
        self._moved = asyncio.Event()
        self._closed = False

    def announce(self, head: Head) -> None:
        """The chain ends here now; called after each commit that moved it."""
        self.head = head
        self._wake()

    async def wait_beyond(self, seq: int) -> Head:
        """Waits until the chain goes beyond an event; returns where it ends then. Cancelling loses nothing.

        Raises:
            ShuttingDown: the store is being closed.
        """
        while self.head.seq <= seq:
            if self._closed:
                raise ShuttingDown("the hub is going away; follow again when it is back")
            await self._moved.wait()
        return self.head

    def close(self) -> None:
        """Ends every wait, those to come too."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
