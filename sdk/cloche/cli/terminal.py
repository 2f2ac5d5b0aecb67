"""The terminal this program runs in: given to a console in raw mode, and given back as it was.

What a console's program has switched on in it is put back by `viewing.modes`; this is what the operating system knows
of a terminal.
"""

from __future__ import annotations

import contextlib
import os
import termios
import tty
from collections.abc import Callable, Iterator

from cloche.console_messages import LONGEST_SIDE, MOST_CELLS

KNOWN_TERMS = frozenset(
    {
        "ansi", "linux", "rxvt", "screen", "screen-256color", "tmux", "tmux-256color", "vt100", "vt102", "vt220",
        "xterm", "xterm-256color", "xterm-color", "xterm-mono",
    }
)  # fmt: skip
"""What Debian describes in every image (ncurses-base)."""
DEFAULT_TERM = "xterm-256color"


def term_for(name: str | None) -> str:
    """The TERM to use in a machine, which may not know ours."""
    return name if name in KNOWN_TERMS else DEFAULT_TERM


def window_size(descriptor: int) -> tuple[int, int]:
    """Rows and columns of a terminal, within what a console takes; 24 × 80 where it does not say."""
    try:
        cols, rows = os.get_terminal_size(descriptor)
    except OSError:
        return 24, 80
    rows, cols = min(rows or 24, LONGEST_SIDE), min(cols or 80, LONGEST_SIDE)
    return min(rows, MOST_CELLS // cols), cols


@contextlib.contextmanager
def raw_mode(descriptor: int) -> Iterator[Callable[[], None]]:
    """Every key and every byte passes untouched within it; the terminal is as before after it.

    Yields:
        What puts it back at once.
    """
    before = termios.tcgetattr(descriptor)

    def put_back() -> None:
        # Not TCSAFLUSH: what was typed ahead is for the shell behind us. Not TCSADRAIN: that waits for a terminal that
        # may have stopped.
        with contextlib.suppress(termios.error):  # the terminal has gone away
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    try:
        set_raw(descriptor)
        yield put_back
    finally:
        put_back()


def set_raw(descriptor: int) -> None:
    """Lets every key and every byte pass untouched."""
    tty.setraw(descriptor, termios.TCSANOW)


def drop_typed(descriptor: int) -> None:
    """Forgets what has been typed and not been read: for a terminal's own answers, which a shell would take for keys."""
    with contextlib.suppress(termios.error):  # the terminal has gone away
        termios.tcflush(descriptor, termios.TCIFLUSH)
