"""What a subscriber of events gets to hear: its filter, and what a change means to somebody with that filter.

Pure: where changes come from and where they go is others' matter.

Rule: a thing that does not pass the filter any more is gone for whoever was told of it, and nothing for others.
Rule: states restrict the topics they belong to: `running` says nothing of approvals, `pending` nothing of sandboxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from cloche_hub.domain.approval import Approval, ApprovalState
from cloche_hub.domain.console import Console, ConsoleState
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.globs import MAX_GLOB, matches
from cloche_hub.domain.requests import check_label_key
from cloche_hub.domain.sandbox import NOTHING, Sandbox, State
from cloche_hub.errors import BadRequest

_MOST = 64


class Topic(StrEnum):
    """What events are about."""

    SANDBOX = "sandbox"
    CONSOLE = "console"
    APPROVAL = "approval"
    USAGE = "usage"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a sandbox's machine costs its host, at one moment."""

    sandbox: Sandbox
    at: datetime
    cpu_s: float
    """Processor time since its start."""
    cpu_percent: float | None
    """Of one processor, since the sample before this one; None for the first."""
    memory_pss_bytes: int
    disk_bytes: int


Event = Sandbox | Approval | Usage | Console
"""What events tell the state of."""

_STATES: Mapping[Topic, frozenset[str]] = {
    Topic.SANDBOX: frozenset(State),
    Topic.CONSOLE: frozenset(ConsoleState),
    Topic.APPROVAL: frozenset(ApprovalState),
}


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What somebody wants to hear of, and may."""

    topics: frozenset[Topic] = frozenset(Topic)
    sandbox: str | None = None
    """A reference as it was asked, then the id it means."""
    owner: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """Patterns, all of which must match."""
    states: frozenset[str] = frozenset()

    def seen_by(self, owner: str | None) -> EventFilter:
        """The filter of somebody who sees this owner's things only (None: everybody's)."""
        if owner is None or self.owner in (None, owner):
            return replace(self, owner=owner or self.owner)
        # Somebody else's things do not exist.
        return replace(self, topics=frozenset())

    def wants(self, value: Event) -> bool:
        """Whether a thing passes as it is now; a removed sandbox only where its state is asked for."""
        topic = topic_of(value)
        states = self.states & _STATES.get(topic, frozenset())
        state = _state(value)
        return self.concerns(value) and (state in states if states else state != State.REMOVED)

    def concerns(self, value: Event) -> bool:
        """Whether a thing can pass at all, whatever its state."""
        thing = value.sandbox if isinstance(value, Usage) else value
        sandbox = thing.id if isinstance(thing, Sandbox) else thing.sandbox
        return (
            topic_of(value) in self.topics
            and self.sandbox in (None, sandbox)
            and self.owner in (None, thing.owner)
            and all(
                key in thing.labels and matches(pattern, thing.labels[key])
                for key, pattern in self.labels.items()
            )
        )


def parse_event_filter(params: object) -> EventFilter:
    """The filter in a request's parameters; what is not there restricts nothing.

    Raises:
        BadRequest: a field will not do.
    """
    fields = Fields.of(params, ("topics", "sandbox", "owner", "labels", "states"))
    topics = fields.texts("topics", most=_MOST)
    if unknown := [topic for topic in topics if topic not in list(Topic)]:
        raise BadRequest(f"topics has {unknown[0][:40]!r}; there are: {', '.join(Topic)}")
    states = fields.texts("states", most=_MOST)
    known = sorted(frozenset().union(*_STATES.values()))
    if unknown := [state for state in states if state not in known]:
        raise BadRequest(f"states has {unknown[0][:40]!r}; there are: {', '.join(known)}")
    labels = fields.text_map("labels", most=_MOST)
    for key, pattern in labels.items():
        check_label_key(key)
        if len(pattern) > MAX_GLOB:
            raise BadRequest(f"labels has a pattern of more than {MAX_GLOB} characters")
    return EventFilter(
        frozenset(map(Topic, topics)) or frozenset(Topic),
        fields.optional_text("sandbox"),
        fields.optional_text("owner"),
        labels,
        frozenset(states),
    )


def topic_of(value: Event) -> Topic:
    """What a thing is."""
    match value:
        case Sandbox():
            return Topic.SANDBOX
        case Approval():
            return Topic.APPROVAL
        case Console():
            return Topic.CONSOLE
    return Topic.USAGE


def _state(value: Event) -> str | None:
    return None if isinstance(value, Usage) else str(value.state)


class Told:
    """What one subscriber knows of, as far as it can still change.

    Args:
        wanted: its filter.
    """

    def __init__(self, wanted: EventFilter) -> None:
        self._wanted = wanted
        self._known: set[tuple[Topic, str]] = set()

    def change(self, value: Event, *, is_current: bool = False) -> str | None:
        """What to tell: current, changed, gone, or nothing (None).

        Args:
            value: the thing as it is now.
            is_current: whether it is part of the state the subscription begins with.
        """
        key = value.sandbox.id if isinstance(value, Usage) else value.id
        place = (topic_of(value), key)
        was_known = place in self._known
        self._known.discard(place)
        if not self._wanted.wants(value):
            return "gone" if was_known else None
        if _state(value) == State.REMOVED:
            return "gone"
        # What has been decided or has ended never changes again, and what a machine uses just ends.
        if isinstance(value, Sandbox) or _state(value) in (ApprovalState.PENDING, ConsoleState.OPEN):
            self._known.add(place)
        return "current" if is_current else "changed"
