"""The terminal a guest's output is emulated in, where this program shows it itself.

One place: nothing else in this package opens a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloche_term import Terminal


def guest_terminal(rows: int, cols: int) -> Terminal:
    """An empty terminal for what a guest has written; it keeps nothing of what scrolls out of it.

    Args:
        rows, cols: its size, 1 to 1000.
    """
    # It takes a moment to load, and most commands need none.
    from cloche_term import open_terminal

    # SAFETY: what is fed to it is hostile. Output is known that crashes the native emulator, and with it this program,
    # while the person's terminal is in raw mode; Python can only be slow.
    return open_terminal(rows, cols, scrollback_lines=0, backend="bittty")
