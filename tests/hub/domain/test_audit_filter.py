"""What clients want to see of the audit, as it arrives."""

from __future__ import annotations

from typing import Any

import pytest

from cloche import filters
from cloche_hub.domain.audit_filter import (
    FIELDS,
    MAX_CHARACTERS,
    MAX_TERMS,
    MAX_VALUES,
    Term,
    TermKind,
    parse_terms,
)
from cloche_hub.errors import BadRequest


def term(kind: str = "text", *values: str, name: str = "", inverse: bool = False) -> dict[str, Any]:
    return {"kind": kind, "values": list(values or ["x"]), "name": name, "inverse": inverse}


def test_no_filter_has_no_terms() -> None:
    assert parse_terms(None) == parse_terms([]) == ()


def test_each_kind_of_term_is_read_and_loses_its_case() -> None:
    terms = parse_terms(
        [
            term("text", "NGINX"),
            term("field", "exec.*", "Hub.*", name="event", inverse=True),
            term("label", "blue", name="Team"),
            {"kind": "text", "values": ["bare"]},
        ]
    )
    assert terms == (
        Term(TermKind.TEXT, ("nginx",)),
        Term(TermKind.FIELD, ("exec.*", "hub.*"), "event", is_inverse=True),
        Term(TermKind.LABEL, ("blue",), "team"),
        Term(TermKind.TEXT, ("bare",)),
    )


def test_as_much_as_the_limits_say_is_taken() -> None:
    assert len(parse_terms([term()] * MAX_TERMS)) == MAX_TERMS
    assert parse_terms([term("text", "x" * MAX_CHARACTERS)])
    for name in FIELDS:
        assert parse_terms([term("field", *["x"] * MAX_VALUES, name=name)])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("text", "a list of terms"),
        ([term()] * (MAX_TERMS + 1), "33 terms"),
        ([term("text", "x" * MAX_CHARACTERS), term()], "too long"),
        ([term("field", *["x"] * (MAX_VALUES + 1), name="event")], "65 elements"),
        (["text"], "must be a map"),
        ([{"values": ["x"]}], "kind is missing"),
        ([term("regex", "a*")], "Expressions are for clients to run"),
        ([{"kind": "text", "values": []}], "one text at least"),
        ([{"kind": "text"}], "one text at least"),
        ([term("field", "x", "", name="event")], "none that is empty"),
        ([term("text", "a", "b")], "a term for each"),
        ([term("field", "x", name="detail')--")], "there is no field"),
        ([term("label", "x")], "say which label"),
        ([{**term(), "inverse": "yes"}], "inverse must be true or false"),
        ([{**term(), "case": True}], "unknown field"),
    ],
)
def test_what_is_no_filter_is_refused_with_the_reason(value: object, says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        parse_terms(value)


def test_what_clients_make_of_what_is_typed_is_taken_word_for_word() -> None:
    typed = "nginx event=exec.*,hub.* !actor=ann label!=team=blue " + " ".join(
        f"{name}=x" for name in filters.FIELDS
    )
    wanted = filters.parse_filter(typed)
    assert wanted is not None
    assert [(t.kind, t.values, t.name, t.is_inverse) for t in parse_terms(wanted.message())] == [
        (TermKind(t.kind.value), t.values, t.name, t.is_inverse) for t in wanted.terms
    ]
    assert set(filters.FIELDS) == FIELDS
