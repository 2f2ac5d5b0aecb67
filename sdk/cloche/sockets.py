"""Connecting to a hub's Unix socket, also while a crowd does.

Rule: a full queue at the socket is no error. Unlike on TCP the kernel refuses at once then, unless one waits in it, and
asyncio takes the refusal for a connection; so it is tried again until there is room.
"""

from __future__ import annotations

import asyncio
import random
import socket
from pathlib import Path

_BETWEEN_S = 0.004


async def connect_unix(path: Path) -> socket.socket:
    """A connection to the Unix socket there. Waits for as long as its queue is full: the caller bounds it.

    Raises:
        OSError: nobody listens there, or this user may not connect.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(0)
        while True:
            try:
                # Never blocks: there is no network in between.
                connection.connect(str(path))
            except BlockingIOError:
                # Spread, so that those who wait do not try in step.
                await asyncio.sleep(_BETWEEN_S * random.uniform(0.5, 1.0))  # noqa: S311 - nothing secret
            else:
                return connection
    except BaseException:
        connection.close()
        raise
