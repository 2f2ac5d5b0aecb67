"""Links, calls and reads that leave time for each other: nobody's flood holds up everybody else.

The hub serves all links in one loop, and a message costs by its frames, not by its bytes: credit bounds a flood of
data, but nothing bounds one of pings. So after a message that was dear its link rests for a multiple of what it cost.
What does useful work is not dear: a stream's frames are large.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from cloche_wire.aio import Transport

DEAR_S = 0.0005
"""Processor time of one message up to which its link need not rest."""
REST = 3
"""How many times as long as a dear message took its link rests: it has a quarter of the loop at most."""


class FairTransport:
    """A transport whose messages are handed out fairly. Implements cloche_wire.aio.Transport.

    Args:
        transport: the link.
        cpu_s: this thread's processor time; the time other programs took from us costs nobody a rest.
    """

    def __init__(self, transport: Transport, *, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._transport, self._cpu_s = transport, cpu_s
        self._handed_out_at: float | None = None

    async def receive(self) -> bytes:
        """See `Transport`. The caller handles a message before it asks for the next, without waiting in between."""
        if self._handed_out_at is not None:
            cost_s = self._cpu_s() - self._handed_out_at
            self._handed_out_at = None
            # Even after a cheap one the others have their turn.
            await asyncio.sleep(cost_s * REST if cost_s > DEAR_S else 0)
        message = await self._transport.receive()
        self._handed_out_at = self._cpu_s()
        return message

    async def send(self, message: bytes) -> None:
        """See `Transport`."""
        await self._transport.send(message)

    async def close(self) -> None:
        """See `Transport`."""
        await self._transport.close()


class Turns:
    """Turns at work that waits for others: one at a time for each who asks for it."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def turn(self, who: str) -> asyncio.Lock:
        """A turn of somebody's: `async with` it."""
        lock = self._locks.get(who)
        if lock is None:
            lock = self._locks[who] = asyncio.Lock()
        return lock


@dataclass(slots=True)
class Turn:
    """One turn at work."""

    cost_s: float | None = None
    """Processor time it has cost, where another process has done it."""


class FairTurns:
    """Turns at work that is done outside of a link's reader and may be dear: one at a time for each who asks for it.

    Args:
        cpu_s: as of `FairTransport`.
    """

    def __init__(self, *, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._cpu_s = cpu_s
        self._turns = Turns()

    @contextlib.asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[Turn]:
        """A turn of somebody's; if it was dear, leaving it rests.

        What is done inside waits for nothing, or says what it has cost.
        """
        async with self._turns.turn(who):
            turn, began_s = Turn(), self._cpu_s()
            try:
                yield turn
            finally:
                cost_s = self._cpu_s() - began_s if turn.cost_s is None else turn.cost_s
                if cost_s > DEAR_S:
                    await asyncio.sleep(cost_s * REST)
