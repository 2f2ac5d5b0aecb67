"""The keys of who only watches: none is typed, a few mean something. Pure."""

from __future__ import annotations

from enum import Enum, auto

from cloche.cli.viewing.way_out import DetachKey

KEYS = "a asks, t takes, q leaves"
"""What a person is told."""


class Wish(Enum):
    """What who watches wants."""

    ASK = auto()
    TAKE = auto()
    LEAVE = auto()
    TYPE = auto()
    """Some other key: whoever pressed it may think that it is typed."""


_WISHES = {b"a": Wish.ASK, b"t": Wish.TAKE, b"q": Wish.LEAVE, b"\x03": Wish.LEAVE}


def wish_of(data: bytes, key: DetachKey) -> Wish | None:
    """What was typed in one go by who watches; None: nothing of a person.

    One key alone counts. Several that come together were pasted, or are a sequence: an arrow key, a mouse's report.
    """
    if data == bytes([key.byte]):
        return Wish.LEAVE
    if data.startswith(b"\x1b") or not data:
        return None
    return _WISHES.get(data, Wish.TYPE)
