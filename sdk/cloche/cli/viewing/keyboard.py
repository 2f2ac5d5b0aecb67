"""What is typed at a terminal, as it is typed.

Rule: nothing is read that nobody has asked for, so that what is typed ahead stays for who comes after us. A thread that
waits in a read, as `streams` has it, would take it.
"""

from __future__ import annotations

import asyncio
import os

from cloche_wire.aio.bounds import within

_PIECE = 64 << 10


class Keyboard:
    """A terminal in raw mode, or anything else that can be waited for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, wait_s: float | None = None) -> bytes | None:
        """What has been typed; empty if the terminal has gone away. Cancelling loses nothing.

        Args:
            wait_s: how long to wait; None: for ever.

        Returns:
            None if nothing was typed in that time.
        """
        loop, is_there = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, is_there.set)
        try:
            async with within(wait_s):
                await is_there.wait()
        except TimeoutError:
            # Both may have come at once.
            if not is_there.is_set():
                return None
        finally:
            loop.remove_reader(self._descriptor)
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            return b""
