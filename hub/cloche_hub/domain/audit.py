"""The audit chain: what is recorded, how it is hashed, how it is verified. Nothing here stores anything.

A verifier in any language needs only this:

    body  = the event as canonical JSON, without `prev_hash` and `hash`
    hash  = lower-case hex of sha256( prev_hash in ASCII + "\\n" + body )
    prev_hash of an event is the hash of the one before it; of event 1 it is 64 zeros ("0")
    seq   counts from 1 without a gap

The body is one JSON object with exactly these members, in this order: `actor` (text), `at` (text, UTC, such as
"2026-01-02T03:04:05.678901Z", always six digits), `detail` (object), `event` (text), `sandbox` (text or null),
`seq` (integer). Canonical JSON, here, is RFC 8785 cut down: UTF-8; no white space; the members of every object
sorted by key; keys are ASCII; numbers are integers of at most 53 bits, no fraction, no exponent; in texts only
`"`, `\\` and U+0000 to U+001F are escaped, as \\" \\\\ \\b \\t \\n \\f \\r or else \\u00xx in lower case.

An exported line is the same object with `hash` and `prev_hash` added, sorted in. The last line of a complete export
is {"head":{"hash":…,"seq":…}}: it shows that nothing was cut off.

Rule: `at` may go back: it is what the host's clock said, and clocks are stepped. The order is `seq` alone.
Rule: a chain shows that nothing *inside* it was changed. Whoever can write the file can build a new chain; against
that, note a head (seq and hash) elsewhere and verify with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from cloche_hub.domain.times import from_text, to_text
from cloche_hub.errors import AuditBroken

Json: TypeAlias = "str | int | bool | Sequence[Json] | Mapping[str, Json] | None"
"""What a detail may hold. No fractions: two languages rarely print them alike. Give `duration_ms`, not `duration_s`."""

MAX_EVENT = 256 << 10
"""Bytes of one event's body."""
MAX_WHOLE = (1 << 53) - 1
"""The largest integer every JSON reader keeps exactly."""

_OTHER_MEMBERS = frozenset({"actor", "event", "hash", "prev_hash", "sandbox", "seq"})


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: the last event's number and hash."""

    seq: int
    hash: str


GENESIS = Head(0, "0" * 64)
"""The head of an empty chain."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One thing that happened."""

    seq: int
    at: datetime
    event: str
    """One of `AuditName`, or of another version's."""
    actor: str
    """Who caused it: `hub`, or a token's id."""
    sandbox: str | None
    """The id of the sandbox it is about."""
    detail: Mapping[str, Json]
    prev_hash: str
    hash: str

    @property
    def head(self) -> Head:
        """The head of a chain that ends with this event."""
        return Head(self.seq, self.hash)


@dataclass(frozen=True, slots=True)
class Verified:
    """A chain that holds."""

    events: int
    head: str
    """The hash of its last event."""


def chain(
    head: Head, *, at: datetime, event: str, actor: str, sandbox: str | None, detail: Mapping[str, Json]
) -> AuditEvent:
    """The event that comes after `head`.

    Raises:
        ValueError: the detail holds what canonical JSON cannot, or the event is larger than `MAX_EVENT`.
    """
    detail = {key: _plain(element) for key, element in _ascii_keys(detail)}
    body = _body(head.seq + 1, at, event, actor, sandbox, detail)
    if len(body) > MAX_EVENT:
        raise ValueError(f"an audit event {event} of {len(body)} bytes; the limit is {MAX_EVENT}")
    return AuditEvent(head.seq + 1, at, event, actor, sandbox, detail, head.hash, _hash(head.hash, body))


class Verifier:
    """Checks a chain event by event; `head` is what has been verified so far."""

    def __init__(self, *, noted: Iterable[Head] = ()) -> None:
        self.head = GENESIS
        self._noted = {head.seq: head.hash for head in noted}

    def check(self, event: AuditEvent) -> None:
        """Verifies the next event.

        Raises:
            AuditBroken: it is not what comes next, or not what it was; the chain ends here.
        """
        expected = self.head.seq + 1
        if event.seq != expected:
            raise broken(expected, f"expected event {expected}, found event {event.seq}")
        if event.prev_hash != self.head.hash:
            raise broken(
                expected, "it does not follow from the event before it (its prev_hash is another one)"
            )
        if event_hash(event) != event.hash:
            raise broken(expected, "its content is not what was recorded (its hash does not match)")
        if self._noted.get(event.seq, event.hash) != event.hash:
            raise broken(expected, "its hash is not the one that was noted")
        self.head = event.head

    def finish(self, end: Head | None = None) -> Verified:
        """Call it after the last event.

        Args:
            end: where the chain must end, if that is known.

        Raises:
            AuditBroken: events are missing at the end, or there are more than there should be.
        """
        last = max([self.head.seq, *self._noted])
        if last > self.head.seq:
            raise broken(self.head.seq + 1, f"it is missing, although the head of event {last} was noted")
        if end is not None and end.seq > self.head.seq:
            raise broken(self.head.seq + 1, f"it is missing: the chain should end with event {end.seq}")
        if end is not None and end != self.head:
            raise broken(end.seq or 1, f"the chain should end with event {end.seq} and its recorded hash")
        return Verified(self.head.seq, self.head.hash)


