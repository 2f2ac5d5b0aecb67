"""A console as a value: a terminal in a sandbox that outlives those who look at it.

    open ──► ended        its program ended, somebody closed it, its sandbox ended, or nobody can know

Who drives it and who watches is `driving`'s matter. Pure: services lead consoles, nothing here reads a clock.

Rule: names are unique among the open consoles of a sandbox; an ended one leaves its name to the next.
Rule: a title is the guest's word. It gets here through `clean_title` only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from cloche_hub.domain.names import MAX_NAME
from cloche_hub.domain.references import MAX_REFERENCE
from cloche_hub.domain.sandbox import NOTHING
from cloche_hub.domain.times import to_text
from cloche_hub.errors import BadRequest, NotFound

MAX_OPEN = 16
"""Open consoles of a sandbox."""
MAX_ENDED = 16
"""Ended ones of a sandbox that are kept: the newest."""
MAX_VIEWERS = 32
"""Of one console."""
MAX_TITLE = 256
"""Characters."""
BOOT_NAME = "boot"
"""The name of every machine's boot console; no other is called that."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.ASCII)
_LISTED = 8


class ConsoleKind(StrEnum):
    """What shows on a console."""

    PTY = "pty"
    """A program on a terminal."""
    BOOT = "boot"
    """The machine's own messages. It can be watched only."""


class ConsoleState(StrEnum):
    """Whether anything can still happen on it."""

    OPEN = "open"
    ENDED = "ended"


class ViewerMode(StrEnum):
    """What a viewer does."""

    DRIVING = "driving"
    """Types, and decides the console's size."""
    WATCHING = "watching"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who is attached to a console."""

    id: str
    """`v1`, `v2`, …; never used twice in one console."""
    token: str
    """A token's id."""
    name: str
    """The token's."""
    mode: ViewerMode
    rows: int
    """Of its own window."""
    cols: int
    since: datetime

    def fields(self) -> dict[str, Any]:
        """As clients are told."""
        return {
            "id": self.id,
            "token": self.token,
            "name": self.name,
            "mode": str(self.mode),
            "rows": self.rows,
            "cols": self.cols,
            "since": to_text(self.since),
        }


@dataclass(frozen=True, slots=True)
class Console:
    """A console as it is now."""

    id: str
    """`con_…`"""
    sandbox: str
    sandbox_name: str
    owner: str
    """The sandbox's."""
    name: str
    kind: ConsoleKind
    command: tuple[str, ...] | None
    """None: the user's shell."""
    user: str | None
    rows: int
    cols: int
    created_at: datetime
    created_by: str
    """A token's id."""
    created_by_name: str
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """The sandbox's."""
    title: str = ""
    state: ConsoleState = ConsoleState.OPEN
    ended_at: datetime | None = None
    end_reason: str | None = None
    """Why it ended, where its program did not simply end."""
    exit_code: int | None = None
    signal: str | None = None
    duration_s: float | None = None
    recording: str | None = None
    """`rec_…`; None: it is not recorded."""
    viewers: tuple[Viewer, ...] = ()
    driver: str | None = None
    """The id of the viewer who drives it."""

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.sandbox_name}/{self.name}"

    @property
    def is_open(self) -> bool:
        """Whether anything can still happen on it."""
        return self.state is ConsoleState.OPEN

    def viewer(self, viewer_id: str | None) -> Viewer | None:
        """The viewer of this id."""
        return next((viewer for viewer in self.viewers if viewer.id == viewer_id), None)


