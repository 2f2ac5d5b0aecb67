"""How an event of the audit is written: in a row, and in full. Pure.

Rule: who did it and where is said by name where there is one, and in full by id too, for names come again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from cloche import AuditEvent
from cloche_tui.model.call_text import CallLine, Path, call_lines
from cloche_tui.model.figures import NOTHING, count
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.trail import Trail, TrailRow

_BAD = frozenset({"failed", "refused", "denied", "expired", "abandoned", "revoked", "stray_ended"})
_GOOD = frozenset({"approved", "edited"})
_WARNING = frozenset({"requested", "driven", "removed"})
_NAMES = 9
"""Places of the names before what is said of an event."""


def cells(row: TrailRow, now: datetime) -> Mapping[str, Line]:
    """What stands in the columns of a row."""
    return {
        "number": (Span(str(row.number), Role.MUTED),),
        "at": (Span(_when(row.at, now), Role.MUTED),),
        "event": line(Span(row.event, _role(row.event))),
        "actor": line(row.actor_name or row.actor),
        "sandbox": line(row.sandbox_name or row.sandbox or NOTHING),
        "about": line(Span(row.about, Role.MUTED)),
    }


def event_lines(
    event: AuditEvent, names: Mapping[str, str], *, toggled: AbstractSet[Path] = frozenset()
) -> Iterator[CallLine]:
    """All of an event, each line made as it is asked for.

    Args:
        event: in full.
        names: of sandboxes and tokens, by their ids.
        toggled: where a person has folded or unfolded its detail.
    """
    local = event.at.astimezone()
    about = [
        ("event", line(Span(f"{event.seq:,}", Role.ACCENT))),
        ("time", line(f"{local:%Y-%m-%d %H:%M:%S.%f %Z}")),
        ("UTC", line(f"{event.at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}")),
        ("actor", _named(event.actor, names)),
        ("sandbox", _named(event.sandbox, names)),
        ("hash", line(event.hash)),
        ("follows", line(event.prev_hash)),
    ]
    return chain(
        (CallLine((Span(name.ljust(_NAMES), Role.MUTED), *text), indent=_NAMES) for name, text in about),
        (CallLine(()),),
        call_lines(event.event, dict(event.detail), toggled=toggled),
    )


def status(trail: Trail) -> Line:
    """Where the list stands: how much of the chain it shows, and whether it is followed."""
    spans = [Span(_extent(trail), Role.MUTED)]
    if trail.is_searching:
        spans.append(Span(f" · searched {trail.searched:,} of {trail.head:,}", Role.WARNING))
    elif trail.is_full:
        spans.append(Span(" · there are more: say more in the filter", Role.WARNING))
    if trail.is_followed:
        spans.append(Span(" · following", Role.GOOD))
    elif trail.unseen:
        spans.append(Span(f" · +{trail.unseen:,} new", Role.ACCENT))
    else:
        spans.append(Span(" · standing still", Role.MUTED))
    return tuple(spans)


def place_of(event: AuditEvent) -> tuple[str | None, str | None]:
    """The sandbox and the console an event is about."""
    console: Any = event.detail.get("console")
    return event.sandbox, console if isinstance(console, str) else None


def _extent(trail: Trail) -> str:
    if len(trail) == trail.head:
        return count(trail.head, "event")
    return f"{len(trail):,} of {count(trail.head, 'event')}"


def _when(at: datetime, now: datetime) -> str:
    at, now = at.astimezone(), now.astimezone()
    return f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%b %d %H:%M:%S}"


def _role(event: str) -> Role:
    verb = event.rpartition(".")[2]
    if verb in _BAD:
        return Role.BAD
    if verb in _GOOD:
        return Role.GOOD
    return Role.WARNING if verb in _WARNING else Role.PLAIN


def _named(of: str | None, names: Mapping[str, str]) -> Line:
    if of is None:
        return line(Span(NOTHING, Role.MUTED))
    name = names.get(of)
    return line(of) if name is None else line(name, Span(f"  {of}", Role.MUTED))
