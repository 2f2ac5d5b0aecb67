"""What a tab's page says to the server, as values: `["stdin", "q"]`, `["resize", {"width": 80, "height": 24}]`. Pure.

Rule: whoever has the address may say anything. What is no envelope is `SenselessEnvelope`; a kind that is not known is
nothing, since a later page may have more of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

LARGEST_SIDE = 1000


class SenselessEnvelope(ValueError):
    """A page of ours never says this."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Keys, as a terminal sends them."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Resized:
    """The page has other room; both sides are 1…`LARGEST_SIDE`."""

    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Pinged:
    """To be said back."""

    what: str


@dataclass(frozen=True, slots=True)
class Focused:
    """The page has the browser's focus, or has lost it."""

    has_focus: bool


Envelope: TypeAlias = Typed | Resized | Pinged | Focused


def parse_envelope(text: str) -> Envelope | None:
    """What a message says; None: nothing.

    Raises:
        SenselessEnvelope: it is none.
    """
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise SenselessEnvelope("a message is no JSON") from None
    if not isinstance(said, list) or not said or not isinstance(said[0], str):
        raise SenselessEnvelope("a message does not say what it is")
    kind, about = said[0], said[1] if len(said) > 1 else None
    match kind:
        case "stdin":
            # Half a pair of surrogates is no character that could be typed.
            return Typed(_text(kind, about).encode(errors="replace"))
        case "ping":
            return Pinged(_text(kind, about))
        case "resize":
            return _resized(about)
        case "blur" | "focus":
            return Focused(kind == "focus")
        case _:
            return None


def _text(kind: str, about: Any) -> str:
    if not isinstance(about, str):
        raise SenselessEnvelope(f"a {kind} comes without a text")
    return about


def _resized(about: Any) -> Resized | None:
    if not isinstance(about, dict):
        raise SenselessEnvelope("a resize comes without a size")
    columns, rows = about.get("width"), about.get("height")
    if columns is None or rows is None:
        # A page that is not shown does not know.
        return None
    return Resized(_side(columns), _side(rows))


def _side(about: Any) -> int:
    if not isinstance(about, int) or isinstance(about, bool):
        raise SenselessEnvelope("a size is no whole number")
    return max(1, min(about, LARGEST_SIDE))
