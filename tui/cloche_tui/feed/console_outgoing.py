"""What a person types into a console and asks of it, on its way there, in order; nobody waits for it.

Rules:
- What is asked for goes before what is typed: it changes who hears that.
- What is typed is sent in small pieces while we drive, so that losing the wheel or the hub loses the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from cloche.errors import CodedError

if TYPE_CHECKING:
    from cloche.aio import Console

MOST_TYPED = 1 << 20
"""Bytes that wait for a program which does not read."""
_PIECE = 4 << 10

Request: TypeAlias = Callable[["Console"], Awaitable[None]]


class Outgoing:
    """What is on its way to one console."""

    def __init__(self) -> None:
        self._typed = bytearray()
        self._requests: deque[Request] = deque()
        self._has_work = asyncio.Event()

    def type(self, data: bytes) -> bool:
        """Takes what was typed; returns whether there was room for it."""
        has_room = len(self._typed) + len(data) <= MOST_TYPED
        if has_room:
            self._typed += data
            self.look_again()
        return has_room

    def request(self, request: Request) -> None:
        """Has something asked of the console."""
        self._requests.append(request)
        self.look_again()

    def look_again(self) -> None:
        """What is typed may have somewhere to go now."""
        self._has_work.set()

    def forget_typed(self) -> None:
        """What is typed and not sent goes nowhere."""
        self._typed.clear()

    def forget(self) -> None:
        """Neither does anything else."""
        self._typed.clear()
        self._requests.clear()

    async def run(self, console: Console, may_type: Callable[[], bool]) -> None:
        """Sends it all, for ever.

        Args:
            console: attached to.
            may_type: whether what is typed would reach the program now.
        """
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while self._requests or (self._typed and may_type()):
                # What stands in the way, such as the console's end, comes with its events.
                with contextlib.suppress(CodedError):
                    await self._send_next(console)

    async def _send_next(self, console: Console) -> None:
        if self._requests:
            await self._requests.popleft()(console)
            return
        piece = bytes(self._typed[:_PIECE])
        del self._typed[:_PIECE]
        await console.write(piece)
