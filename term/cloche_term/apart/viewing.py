"""What viewers ask of a worker beside paintings: to scroll, to find, to read lines, and what keys and the mouse type.

Both sides of each request are here: how it is written, what a worker does with it (`told`), and how the answer is read.
Pure but for the terminal that is asked. SAFETY: answers are read as a stranger's, see `frames`.
"""

from __future__ import annotations

import struct

from cloche_term.apart.frames import CONTROLS, MOST_LINK_BYTES, MOST_NUMBER, FrameError, Kind
from cloche_term.keys import Key
from cloche_term.terminal import (
    LARGEST_SIZE,
    MOST_MATCHES,
    Match,
    Mouse,
    MouseAction,
    MouseButton,
    Terminal,
)

LINE = struct.Struct("!q")
LINES = struct.Struct("!qq")
PLACE = struct.Struct("!HH")
_LIMIT = struct.Struct("!H")
_KEY = struct.Struct("!B")
_MOUSE = struct.Struct("!BBBii")
_MATCH = struct.Struct("!qHI")

_KEY_HELD = ("ctrl", "alt", "shift", "command")
_MOUSE_HELD = ("ctrl", "alt", "shift")
_ACTIONS = tuple(MouseAction)
_BUTTONS = tuple(MouseButton)
_FARTHEST_PLACE = (1 << 31) - 1


# --- requests --------------------------------------------------------------------------------------------------------


def pack_line(line: int) -> bytes:
    """A line's number, or how many lines; as far as there can be such a one."""
    return LINE.pack(_within(line, MOST_NUMBER))


def pack_lines_between(start: int, stop: int) -> bytes:
    """The numbers of a first line, and of the one behind the last."""
    return LINES.pack(_within(start, MOST_NUMBER), _within(stop, MOST_NUMBER))


def pack_search(text: str, limit: int) -> bytes:
    """What to find, and how often."""
    return _LIMIT.pack(max(0, min(limit, MOST_MATCHES))) + text.encode(errors="replace")


def pack_key(key: Key) -> bytes:
    """A key."""
    return _KEY.pack(_held(key, _KEY_HELD)) + key.name.encode(errors="replace")


def pack_mouse(mouse: Mouse) -> bytes:
    """An event of the mouse."""
    return _MOUSE.pack(
        _ACTIONS.index(mouse.action),
        _BUTTONS.index(mouse.button),
        _held(mouse, _MOUSE_HELD),
        _within(mouse.row, _FARTHEST_PLACE),
        _within(mouse.col, _FARTHEST_PLACE),
    )


# --- what a worker does ----------------------------------------------------------------------------------------------


def told(terminal: Terminal, kind: Kind, payload: bytes) -> bytes:
    """Does what a viewer asks; returns what is told of it behind the state."""
    answer = b""
    if kind is Kind.SCROLL:
        terminal.scroll(*LINE.unpack(payload))
    elif kind is Kind.SCROLL_TO:
        terminal.scroll_to(*LINE.unpack(payload))
    elif kind is Kind.SCROLL_TO_END:
        terminal.scroll_to_end()
    elif kind is Kind.SEARCH:
        (limit,) = _LIMIT.unpack_from(payload)
        matches = terminal.search(payload[_LIMIT.size :].decode(), limit=limit)
        # The native search has been seen to tell of places that are none.
        answer = b"".join(_MATCH.pack(*match) for match in matches if _can_be(match))
    elif kind is Kind.LINES:
        answer = "".join(f"{line}\n" for line in terminal.lines(*LINES.unpack(payload))).encode(
            errors="replace"
        )
    elif kind is Kind.LINK:
        answer = terminal.link(*PLACE.unpack(payload)).encode(errors="replace")[:MOST_LINK_BYTES]
    else:
        answer = _typed(terminal, kind, payload)
    return answer


def _typed(terminal: Terminal, kind: Kind, payload: bytes) -> bytes:
    if kind is Kind.KEY:
        (held,) = _KEY.unpack_from(payload)
        return terminal.encode_key(Key(payload[_KEY.size :].decode(), **_read_held(held, _KEY_HELD)))
    if kind is Kind.MOUSE:
        action, button, held, row, col = _MOUSE.unpack(payload)
        mouse = Mouse(_ACTIONS[action], _BUTTONS[button], row, col, **_read_held(held, _MOUSE_HELD))
        return terminal.encode_mouse(mouse)
    if kind is Kind.PASTE:
        return terminal.encode_paste(payload.decode())
    return terminal.encode_focus(has_focus=bool(payload[0]))


# --- answers ---------------------------------------------------------------------------------------------------------


def read_matches(answer: bytes, *, limit: int) -> tuple[Match, ...]:
    """Where a search has found its text.

    Raises:
        FrameError: these are none.
    """
    if len(answer) % _MATCH.size or len(answer) > _MATCH.size * max(0, min(limit, MOST_MATCHES)):
        raise FrameError(f"{len(answer)} bytes of matches")
    matches = tuple(Match(*match) for match in _MATCH.iter_unpack(answer))
    if not all(map(_can_be, matches)):
        raise FrameError("a match where nothing can be")
    return matches


def read_lines(answer: bytes, *, most: int) -> tuple[str, ...]:
    """The text of lines.

    Raises:
        FrameError: these are none.
    """
    try:
        *lines, rest = answer.decode().split("\n")
    except UnicodeDecodeError as error:
        raise FrameError(f"lines that are no text: {error}") from error
    if rest or len(lines) > max(0, most) or any(map(CONTROLS.search, lines)):
        raise FrameError("lines that nobody has asked for, or with control characters")
    return tuple(lines)


def read_link(answer: bytes) -> str:
    """Where a hyperlink leads to.

    Raises:
        FrameError: this is none.
    """
    try:
        link = answer.decode()
    except UnicodeDecodeError as error:
        raise FrameError(f"a link that is no text: {error}") from error
    if len(answer) > MOST_LINK_BYTES or not link.isprintable():
        raise FrameError("a link with control characters, or of a length that none has")
    return link


def _can_be(match: Match) -> bool:
    line, col, cells = match
    return abs(line) <= MOST_NUMBER and 0 <= col < LARGEST_SIZE and 0 < cells <= LARGEST_SIZE * LARGEST_SIZE


def _within(number: int, farthest: int) -> int:
    return max(-farthest, min(number, farthest))


def _held(of: Key | Mouse, names: tuple[str, ...]) -> int:
    return sum(1 << place for place, name in enumerate(names) if getattr(of, name))


def _read_held(bits: int, names: tuple[str, ...]) -> dict[str, bool]:
    return {name: bool(bits >> place & 1) for place, name in enumerate(names)}
