"""Strangers: connections that have not shown a token yet. Few of them, and none for long.

Rule: where there are too many, the one that has been a stranger for longest makes room. So a crowd that says nothing
keeps nobody out: a client says hello within milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from websockets.asyncio.server import ServerConnection

MAX_STRANGERS = 32
"""Each may make the hub hold a few messages of the longest kind, and a file descriptor."""


class Gate:
    """The strangers of one listener.

    Args:
        most: how many there may be at once.
    """

    def __init__(self, *, most: int = MAX_STRANGERS) -> None:
        self._most = most
        # In the order in which they came.
        self._strangers: dict[ServerConnection, None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._strangers)

    def leave(self, connection: ServerConnection) -> None:
        """It is no stranger any more, or it is gone. Idempotent."""
        self._strangers.pop(connection, None)

    def close(self) -> None:
        """Drops all strangers, those to come too: they need not be told anything."""
        self._is_closed = True
        for stranger in list(self._strangers):
            stranger.transport.abort()

    def connection_class(self) -> type[ServerConnection]:
        """The class of connections that come through this gate, from their first byte on."""
        return _counted(self._enter, self.leave)

    def _enter(self, connection: ServerConnection) -> None:
        if self._is_closed:
            connection.transport.abort()
            return
        if len(self._strangers) >= self._most:
            oldest = next(iter(self._strangers))
            self.leave(oldest)
            oldest.transport.abort()
        self._strangers[connection] = None


def _counted(
    enter: Callable[[ServerConnection], None], leave: Callable[[ServerConnection], None]
) -> type[ServerConnection]:
    class Counted(ServerConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            enter(self)

        def connection_lost(self, exc: Exception | None) -> None:
            leave(self)
            super().connection_lost(exc)

    return Counted
