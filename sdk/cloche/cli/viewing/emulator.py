"""The terminal a guest's output is emulated in, where this program shows it itself.

One place: nothing else in this package opens a terminal. Rule: it is slow, so it is fed in slices, and other work has
its turn in between: the keyboard first of all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloche_term import Terminal


_FIRST_SLICE, _LARGEST_SLICE = 1 << 10, 32 << 10
_QUICK_S, _SLOW_S = 0.005, 0.02


def guest_terminal(rows: int, cols: int, *, scrollback_lines: int = 0) -> Terminal:
    """An empty terminal for what a guest has written.

    Args:
        rows, cols: its size, 1 to 1000.
        scrollback_lines: how many lines are kept of what scrolls out of it, for when it grows.
    """
    # It takes a moment to load, and most commands need none.
    from cloche_term import open_terminal

    # SAFETY: what is fed to it is hostile. Output is known that crashes the native emulator, and with it this program,
    # while the person's terminal is in raw mode; Python can only be slow.
    return open_terminal(rows, cols, scrollback_lines=scrollback_lines, backend="bittty")


class Slices:
    """Cuts what is to be emulated into slices that take about as long as nobody notices."""

    def __init__(self) -> None:
        self._bytes = _FIRST_SLICE

    async def of(self, data: bytes) -> AsyncIterator[bytes]:
        """The slices of `data`; each is to be emulated before the next is asked for."""
        at = 0
        while at < len(data):
            piece = data[at : at + self._bytes]
            began_s = time.monotonic()
            yield piece
            self._bytes = slice_after(len(piece), time.monotonic() - began_s)
            at += len(piece)
            await asyncio.sleep(0)


def slice_after(size: int, took_s: float) -> int:
    """How long the next slice may be, after one of so many bytes that took so long."""
    if took_s > _SLOW_S:
        # At once: a few bytes can have a whole screen erased again and again.
        return max(1, int(size * _SLOW_S / took_s))
    return max(_FIRST_SLICE, min(2 * size, _LARGEST_SLICE)) if took_s < _QUICK_S else size
