"""Finding and reading events of the audit: the values, and what of a filter the hub decides and what the client. Pure.

The hub runs nobody's expressions. So where a filter has some, the hub finds the events for which all else holds, and
the client reads these and puts the expressions to them, to each at most `MOST_READ` characters of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from cloche.answers import Answer
from cloche.errors import InternalError
from cloche.filters import MAX_WORDS, Fields, Filter, Kind, Term
from cloche.messages import AuditEvent, export_line

MOST_READ = 1024
"""Characters of an event's detail that an expression is put to. Somebody else wrote them, and a search may take time that
grows with the cube of their number."""

_LETTERS = re.compile(r"[A-Za-z0-9_ :/,=@-]+")
# Groups that are special, and escapes that stand for a letter: what follows may not mean itself.
_UNCLEAR = re.compile(r"\(\?|\\[^\WbBdDsSwWAZ]")
_ASIDE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\([^()]*\)")
_COUNTED = re.compile(r".(?:[*?]|\{[^}]*\})", re.DOTALL)
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class AuditPart:
    """A part of the chain that has been searched."""

    first: int
    """The number of its first event."""
    last: int
    """The number of its last event; below `first` where there is none."""
    numbers: Sequence[int]
    """Of the events in it that are wanted, in order. A `range` where that is all of them."""
    head: int
    """The number of the chain's last event, as of now."""

    @property
    def has_all(self) -> bool:
        """Whether everything in it is wanted, because nothing was asked for."""
        return isinstance(self.numbers, range)

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("part of the audit", value)
        first, last = read.whole("first"), read.whole("last")
        numbers = read.optional("numbers", lambda key: read.of_type(key, list))
        if numbers is not None and not all(type(number) is int for number in numbers):
            raise InternalError("the hub sent a part of the audit with a number that is none")
        wanted = range(first, last + 1) if numbers is None else tuple(numbers)
        return cls(first, last, wanted, read.whole("head"))

    def pieces(self, size: int, *, newest_first: bool) -> Iterator[Self]:
        """The same in parts of at most so many wanted events."""
        numbers = self.numbers
        starts = range(0, len(numbers), size)
        firsts = [self.first, *(numbers[at] for at in starts[1:])]
        lasts = [*(first - 1 for first in firsts[1:]), self.last]
        cuts = list(zip(firsts, lasts, starts or (0,), strict=True))
        for first, last, at in reversed(cuts) if newest_first else cuts:
            yield replace(self, first=first, last=last, numbers=numbers[at : at + size])


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Events that were read by their numbers."""

    events: Sequence[AuditEvent]
    """In order."""
    names: Mapping[str, str]
    """What the sandboxes and tokens they speak of are called, by their ids. `hub` has no name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A filter, as it is put to a hub."""

    message: Sequence[Mapping[str, Any]]
    """What the hub decides."""
    expressions: Sequence[Term]
    """What the client decides about each event the hub has found."""

    @classmethod
    def of(cls, wanted: Filter | None) -> Self:
        """A filter in its two parts."""
        terms = wanted.terms if wanted is not None else ()
        expressions = tuple(term for term in terms if term.kind is Kind.REGEX)
        # Texts that every match has in it spare reading most of what does not match.
        texts = [text for term in expressions if not term.is_inverse for text in _literals(term.values[0])]
        asked = (
            *(term for term in terms if term.kind is not Kind.REGEX),
            *(Term(Kind.TEXT, (text.casefold(),)) for text in texts[: MAX_WORDS - len(terms)]),
        )
        return cls(Filter(asked, "").message(), expressions)

    def holds(self, event: AuditEvent, names: Mapping[str, str]) -> bool:
        """Whether the expressions hold for an event that the hub has found."""
        fields = event_fields(event, names)
        return all(term.holds(fields) for term in self.expressions)


def event_fields(event: AuditEvent, names: Mapping[str, str]) -> Fields:
    """What of an event expressions are put to."""
    sandbox = event.sandbox
    return Fields.of(
        event.event,
        event.actor,
        names.get(event.actor),
        sandbox,
        names.get(sandbox) if sandbox is not None else None,
        export_line(event.detail)[:MOST_READ],
    )


def _literals(expression: str) -> Sequence[str]:
    """Texts that are in whatever an expression matches, as far as they are easily seen."""
    if _UNCLEAR.search(expression):
        return ()
    rest = _COUNTED.sub("\n", _ASIDE.sub("\n", expression))
    if any(sign in rest for sign in "()|"):
        return ()
    return [text for text in _LETTERS.findall(rest) if len(text) >= _SHORTEST]
