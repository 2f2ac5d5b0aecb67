"""What is said about a console on stream 0 of its channels: to its viewers, packed once for all, and to its guest.

A viewer's stream carries, in this order and no other: a screen ({screen}, {output}…, {live}), then what happens on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack

from cloche_hub.domain.console import Console, Viewer
from cloche_hub.ports import Size

PIECE = 32 << 10
"""Bytes of output in one message of a screen."""


def screen(size: Size, *, lost_bytes: int) -> bytes:
    """Forget what you show: the output that follows makes the screen."""
    return _packed({"screen": {"rows": size.rows, "cols": size.cols, "lost_bytes": lost_bytes}})


def output(data: bytes) -> bytes:
    """What the terminal shows next."""
    return _packed({"output": data})


def outputs(data: bytes) -> Iterator[bytes]:
    """The same in pieces."""
    return (output(data[start : start + PIECE]) for start in range(0, len(data), PIECE))


def live(offset: int) -> bytes:
    """The screen is whole: it is what the console showed after so many bytes of output."""
    return _packed({"live": offset})


def resized(size: Size) -> bytes:
    """The console has another size from here on."""
    return _packed({"resize": {"rows": size.rows, "cols": size.cols}})


def viewers(console: Console) -> bytes:
    """Who is there, and who drives."""
    return _packed({"viewers": [viewer.fields() for viewer in console.viewers], "driver": console.driver})


def asked(viewer: Viewer) -> bytes:
    """Somebody wants to drive."""
    return _packed({"asked": viewer.fields()})


def notice(text: str) -> bytes:
    """Something a person should know."""
    return _packed({"notice": text})


def signalled(signal: str | int) -> bytes:
    """For the guest, which takes sizes as viewers do: a signal for everything on the terminal."""
    return _packed({"signal": signal})


def _packed(message: dict[str, Any]) -> bytes:
    packed = msgpack.packb(message, use_bin_type=True)
    assert isinstance(packed, bytes)
    return packed
