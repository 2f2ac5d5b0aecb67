"""What is known of the connection to the hub, how that changes, and how it is said.

Pure. What happens to a state is one table, `_AFTER`; what has no place in it is a defect of who says it.

                 Answered   Broke      Failed
    Connecting   Up         Connecting Connecting
    Up           Up         Lost       -
    Lost         Up         Lost       Lost
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias

from cloche import HubStatus
from cloche_tui.model.roles import Line, Role, Span, line

SEPARATOR = " · "
_LEAST_OF_A_REASON = 16
"""Cells; fewer of it tell nothing."""


@dataclass(frozen=True, slots=True)
class Connecting:
    """There has been no connection yet."""

    attempt: int = 1
    """The attempt that is underway, or comes next."""
    reason: str = ""
    """Why the attempt before came to nothing."""
    next_try_at: datetime | None = None
    """None: it is underway."""


@dataclass(frozen=True, slots=True)
class Up:
    """The hub answers, and what is shown is what there is."""

    since: datetime
    address: str
    status: HubStatus


@dataclass(frozen=True, slots=True)
class Lost:
    """There was a connection, and it is looked for. What is shown may be so no more."""

    since: datetime
    reason: str
    as_of: datetime
    """When the hub was last heard of: what is shown was so then."""
    attempt: int = 1
    """The attempt that is underway, or comes next."""
    next_try_at: datetime | None = None
    """None: it is underway."""


LinkState: TypeAlias = Connecting | Up | Lost


@dataclass(frozen=True, slots=True)
class Answered:
    """The hub answers: for the first time, or again."""

    at: datetime
    address: str
    status: HubStatus


@dataclass(frozen=True, slots=True)
class Broke:
    """What had been a connection is none any more."""

    at: datetime
    reason: str
    silent_s: float = 0.0
    """How long nothing had been heard when that was noticed."""
    next_try_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt to connect came to nothing."""

    reason: str
    next_try_at: datetime | None = None


Happening: TypeAlias = Answered | Broke | Failed


class IllegalMove(Exception):
    """Something has been said of a connection that cannot have happened to it."""


def after(state: LinkState, happening: Happening) -> LinkState:
    """The state after something has happened.

    Raises:
        IllegalMove: that cannot happen in this state.
    """
    move = _AFTER.get((type(state), type(happening)))
    if move is None:
        raise IllegalMove(
            f"a connection that is {type(state).__name__} cannot have {type(happening).__name__}"
        )
    return move(state, happening)


def _answers(_state: LinkState, happening: Answered) -> Up:
    return Up(happening.at, happening.address, happening.status)


def _still_answers(state: Up, happening: Answered) -> Up:
    return Up(state.since, happening.address, happening.status)


def _has_failed(state: Connecting | Lost, happening: Broke | Failed) -> LinkState:
    return replace(
        state, attempt=state.attempt + 1, reason=happening.reason, next_try_at=happening.next_try_at
    )


def _is_lost(_state: Up, happening: Broke) -> Lost:
    return Lost(
        happening.at,
        happening.reason,
        as_of=happening.at - timedelta(seconds=happening.silent_s),
        next_try_at=happening.next_try_at,
    )


_AFTER: Mapping[tuple[type, type], Callable[[Any, Any], LinkState]] = {
    (Connecting, Answered): _answers,
    (Connecting, Broke): _has_failed,
    (Connecting, Failed): _has_failed,
    (Up, Answered): _still_answers,
    (Up, Broke): _is_lost,
    (Lost, Answered): _answers,
    (Lost, Broke): _has_failed,
    (Lost, Failed): _has_failed,
}


# How it is said.


def banner(state: LinkState, now: datetime, width: int, *, zone: tzinfo | None = None) -> Line:
    """What stands above a view that is not, or no longer, what there is; empty while all is well.

    Args:
        state: the connection.
        now: the time.
        width: cells there are for it. The longest way to say it that leaves room for the whole reason is taken, for
            that says what to do; where none does, the longest that fits.
        zone: in which times of day are told; None: this machine's.
    """
    match state:
        case Up():
            return ()
        case Connecting(reason=""):
            return (Span("… connecting to the hub", Role.MUTED),)
        case Connecting():
            ways = [["not connected", f"trying again{_again(state.next_try_at, now)}"], ["not connected"]]
            role = Role.WARNING
        case Lost():
            ways = _said_of_lost(state, now, zone)
            role = Role.BAD
    return line(Span(_fitting(ways, state.reason, width), role))


def _fitting(ways: list[list[str]], reason: str, width: int) -> str:
    """The first way that has room for the whole reason; else the first that fits, and as much of it as there is room for."""
    texts = [f"! {SEPARATOR.join(parts)}" for parts in ways]
    for text in texts:
        if len(whole := f"{text}{SEPARATOR}{reason}") <= width:
            return whole
    text = next((text for text in texts if len(text) <= width), texts[-1])
    room = width - len(text) - len(SEPARATOR)
    return f"{text}{SEPARATOR}{reason[: room - 1]}…" if room >= _LEAST_OF_A_REASON else text


def _said_of_lost(state: Lost, now: datetime, zone: tzinfo | None) -> list[list[str]]:
    again, ago = _again(state.next_try_at, now), duration(now - state.since)
    moment = state.as_of.astimezone(zone)
    same_day = moment.date() == now.astimezone(zone).date()
    as_of = f"{moment:%H:%M:%S}" if same_day else f"{moment:%Y-%m-%d %H:%M:%S}"
    trying = f"trying again{again}"
    return [
        [f"connection lost {ago} ago", trying, f"what you see is as of {as_of}"],
        [f"lost {ago} ago", trying, f"shown as of {as_of}"],
        [f"lost {ago} ago", f"as of {as_of}"],
        [f"lost {ago} ago"],
    ]


def _again(next_try_at: datetime | None, now: datetime) -> str:
    if next_try_at is None or (seconds := (next_try_at - now).total_seconds()) < 1:
        return ""
    return f" in {duration(timedelta(seconds=seconds))}"


def duration(span: timedelta) -> str:
    """How long something takes or is ago, in two words at most: `12 s`, `3 min`, `2 h 5 min`."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 100:
        return f"{seconds} s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 60:
        return f"{minutes} min"
    rest = minutes % 60
    return f"{hours} h {rest} min" if rest and hours < 24 else f"{hours} h"
