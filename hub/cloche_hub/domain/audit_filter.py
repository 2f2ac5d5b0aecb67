"""Which audit events somebody wants to see: the `/` filter of a client, as it travels. Parsed here, matched by `store`.

    [{"kind": "text", "values": ["nginx"], "name": "", "inverse": false}, …]        all of them must hold

    text    the text is in the event: its name, actor, sandbox, the names of these two, its time, or its detail
    field   the field `name` is one of `values`, in which `*` is any text
    label   a label of the event's sandbox whose key is like `name` has one of `values`

Upper and lower case are the same.

SAFETY: there are no expressions. One can take for ever on the right text, and nothing stops it inside the hub; so
whoever wants them runs them on events that were read. What is left takes time linear in what is looked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cloche_hub.domain.fields import Fields
from cloche_hub.errors import BadRequest

MAX_TERMS = 32
MAX_VALUES = 64
"""Of one term."""
MAX_CHARACTERS = 2000
"""Of all terms together."""

FIELDS = frozenset(
    {
        "actor", "console", "event", "flavor", "kind", "method", "name", "owner", "path", "recipe", "rule", "sandbox",
        "state",
    }
)  # fmt: skip
"""`actor` and `sandbox` are ids or names; `owner`, `recipe` and `flavor` the sandbox's; all others stand in the detail,
as `recipe` and `flavor` may."""


class TermKind(StrEnum):
    """What a term asks."""

    TEXT = "text"
    FIELD = "field"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a filter."""

    kind: TermKind
    values: tuple[str, ...]
    """The text; or patterns, any of which will do."""
    name: str = ""
    """A field's name, or the pattern of a label's key."""
    is_inverse: bool = False


def parse_terms(value: object) -> tuple[Term, ...]:
    """The terms of a filter; none: everything is wanted.

    Args:
        value: what a client sent; None counts as nothing.

    Raises:
        BadRequest: it is no filter, or too large a one.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise BadRequest("filter must be a list of terms")
    if len(value) > MAX_TERMS:
        raise BadRequest(f"filter has {len(value)} terms; the limit is {MAX_TERMS}")
    terms = tuple(_term(each) for each in value)
    if sum(map(_length, terms)) > MAX_CHARACTERS:
        raise BadRequest(f"filter is too long; the limit is {MAX_CHARACTERS} characters")
    return terms


def _term(value: object) -> Term:
    fields = Fields.of(value, ("kind", "values", "name", "inverse"))
    kind = _kind(fields.text("kind"))
    values = tuple(text.casefold() for text in fields.texts("values", most=MAX_VALUES))
    name = fields.text("name", "").casefold()
    _check(kind, values, name)
    return Term(kind, values, name, fields.flag("inverse", default=False))


def _check(kind: TermKind, values: Sequence[str], name: str) -> None:
    if not all(values) or not values:
        raise BadRequest("values must have one text at least, and none that is empty")
    if kind is TermKind.TEXT and len(values) > 1:
        raise BadRequest("a term of kind text has one text; give a term for each")
    if kind is TermKind.FIELD and name not in FIELDS:
        raise BadRequest(f"there is no field {name[:40]!r}; there are: {', '.join(sorted(FIELDS))}")
    if kind is TermKind.LABEL and not name:
        raise BadRequest("name is missing: say which label")


def _kind(text: str) -> TermKind:
    try:
        return TermKind(text)
    except ValueError:
        kinds = ", ".join(TermKind)
        raise BadRequest(
            f"a term cannot be of kind {text[:40]!r}; there are: {kinds}. Expressions are for clients to run"
        ) from None


def _length(term: Term) -> int:
    return len(term.name) + sum(map(len, term.values))
