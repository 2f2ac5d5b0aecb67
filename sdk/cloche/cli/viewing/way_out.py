"""The key that leaves a console, found in what is typed. Pure: whoever reads the keyboard says what time it is.

    the key, then nothing for half a second, or another key    leaves
    the key twice within half a second                         types it
    the key, then g                                            lets who has asked drive

Rule: every other byte passes untouched and in order, and what is pasted is never taken for the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from cloche.errors import BadRequest

WAIT_S = 0.5
"""How long a second key is waited for."""
_PASTE_ENDS_S = 2.0
"""Silence after which a paste is over, also if its end was lost: the way out must not be."""

# Enter, Tab, Esc and Backspace are typed all the time.
_UNFIT = {"m": "Enter", "j": "Enter", "i": "Tab", "[": "Esc", "h": "Backspace"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz[\\]^_"

# One key in kitty's form, one in xterm's longer form, what marks a paste, what a mouse or a focus reports, a character.
_TYPED = re.compile(
    rb"\x1b\[(?P<code>[0-9]{1,7})(?::[0-9:]*)?(?:;(?P<held>[0-9]{0,3})(?::(?P<event>[0-9]))?)?(?:;[0-9:]*)?u"
    rb"|\x1b\[27;(?P<long_held>[0-9]{1,3});(?P<long_code>[0-9]{1,7})~"
    rb"|(?P<paste>\x1b\[200~)"
    rb"|(?P<report>\x1b\[<[0-9;]*[Mm]|\x1b\[M[\x00-\xff]{3}|\x1b\[[IO](?![0-9;]))"
    rb"|(?P<other>[\x00-\xff])",
)
_PASTE_END = b"\x1b[201~"
_CTRL, _LOCKS = 4, 64 | 128
_RELEASE = b"3"
# Shift, ctrl, the locks and their like, as kitty's protocol tells them.
_MODIFIERS = frozenset((57358, 57359, 57360, *range(57441, 57455)))


class Move(Enum):
    """What is meant for this program and not for the console."""

    LEAVE = auto()
    GIVE = auto()


@dataclass(frozen=True, slots=True)
class DetachKey:
    """ctrl and another key."""

    letter: str

    @property
    def name(self) -> str:
        """As a person reads it: `ctrl+]`."""
        return f"ctrl+{self.letter}"

    @property
    def byte(self) -> int:
        """What a terminal sends for it."""
        return ord(self.letter.upper()) & 0x1F

    @classmethod
    def parse(cls, text: str) -> DetachKey:
        """From `ctrl+]`, `ctrl-q`, `^a` or `C-a`.

        Raises:
            BadRequest: it is no such key, or one that is needed for typing.
        """
        found = re.fullmatch(r"(?:ctrl[+-]|c-|\^)(.)", text.strip().lower())
        if found is None or found[1] not in _LETTERS:
            raise BadRequest(
                f"no key to leave by: {text!r}; give ctrl and a letter or one of [ \\ ] ^ _, such as ctrl+] or ctrl+q"
            )
        if unfit := _UNFIT.get(found[1]):
            raise BadRequest(
                f"ctrl+{found[1]} is {unfit} to a terminal; give another key, such as ctrl+] or ctrl+q"
            )
        return cls(found[1])


@dataclass(frozen=True, slots=True)
class _Key:
    """One of the pieces that typed bytes consist of."""

    data: bytes
    code: int | None = None
    """The character on the key; None of what is no key."""
    is_ctrl: bool = False
    is_plain: bool = False
    is_quiet: bool = False
    """Whether it is none that a person has pressed: a key let go, a modifier, the mouse."""
    is_paste: bool = False


class WayOut:
    """Cuts what is typed into what is for the console and what is for us."""

    def __init__(self, key: DetachKey) -> None:
        self._key = key
        # Where something may begin that is more than a byte for the console.
        self._begins = re.compile(rb"\x1b\[|" + re.escape(bytes([key.byte])))
        self._pressed_at: float | None = None
        self._pasting_at: float | None = None
        self._paste_tail = b""

    @property
    def deadline(self) -> float | None:
        """When `time_is_up` is to be called, if nothing is typed before."""
        return None if self._pressed_at is None else self._pressed_at + WAIT_S

    def typed(self, data: bytes, now: float) -> Iterator[bytes | Move]:
        """What was typed: bytes for the console, and moves. Behind `LEAVE` nothing comes.

        Args:
            data: what was read in one go. A terminal sends the bytes of one key together.
            now: the time in seconds, from any beginning.
        """
        if self._pasting_at is not None and now > self._pasting_at + _PASTE_ENDS_S:
            self._pasting_at = None
        kept, at = b"", 0
        while at < len(data):
            end, meant = self._next(data, at, now)
            at = end
            if isinstance(meant, bytes):
                kept += meant
                continue
            if kept:
                yield kept
            kept = b""
            yield meant
            if meant is Move.LEAVE:
                return
        if kept:
            yield kept

    def time_is_up(self) -> Move | None:
        """The deadline has passed: what that comes to."""
        if self._pressed_at is None:
            return None
        self._pressed_at = None
        return Move.LEAVE

    def _next(self, data: bytes, start: int, now: float) -> tuple[int, bytes | Move]:
        """Where the next piece ends, and what it means: bytes for the console, maybe none, or a move."""
        if self._pasting_at is not None:
            end = self._end_of_paste(data, start, now)
            return end, data[start:end]
        if self._pressed_at is None:
            found = self._begins.search(data, start)
            if found is None or found.start() > start:
                end = found.start() if found else len(data)
                return end, data[start:end]
        key = _key(data, start)
        return start + len(key.data), self._judge(key, now)

    def _judge(self, key: _Key, now: float) -> bytes | Move:
        is_ours = key.is_ctrl and key.code == ord(self._key.letter)
        if self._pressed_at is None:
            if is_ours:
                self._pressed_at = now
                return b""
            if key.is_paste:
                self._pasting_at, self._paste_tail = now, b""
            return key.data
        if key.is_quiet:
            return b""
        is_late = now > self._pressed_at + WAIT_S
        self._pressed_at = None
        if is_ours and not is_late:
            return key.data
        return Move.GIVE if key.is_plain and key.code == ord("g") and not is_late else Move.LEAVE

    def _end_of_paste(self, data: bytes, start: int, now: float) -> int:
        """Where the paste ends, or the data."""
        tail = self._paste_tail
        found = (tail + data[start:]).find(_PASTE_END)
        if found < 0:
            self._pasting_at, self._paste_tail = now, (tail + data[start:])[-len(_PASTE_END) + 1 :]
            return len(data)
        self._pasting_at = None
        return start + found + len(_PASTE_END) - len(tail)


def _key(data: bytes, start: int) -> _Key:
    """The key at a place of what was typed."""
    found = _TYPED.match(data, start)
    assert found is not None, "every byte is at least itself"
    if found["report"] is not None:
        return _Key(found[0], is_quiet=True)
    if found["paste"] is not None:
        return _Key(found[0], is_paste=True)
    if found["other"] is not None:
        byte = found[0][0]
        # ctrl and a letter are one of the first 32.
        if byte < 32:
            return _Key(found[0], code=ord(chr(byte | 0x40).lower()), is_ctrl=True)
        return _Key(found[0], code=byte, is_plain=True)
    code = int(found["code"] or found["long_code"])
    held = (int(found["held"] or found["long_held"] or 1) - 1) & ~_LOCKS
    is_quiet = found["event"] == _RELEASE or code in _MODIFIERS
    return _Key(
        found[0],
        code=None if is_quiet else code,
        is_ctrl=held == _CTRL,
        is_plain=held == 0,
        is_quiet=is_quiet,
    )
