"""Audit events by what is in them, and by their numbers: the SQL behind `audit.search` and `audit.read`.

Rule: a query looks at the rows between two numbers, so its caller says how long it may take.
Rule: what an owner may not see is left out by the query itself.
Letters outside ASCII are without case only where the wanted text has some: `folded` is Python's, and slower.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence

from cloche_hub.domain.audit_filter import Term, TermKind
from cloche_hub.store.rows import Fetches

_OF_SANDBOX = "(SELECT {} FROM sandboxes WHERE sandboxes.id = audit.sandbox)"
_NAME_OF_SANDBOX = _OF_SANDBOX.format("name")
_NAME_OF_ACTOR = "(SELECT name FROM tokens WHERE tokens.id = audit.actor)"
# A detail that somebody has altered may be no JSON any more: that must not end a search.
_IN_DETAIL = "iif(json_valid(detail), json_extract(detail, '$.{}'), NULL)"

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "actor": ("actor", _NAME_OF_ACTOR),
    "event": ("event",),
    "sandbox": ("sandbox", _NAME_OF_SANDBOX),
    "owner": (_OF_SANDBOX.format("owner"),),
    **{name: (_OF_SANDBOX.format(name), _IN_DETAIL.format(name)) for name in ("recipe", "flavor")},
    **{
        name: (_IN_DETAIL.format(name),)
        for name in ("console", "kind", "method", "name", "path", "rule", "state")
    },
}
"""Where each of `audit_filter.FIELDS` stands. SAFETY: these names become SQL; a client's text never does."""
_TEXTS = ("event", "actor", "sandbox", "at", _NAME_OF_ACTOR, _NAME_OF_SANDBOX)
_SPECIAL_TO_LIKE = re.compile(r"[%_\\]")
_SPECIAL_TO_GLOB = re.compile(r"[?\[]")

_SEEN_BY = "EXISTS (SELECT 1 FROM sandboxes WHERE sandboxes.id = audit.sandbox AND sandboxes.owner = ?)"
_LABEL = """EXISTS (
    SELECT 1 FROM sandboxes, json_each(sandboxes.labels) AS label
    WHERE sandboxes.id = audit.sandbox AND ({}) AND ({})
)"""

_Clause = tuple[str, list[str]]
"""A condition, and what is bound in it."""


def add_functions(connection: sqlite3.Connection) -> None:
    """Gives a connection the functions that the queries here use."""
    connection.create_function("folded", 1, _folded, deterministic=True)


async def numbers(
    database: Fetches, terms: Sequence[Term], *, first: int, last: int, owner: str | None
) -> Sequence[int]:
    """The numbers of the events between two, both included, that are wanted; in order.

    Args:
        database: with `add_functions`.
        terms: all of them must hold.
        first, last: the first and the last event that is looked at.
        owner: only those about this owner's sandboxes; None: all.
    """
    clauses = [_clause(term) for term in terms]
    if owner is not None:
        clauses.insert(0, (_SEEN_BY, [owner]))
    wanted = " AND ".join([condition for condition, _ in clauses] or ["1"])
    rows = await database.fetch(
        f"SELECT seq FROM audit WHERE seq BETWEEN ? AND ? AND {wanted} ORDER BY seq",  # noqa: S608 - no text of a client's is in it
        (first, last, *(value for _, values in clauses for value in values)),
    )
    return [row["seq"] for row in rows]


async def rows(database: Fetches, wanted: Sequence[int], *, owner: str | None) -> Sequence[sqlite3.Row]:
    """The events with these numbers, in order; those that are not there, or not to be seen, are left out.

    Args:
        database: to read from.
        wanted: any numbers; bound how many.
        owner: only those about this owner's sandboxes; None: all.
    """
    seen, values = ("1", ()) if owner is None else (_SEEN_BY, (owner,))
    return await database.fetch(
        f"SELECT * FROM audit WHERE seq IN (SELECT value FROM json_each(?)) AND {seen} ORDER BY seq",  # noqa: S608 - see above
        (json.dumps(list(wanted)), *values),
    )


async def names(database: Fetches, ids: Sequence[str]) -> Mapping[str, str]:
    """What these sandboxes and tokens are called; an id that is nobody's is left out."""
    found = await database.fetch(
        """
        SELECT id, name FROM sandboxes WHERE id IN (SELECT value FROM json_each(:ids))
        UNION ALL
        SELECT id, name FROM tokens WHERE id IN (SELECT value FROM json_each(:ids))
        """,
        {"ids": json.dumps(list(ids))},
    )
    return {row["id"]: row["name"] for row in found}


def _clause(term: Term) -> _Clause:
    condition, values = _MADE[term.kind](term)
    # A value that is not there is like none: neither it nor its opposite may vanish in a NULL.
    is_met = f"ifnull(({condition}), 0)"
    return (f"NOT {is_met}" if term.is_inverse else is_met), values


def _text(term: Term) -> _Clause:
    (text,) = term.values
    # As JSON writes it within its quotes: so a text is found that has quotes or line ends.
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    pairs = [(column, text) for column in _TEXTS] + [("detail", written)]
    return _any(_has(column, wanted) for column, wanted in pairs)


def _field(term: Term) -> _Clause:
    return _any(_is_like(column, pattern) for column in _COLUMNS[term.name] for pattern in term.values)


def _label(term: Term) -> _Clause:
    key, key_values = _is_like("label.key", term.name)
    value, values = _any(_is_like("label.value", pattern) for pattern in term.values)
    return _LABEL.format(key, value), [*key_values, *values]


_MADE: Mapping[TermKind, Callable[[Term], _Clause]] = {
    TermKind.TEXT: _text,
    TermKind.FIELD: _field,
    TermKind.LABEL: _label,
}


def _any(clauses: Iterator[_Clause]) -> _Clause:
    conditions, values = zip(*clauses, strict=True)
    return " OR ".join(conditions), [value for each in values for value in each]


def _has(column: str, text: str) -> _Clause:
    """Whether a text is somewhere in a column."""
    if not text.isascii():
        return f"instr(folded({column}), ?)", [text]
    return rf"{column} LIKE ? ESCAPE '\'", [f"%{_SPECIAL_TO_LIKE.sub(_escaped, text)}%"]


def _is_like(column: str, pattern: str) -> _Clause:
    """Whether all of a column is as a pattern says."""
    fold = "lower" if pattern.isascii() else "folded"
    if "*" not in pattern:
        return f"{fold}({column}) = ?", [pattern]
    return f"{fold}({column}) GLOB ?", [_SPECIAL_TO_GLOB.sub(r"[\g<0>]", pattern)]


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _folded(value: object) -> str | None:
    return value.casefold() if isinstance(value, str) else None
