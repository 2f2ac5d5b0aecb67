"""The audit as a list with as many rows as there are events, of which some hundreds are here at a time. Pure.

Where everything is wanted and may be seen, an event's place is its number less one. Else the numbers of what is wanted
come part by part, the newest part first (`add`), and an event's place is known only among those found so far.

Rules:
- A row is known by its number, never by its place: older events that are found later move all places.
- What is held is bounded: `MOST_ROWS` rows, each cut to what a list can show, and `MOST_FOUND` numbers.
- Who follows sees the newest; who does not is told how many have come since.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import neg

from cloche import AuditEvent
from cloche.audit_search import AuditPart
from cloche_tui.model.call_text import members_in_brief
from cloche_tui.model.figures import cut

MOST_ROWS = 4000
MOST_FOUND = 1_000_000
MOST_WANTED = 200
"""Rows that are asked for at once."""
AHEAD = 3
"""Screens below and above the one that is looked at whose rows are fetched too."""
BRIEF = 300
"""Characters of a detail in a row."""


@dataclass(frozen=True, slots=True)
class TrailRow:
    """An event as a list shows it."""

    number: int
    at: datetime
    event: str
    actor: str
    actor_name: str | None
    """What the token is called."""
    sandbox: str | None
    sandbox_name: str | None
    about: str
    """The beginning of its detail."""

    @property
    def key(self) -> str:
        """What it is known by."""
        return str(self.number)


def row_of(event: AuditEvent, names: Mapping[str, str]) -> TrailRow:
    """An event's row.

    Args:
        event: in full.
        names: of sandboxes and tokens, by their ids.
    """
    sandbox = event.sandbox
    about = ", ".join(members_in_brief(event.detail, BRIEF))
    return TrailRow(
        event.seq,
        event.at,
        event.event,
        event.actor,
        names.get(event.actor),
        sandbox,
        names.get(sandbox) if sandbox is not None else None,
        cut(about, BRIEF),
    )


class Trail:
    """See the module."""

    def __init__(self) -> None:
        self.head = 0
        """The number of the chain's last event, as far as we know."""
        self.searched = 0
        """Events that have been looked at."""
        self.is_full = False
        """Whether older events that are wanted are left out: there are too many."""
        self._has_all = False
        # Of both: from the first that was found on.
        self._older, self._newer = array("q"), array("q")
        self._rows: OrderedDict[int, TrailRow | None] = OrderedDict()
        self._stands_after: int | None = None
        """The chain's last event when following stopped; None: it is followed."""

    # What there is.

    def __len__(self) -> int:
        return self.head if self._has_all else len(self._older) + len(self._newer)

    @property
    def is_searching(self) -> bool:
        """Whether a part of the chain has not been looked at yet."""
        return self.searched < self.head and not self.is_full

    def number_at(self, index: int) -> int:
        """The number of the event in a place, from 0."""
        if self._has_all:
            return index + 1
        older = len(self._older)
        return self._older[older - 1 - index] if index < older else self._newer[index - older]

    def index_of(self, number: int) -> int | None:
        """The place of an event; None: it is not wanted, or not found yet."""
        index = self._place(number)
        return index if index < len(self) and self.number_at(index) == number else None

    def nearest(self, number: int) -> int:
        """The place of an event, or of what comes after it; the last one behind all. There must be one."""
        return min(self._place(number), len(self) - 1)

    def _place(self, number: int) -> int:
        if self._has_all:
            return min(max(number - 1, 0), self.head)
        if self._newer and number >= self._newer[0]:
            return len(self._older) + bisect_left(self._newer, number)
        return len(self._older) - bisect_right(self._older, -number, key=neg)

    # What the hub tells.

    def begin(self) -> None:
        """Another search: nothing is known of what it finds."""
        self.head = self.searched = 0
        self.is_full = self._has_all = False
        self._older, self._newer = array("q"), array("q")

    def forget_rows(self) -> None:
        """It may be another hub's audit by now."""
        self._rows.clear()

    def add(self, part: AuditPart) -> None:
        """A part of the chain has been searched: below all that was told, or above it."""
        self.head = max(self.head, part.head)
        if part.has_all:
            self._has_all = True
            self.head = self.searched = max(part.last, self.searched)
            return
        self.searched += part.last - part.first + 1
        if self._is_above(part):
            self._newer.extend(part.numbers)
        elif not self.is_full and len(self) + len(part.numbers) <= MOST_FOUND:
            self._older.extend(reversed(part.numbers))
        else:
            self.is_full = True

    def _is_above(self, part: AuditPart) -> bool:
        first = self.number_at(0) if len(self) else None
        return first is not None and bool(part.numbers) and part.numbers[0] > first

    # Rows.

    def row(self, index: int) -> TrailRow | None:
        """The row in a place; None: it is not here."""
        number = self.number_at(index)
        row = self._rows.get(number)
        if row is not None:
            self._rows.move_to_end(number)
        return row

    def kept(self, number: int) -> TrailRow | None:
        """The row of an event, if it is here."""
        return self._rows.get(number)

    def put(self, rows: Iterable[TrailRow], *, asked: Iterable[int] = ()) -> None:
        """Rows have come.

        Args:
            rows: in any order.
            asked: the numbers that were asked for. What did not come is not asked for again.
        """
        for number in asked:
            self._rows.setdefault(number, None)
        for row in rows:
            self._rows[row.number] = row
            self._rows.move_to_end(row.number)
        while len(self._rows) > MOST_ROWS:
            self._rows.popitem(last=False)

    def missing(self, first: int, count: int) -> list[int]:
        """The numbers of rows that are not here: those on the screen, else those below it, else those above.

        Args:
            first: the place of the first row on the screen.
            count: how many are on it.
        """
        on_screen = self._missing(first, first + count)
        further = AHEAD * count
        around = on_screen or self._missing(first + count, first + count + further)
        # Above, the nearest are the last.
        return around[:MOST_WANTED] or self._missing(first - further, first)[-MOST_WANTED:]

    def _missing(self, first: int, last: int) -> list[int]:
        places = range(max(first, 0), min(last, len(self)))
        return [number for number in map(self.number_at, places) if number not in self._rows]

    # Following.

    @property
    def is_followed(self) -> bool:
        """Whether the newest event is shown as it comes."""
        return self._stands_after is None

    @property
    def unseen(self) -> int:
        """How many have come since following stopped."""
        if self._stands_after is None or not len(self):
            return 0
        return len(self) - self._place(self._stands_after + 1)

    def follow(self, *, is_on: bool) -> None:
        """Follows from now on, or stands still."""
        if is_on:
            self._stands_after = None
        elif self._stands_after is None:
            # What a filter hides now is no news when it is taken away.
            self._stands_after = self.head
