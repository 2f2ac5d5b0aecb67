"""Strangers: connections that have not shown a token yet. Few of them, and none for long.

Rules:
- Where there are too many, the largest crowd loses the one who has been in it for longest. A crowd is what has come
  equally far (`Stage`) of the peer that has most strangers: a user on the Unix socket, an address on TCP. So who comes
  in crowds displaces his own; and a client, who says hello within milliseconds, is never in a crowd for long.
- One that comes when the kernel's queue is full (see `sockets`) is none yet: it has to try again.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from websockets.asyncio.server import ServerConnection

MAX_STRANGERS = 32
"""Each may make the hub hold a few messages of the longest kind, and a file descriptor."""

Peer: TypeAlias = str
"""Whose connections are counted together."""

_CREDENTIALS = struct.Struct("3i")


class Stage(Enum):
    """How far a stranger has come."""

    SILENT = auto()
    """Nothing has come from it."""
    SPEAKING = auto()
    """It has begun to shake hands."""
    OPEN = auto()
    """It may say hello."""
    ASKING = auto()
    """Its token is being looked up."""
    REFUSED = auto()
    """It is being told why."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A connection, as far as it matters who makes room."""

    peer: Peer
    stage: Stage = Stage.SILENT


def who_makes_room(strangers: Sequence[Stranger]) -> int:
    """The place of the stranger that makes room for another one.

    Args:
        strangers: all of them, at least one, each after those that came to its stage before it.
    """
    ((peer, _),) = Counter(stranger.peer for stranger in strangers).most_common(1)
    stages = Counter(stranger.stage for stranger in strangers if stranger.peer == peer)
    ((stage, _),) = stages.most_common(1)
    return strangers.index(Stranger(peer, stage))


class Gate:
    """The strangers of one listener.

    Args:
        most: how many there may be at once.
    """

    def __init__(self, *, most: int = MAX_STRANGERS) -> None:
        self._most = most
        # In the order in which they came to their stages.
        self._strangers: dict[ServerConnection, Stranger] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._strangers)

    def leave(self, connection: ServerConnection) -> None:
        """It is no stranger any more, or it is gone. Idempotent."""
        self._strangers.pop(connection, None)

    def reach(self, connection: ServerConnection, stage: Stage) -> None:
        """It has come that far. Does nothing for one that is no stranger any more."""
        stranger = self._strangers.get(connection)
        if stranger is not None and stranger.stage is not stage:
            del self._strangers[connection]
            self._strangers[connection] = Stranger(stranger.peer, stage)

    def has_spoken(self, connection: ServerConnection) -> None:
        """Something has come from it."""
        stranger = self._strangers.get(connection)
        if stranger is not None and stranger.stage is Stage.SILENT:
            self.reach(connection, Stage.SPEAKING)

    def close(self) -> None:
        """Drops all strangers, those to come too: they need not be told anything."""
        self._is_closed = True
        for stranger in list(self._strangers):
            stranger.transport.abort()

    def connection_class(self) -> type[ServerConnection]:
        """The class of connections that come through this gate, from their first byte on."""
        return _counted(self)

    def enter(self, connection: ServerConnection) -> None:
        """It has come; somebody may have to make room for it."""
        if self._is_closed:
            connection.transport.abort()
            return
        if len(self._strangers) >= self._most:
            place = who_makes_room([*self._strangers.values()])
            displaced = list(self._strangers)[place]
            self.leave(displaced)
            displaced.transport.abort()
        self._strangers[connection] = Stranger(peer_of(connection.transport))


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """Whose a connection is, as the kernel knows it: a user here, or an address."""
    connection = transport.get_extra_info("socket")
    try:
        if connection.family == socket.AF_UNIX:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            return f"uid {_CREDENTIALS.unpack(credentials)[1]}"
        return str(connection.getpeername()[0])
    except OSError:  # it has hung up already
        return "nobody"


def _counted(gate: Gate) -> type[ServerConnection]:
    class Counted(ServerConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            gate.enter(self)

        def data_received(self, data: bytes) -> None:
            gate.has_spoken(self)
            super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            gate.leave(self)
            super().connection_lost(exc)

    return Counted