def verify(events: Iterable[AuditEvent], *, end: Head | None = None, noted: Iterable[Head] = ()) -> Verified:
    """Verifies a whole chain from its first event.

    Args:
        events: in the order of their numbers.
        end: where the chain must end, if that is known.
        noted: heads somebody kept elsewhere; each must lie on the chain.

    Raises:
        AuditBroken: the message and `details["seq"]` name the first bad event.
    """
    verifier = Verifier(noted=noted)
    for event in events:
        verifier.check(event)
    return verifier.finish(end)


def broken(seq: int, reason: str) -> AuditBroken:
    """The error for a chain whose first bad event is `seq`."""
    return AuditBroken(f"the audit chain is broken at event {seq}: {reason}", seq=seq, reason=reason)


def event_hash(event: AuditEvent) -> str:
    """The hash an event must have, from its content and `prev_hash`."""
    body = _body(event.seq, event.at, event.event, event.actor, event.sandbox, event.detail)
    return _hash(event.prev_hash, body)


def event_to_line(event: AuditEvent) -> str:
    """An event as one line of an export, without the line's end."""
    return canonical(
        {
            "actor": event.actor,
            "at": to_text(event.at),
            "detail": event.detail,
            "event": event.event,
            "hash": event.hash,
            "prev_hash": event.prev_hash,
            "sandbox": event.sandbox,
            "seq": event.seq,
        }
    )


def head_to_line(head: Head) -> str:
    """The last line of an export, without the line's end."""
    return canonical({"head": {"hash": head.hash, "seq": head.seq}})


def line_to_item(line: str) -> AuditEvent | Head:
    """What a line of an export says.

    Raises:
        ValueError: it is no such line, or not spelt as we spell it.
    """
    match parse_object(line):
        case {"head": {"hash": str(digest), "seq": int(seq)}, **rest} if not rest:
            return Head(seq, digest)
        case {"at": str(at), "detail": dict(), **rest} as members if rest.keys() == _OTHER_MEMBERS:
            return AuditEvent(**{**members, "at": from_text(at)})
    raise ValueError("it has other members than an event has")


def canonical(value: Json) -> str:
    """A value as canonical JSON."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)


def parse_object(text: str) -> dict[str, Any]:
    """A JSON object from its canonical form, and from no other.

    Raises:
        ValueError: it is no JSON object, or not in canonical form: equal content has equal bytes.
    """
    try:
        value = json.loads(text)
        same = canonical(value) == text
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict) or not same:
        raise ValueError("it is not a JSON object in canonical form")
    return value


def _body(
    seq: int, at: datetime, event: str, actor: str, sandbox: str | None, detail: Mapping[str, Json]
) -> bytes:
    members = {
        "actor": actor,
        "at": to_text(at),
        "detail": detail,
        "event": event,
        "sandbox": sandbox,
        "seq": seq,
    }
    # What UTF-8 cannot hold was never recorded: an altered text may have it, and then its hash must differ.
    return canonical(members).encode("utf-8", "backslashreplace")


def _hash(prev_hash: str, body: bytes) -> str:
    return hashlib.sha256(prev_hash.encode("utf-8", "backslashreplace") + b"\n" + body).hexdigest()


def _plain(value: Json) -> Json:
    """A copy in lists and dicts that the caller cannot change any more, and that reads back equal."""
    match value:
        case bool() | None:
            return value
        case int() if abs(value) <= MAX_WHOLE:
            return int(value)
        case str():
            value.encode()  # half a surrogate pair raises a ValueError of its own
            return str(value)
        case Mapping():
            return {key: _plain(element) for key, element in _ascii_keys(value)}
        case list() | tuple():
            return [_plain(element) for element in value]
    raise ValueError(f"an audit event cannot hold {value!r} ({type(value).__name__})")


def _ascii_keys(mapping: Mapping[str, Json]) -> Iterable[tuple[str, Json]]:
    for key in mapping:
        if not isinstance(key, str) or not key.isascii():
            raise ValueError(f"{key!r} is not an ASCII text, as the keys of an audit event are")
    return mapping.items()
