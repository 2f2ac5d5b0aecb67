"""The terminal this program runs in: given to a console in raw mode, and given back as it was.

Pure but for `raw_mode` and `drop_typed`. What a program in a console has switched on in our terminal (its other screen, the mouse, …)
it may leave on when it is cut off: `Modes` watches for it, and knows what switches it off.

Rule: only what is known here is remembered, so that a hostile program's output costs no memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import termios
import tty
from collections.abc import Iterator
from dataclasses import dataclass

KNOWN_TERMS = frozenset(
    {
        "ansi", "linux", "rxvt", "screen", "screen-256color", "tmux", "tmux-256color", "vt100", "vt102", "vt220",
        "xterm", "xterm-256color", "xterm-color", "xterm-mono",
    }
)  # fmt: skip
"""What Debian describes in every image (ncurses-base)."""
DEFAULT_TERM = "xterm-256color"

# A mode switched on or off: ESC [ numbers h or l, of private modes with a ? in front.
_SWITCH = re.compile(rb"\x1b\[(\??)([0-9;]{1,40})([hl])")
_CURSOR_SHAPE = re.compile(rb"\x1b\[[0-9]{0,3} q")
_COLOUR = re.compile(rb"\x1b\](10|11|12);")
# The beginnings of links; one without an address ends the link before it.
_LINK = re.compile(rb"\x1b\]8;([^;\x07\x1b]{0,200});(.?)", re.DOTALL)
# Whatever a terminal answers by typing: what it is, where its cursor is, its modes, colours, title and strings.
_QUERY = re.compile(
    rb"\x1b\[[>=?]?[0-9;]{0,20}[cn]|\x1b\[\??[0-9;]{1,20}\$p|\x1b\[\?u|\x1b\[>[0-9]{0,3}q|\x1b\[[0-9;]{1,20}t"
    rb"|\x1b\][0-9;]{1,20};[^\x07\x1b]{0,20}\?|\x1bP[$+]q|\x1bZ|\x05|\x1b_G"
)
_LONGEST = 256
"""Bytes of the longest sequence that is looked for."""

# Modes that make a shell unusable when they stay on, and what a terminal has without them.
_OFF_BY_DEFAULT = (
    b"?47", b"?1047", b"?1049",  # the other screen
    b"?1",  # application cursor keys
    b"?9", b"?1000", b"?1001", b"?1002", b"?1003", b"?1004", b"?1005", b"?1006", b"?1015", b"?1016",  # mouse and focus
    b"?2004",  # bracketed paste
    b"?2026",  # output held back
    b"?5",  # reverse video
    b"?6", b"?69",  # the cursor and the margins bound to a part of the screen
    b"4",  # letters pushed aside instead of written over
    b"20",  # a line's end that is two characters
    b"?1007",  # the wheel as keys
)  # fmt: skip
_ON_BY_DEFAULT = (b"?7", b"?25")  # wrapping at the margin, the cursor
_KNOWN = frozenset(_OFF_BY_DEFAULT + _ON_BY_DEFAULT)


class Modes:
    """What has been switched in a terminal by what was written to it."""

    def __init__(self) -> None:
        self._switched: dict[bytes, bytes] = {}
        self._colours: set[bytes] = set()
        self._has_shape = self._has_link = self._has_asked = self._has_written = False
        self._rest = b""

    @property
    def has_asked(self) -> bool:
        """Whether the last of what was written asks the terminal something, so that its answer may be on its way."""
        return self._has_asked

    def written(self, piece: bytes) -> None:
        """Takes note of what was written; a sequence may be cut between two pieces."""
        self._has_written = True
        text = self._rest + piece
        for private, numbers, switch in _SWITCH.findall(text):
            for number in numbers.split(b";"):
                if (mode := private + number) in _KNOWN:
                    self._switched[mode] = switch
        self._colours.update(_COLOUR.findall(text))
        self._has_shape = self._has_shape or _CURSOR_SHAPE.search(text) is not None
        if links := _LINK.findall(text):
            self._has_link = links[-1][1] not in (b"", b"\x07", b"\x1b")
        self._has_asked = _QUERY.search(text) is not None
        # The beginning of a sequence may be its end; taking note of a whole one twice does no harm.
        self._rest = text[-_LONGEST:]

    def undo(self) -> bytes:
        """What puts the terminal back; empty if nothing was ever written."""
        if not self._has_written:
            return b""
        undone = [b"\x1b[%bl" % mode for mode in _OFF_BY_DEFAULT if self._switched.get(mode) == b"h"]
        undone += [b"\x1b[%bh" % mode for mode in _ON_BY_DEFAULT if self._switched.get(mode) == b"l"]
        undone += [b"\x1b]1%b\x1b\\" % colour for colour in sorted(self._colours)]
        undone += [b"\x1b]8;;\x1b\\"] * self._has_link + [b"\x1b[0 q"] * self._has_shape
        # Colours of text, the numeric keypad, the character set, the pushed keyboard modes, the scrolling region are
        # put back without being watched: it costs nothing. The region moves the cursor, which is saved around it. First
        # of all what was begun and not ended (a title, a string) is cut off, or it would swallow the rest.
        return b"\x1b\\\x1b[<u\x1b[>4m" + b"".join(undone) + b"\x1b7\x1b[r\x1b8\x1b[0m\x1b>\x0f\x1b(B"


@dataclass(frozen=True, slots=True)
class WayOut:
    """The key that leaves a console: ctrl+] as terminals send it, also where a program has asked for longer forms."""

    forms: tuple[bytes, ...] = (
        b"\x1d",
        b"\x1b[93;5u",  # kitty's keyboard protocol
        b"\x1b[93;5:1u",
        b"\x1b[27;5;93~",  # xterm's modifyOtherKeys
    )

    def split(self, typed: bytes) -> tuple[bytes, bool]:
        """What was typed before the way out, and whether it is in there.

        A terminal sends the bytes of one key together, and so they are read.
        """
        found = [place for form in self.forms if (place := typed.find(form)) >= 0]
        return (typed[: min(found)], True) if found else (typed, False)


def term_for(name: str | None) -> str:
    """The TERM to use in a machine, which may not know ours."""
    return name if name in KNOWN_TERMS else DEFAULT_TERM


def window_size(descriptor: int) -> tuple[int, int]:
    """Rows and columns of a terminal, within what a console takes; 24 × 80 where it does not say."""
    try:
        cols, rows = os.get_terminal_size(descriptor)
    except OSError:
        return 24, 80
    return min(rows or 24, 1000), min(cols or 80, 1000)


@contextlib.contextmanager
def raw_mode(descriptor: int) -> Iterator[None]:
    """Every key and every byte passes untouched within it; the terminal is as before after it."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor, termios.TCSANOW)
        yield
    finally:
        # Not TCSAFLUSH: what was typed ahead is for the shell behind us. Not TCSADRAIN: that waits for a terminal that
        # may have stopped.
        with contextlib.suppress(termios.error):  # the terminal has gone away
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


def drop_typed(descriptor: int) -> None:
    """Forgets what has been typed and not been read: for a terminal's own answers, which a shell would take for keys."""
    with contextlib.suppress(termios.error):  # the terminal has gone away
        termios.tcflush(descriptor, termios.TCIFLUSH)
