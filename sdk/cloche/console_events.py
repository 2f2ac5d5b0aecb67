"""What whoever is attached to a console is told, one after another, as typed values. Pure.

    ScreenBegins → Output … → Live → Output, Resized, Viewers, Asked, Notice …

The screen comes first: forget what you show when it begins, show the output that follows, and it is whole at `Live`.
It begins anew for who asks for it, and for who has fallen behind: what was missed is not told, only how much it was.

Rule: a message this version does not know is passed over, so that newer hubs can tell more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cloche.answers import Answer
from cloche.console_messages import ConsoleInfo, Viewer


@dataclass(frozen=True, slots=True)
class ScreenBegins:
    """What was shown counts no more: the output that follows makes the screen, in a terminal of this size, reset."""

    rows: int
    cols: int
    lost_bytes: int
    """How much output was not told, because it was not taken in time."""


@dataclass(frozen=True, slots=True)
class Output:
    """What the terminal shows."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Live:
    """The screen is whole; what follows happens now."""

    offset: int
    """How many bytes the program had written when the screen was made."""


@dataclass(frozen=True, slots=True)
class Resized:
    """The console has this size from here on."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class Viewers:
    """Who is attached now, and who drives."""

    viewers: tuple[Viewer, ...]
    driver: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asks to drive."""

    viewer: Viewer


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person who looks on, such as `ann drives now (taken)`."""

    text: str


ConsoleEvent: TypeAlias = ScreenBegins | Output | Live | Resized | Viewers | Asked | Notice


def _screen_begins(read: Answer) -> ScreenBegins:
    size = Answer("screen", read.of_type("screen", dict))
    return ScreenBegins(size.whole("rows"), size.whole("cols"), size.whole("lost_bytes"))


def _resized(read: Answer) -> Resized:
    size = Answer("resize", read.of_type("resize", dict))
    return Resized(size.whole("rows"), size.whole("cols"))


_PARSERS: dict[str, Callable[[Answer], ConsoleEvent]] = {
    "output": lambda read: Output(read.of_type("output", bytes)),
    "screen": _screen_begins,
    "live": lambda read: Live(read.whole("live")),
    "resize": _resized,
    "viewers": lambda read: Viewers(
        tuple(read.each("viewers", Viewer.parse)), read.optional("driver", read.text)
    ),
    "asked": lambda read: Asked(Viewer.parse(read.of_type("asked", dict))),
    "notice": lambda read: Notice(read.text("notice")),
}


def parse_event(message: Any) -> ConsoleEvent | None:
    """From a message of the hub; None: a newer hub's, to be passed over.

    Raises:
        InternalError: it is malformed.
    """
    read = Answer("console event", message)
    for key, parse in _PARSERS.items():
        if key in message:
            return parse(read)
    return None


def after(info: ConsoleInfo, event: ConsoleEvent) -> ConsoleInfo:
    """What is known of a console after an event."""
    match event:
        case ScreenBegins(rows=rows, cols=cols) | Resized(rows=rows, cols=cols):
            return replace(info, rows=rows, cols=cols)
        case Viewers(viewers=viewers, driver=driver):
            return replace(info, viewers=viewers, driver=driver)
    return info