def console_fields(console: Console) -> dict[str, Any]:
    """A console as clients are told of it."""
    return {
        "id": console.id,
        "sandbox": console.sandbox,
        "sandbox_name": console.sandbox_name,
        "owner": console.owner,
        "labels": dict(console.labels),
        "name": console.name,
        "kind": str(console.kind),
        "command": None if console.command is None else list(console.command),
        "user": console.user,
        "rows": console.rows,
        "cols": console.cols,
        "title": console.title,
        "state": str(console.state),
        "created_at": to_text(console.created_at),
        "created_by": console.created_by,
        "created_by_name": console.created_by_name,
        "ended_at": console.ended_at and to_text(console.ended_at),
        "end_reason": console.end_reason,
        "exit_code": console.exit_code,
        "signal": console.signal,
        "duration_s": console.duration_s,
        "recording": console.recording,
        "viewers": [viewer.fields() for viewer in console.viewers],
        "driver": console.driver,
    }


def ended(
    console: Console,
    *,
    at: datetime,
    reason: str | None = None,
    exit_code: int | None = None,
    signal: str | None = None,
    duration_s: float | None = None,
) -> Console:
    """The console when all is over: nobody looks at it any more. Ending an ended one changes nothing."""
    if not console.is_open:
        return console
    return replace(
        console,
        state=ConsoleState.ENDED,
        ended_at=at,
        end_reason=reason,
        exit_code=exit_code,
        signal=signal,
        duration_s=duration_s,
        viewers=(),
        driver=None,
    )


def clean_title(text: str) -> str:
    """What a guest calls its window, as it may be shown: printable, on one line, not too long."""
    # SAFETY: the guest chooses every character. Cut first: what is looked at is bounded, too. What is not printable
    # here includes controls, line ends and characters that turn the direction of writing.
    return "".join(letter for letter in text[: 4 * MAX_TITLE] if letter.isprintable()).strip()[:MAX_TITLE]


def check_console_name(name: str) -> str:
    """The name itself, if a console may be called that.

    Raises:
        BadRequest: it may not.
    """
    if name == BOOT_NAME:
        raise BadRequest(f"name {BOOT_NAME!r} is the machine's own console's; choose another")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise BadRequest(
            f"name {name[: MAX_NAME + 1]!r} will not do: a console's name has up to {MAX_NAME} of a-z, 0-9 and '-', "
            "and neither begins nor ends with '-'"
        )
    return name


def free_name(taken: Collection[str]) -> str:
    """The lowest number that is no name yet."""
    number = 1
    while str(number) in taken:
        number += 1
    return str(number)


def check_console_reference(reference: str) -> str:
    """The reference itself, if it can name a console at all.

    Raises:
        BadRequest: it is empty or longer than anything it could mean.
    """
    if not 0 < len(reference) <= MAX_REFERENCE:
        raise BadRequest(f"console must be a name or an id: 1 to {MAX_REFERENCE} characters")
    return reference


def resolve_console(reference: str | None, consoles: Iterable[Console]) -> Console:
    """The console meant, of one sandbox's.

    The first of these steps that matches anything decides: an id in full; the open console of that name; the newest
    ended one of that name; an id that begins so. Without a reference it is the newest open terminal.

    Raises:
        BadRequest: several are meant.
        NotFound: none is.
    """
    candidates = sorted(consoles, key=lambda console: console.created_at, reverse=True)
    if reference is None:
        for console in candidates:
            if console.is_open and console.kind is ConsoleKind.PTY:
                return console
        where = next((console.sandbox_name for console in candidates), "SANDBOX")
        raise NotFound(f"there is no open console; start one with: cloche shell {where}")
    steps: tuple[Callable[[Console], bool], ...] = (
        lambda console: console.id == reference,
        lambda console: console.is_open and console.name == reference,
        lambda console: console.name == reference,
    )
    for step in steps:
        for console in candidates:
            if step(console):
                return console
    return _only(reference, [console for console in candidates if console.id.startswith(reference)])


def _only(reference: str, matches: list[Console]) -> Console:
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise NotFound(f"no console {reference!r}; `cloche consoles --all` lists them", console=reference)
    listed = ", ".join(f"{console.name} ({console.id})" for console in matches[:_LISTED])
    raise BadRequest(
        f"{reference!r} could be any of: {listed}; give more of it",
        candidates=[console.id for console in matches[:_LISTED]],
    )
