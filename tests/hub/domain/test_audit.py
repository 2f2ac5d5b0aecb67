"""The audit chain: what is hashed, and that no change goes unseen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.audit import (
    GENESIS,
    MAX_EVENT,
    MAX_WHOLE,
    AuditEvent,
    Head,
    Verified,
    canonical,
    chain,
    event_hash,
    event_to_line,
    head_to_line,
    line_to_item,
    parse_object,
    verify,
)
from cloche_hub.errors import AuditBroken
from tests.hub.domain.examples import MOMENT

texts = st.text(st.characters(codec="utf-8"), max_size=8)
wholes = st.integers(-MAX_WHOLE, MAX_WHOLE)
keys = st.text(st.characters(max_codepoint=127), max_size=4)
values = st.recursive(
    st.none() | st.booleans() | wholes | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
details = st.dictionaries(keys, values, max_size=4)
happenings = st.tuples(
    st.timedeltas(timedelta(days=-9), timedelta(days=9)), texts, texts, st.none() | texts, details
)


def build(happened: list[Any]) -> list[AuditEvent]:
    events: list[AuditEvent] = []
    for offset, event, actor, sandbox, detail in happened:
        head = events[-1].head if events else GENESIS
        events.append(
            chain(head, at=MOMENT + offset, event=event, actor=actor, sandbox=sandbox, detail=detail)
        )
    return events


def example(count: int = 3) -> list[AuditEvent]:
    return build(
        [(timedelta(seconds=n), "exec.exited", "tok_a", "sb_a", {"exit_code": n}) for n in range(count)]
    )


chains = st.lists(happenings, min_size=1, max_size=6).map(build)


def test_a_frozen_event_has_the_hash_anybody_can_compute() -> None:
    event = chain(
        GENESIS,
        at=MOMENT,
        event="exec.exited",
        actor="tok_é",
        sandbox=None,
        detail={"z": [True, None, -1], "a": {"k": '\x1f\x7f"\\\n\u2028🌻'}},
    )
    body = (
        '{"actor":"tok_é","at":"2026-01-02T03:04:05.678901Z",'
        '"detail":{"a":{"k":"\\u001f\x7f\\"\\\\\\n\u2028🌻"},"z":[true,null,-1]},'
        '"event":"exec.exited","sandbox":null,"seq":1}'
    )
    assert event.prev_hash == "0" * 64
    assert event.hash == hashlib.sha256(b"0" * 64 + b"\n" + body.encode()).hexdigest()
    assert event.hash == "882b0efe3e3b9efae5ce479c5fdc2c885f989f1f38b1f541d67ebb559a7d1143"


def test_an_export_is_verified_by_a_dozen_lines_that_share_no_code_with_us() -> None:
    lines = [event_to_line(event) for event in example(5)]
    previous = "0" * 64
    for number, line in enumerate(lines, start=1):
        members = json.loads(line)
        digest = members.pop("hash")
        assert members.pop("prev_hash") == previous
        body = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest() == digest
        assert members["seq"] == number
        previous = digest


@given(chains)
def test_a_chain_verifies_and_reads_back_from_its_lines(events: list[AuditEvent]) -> None:
    assert verify(events, end=events[-1].head, noted=[event.head for event in events]) == Verified(
        len(events), events[-1].hash
    )
    assert [line_to_item(event_to_line(event)) for event in events] == events


def test_an_empty_chain_verifies() -> None:
    assert verify([], end=GENESIS) == Verified(0, "0" * 64)


def test_time_may_go_backwards() -> None:
    back = build([(timedelta(0), "a.bed", "hub", None, {}), (timedelta(days=-1), "a.bed", "hub", None, {})])
    assert verify(back).events == 2


@given(chains, st.data())
def test_any_altered_event_is_found(events: list[AuditEvent], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    victim = events[index]
    field = data.draw(
        st.sampled_from(["seq", "at", "event", "actor", "sandbox", "detail", "prev_hash", "hash"])
    )
    fresh: dict[str, st.SearchStrategy[Any]] = {
        "seq": st.integers(),
        "at": st.timedeltas(timedelta(days=-9), timedelta(days=9)).map(lambda offset: MOMENT + offset),
        "event": texts,
        "actor": texts,
        "sandbox": st.none() | texts,
        "detail": details,
        "prev_hash": texts,
        "hash": texts,
    }
    before = event_to_line(victim)
    altered = replace(victim, **{field: data.draw(fresh[field])})
    if event_to_line(altered) == before:
        return
    with pytest.raises(AuditBroken) as breach:
        verify([*events[:index], altered, *events[index + 1 :]], end=events[-1].head)
    assert breach.value.details["seq"] == index + 1
    assert f"event {index + 1}: " in breach.value.message


@given(chains, st.data())
def test_any_dropped_event_is_found(events: list[AuditEvent], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    with pytest.raises(AuditBroken) as breach:
        verify(events[:index] + events[index + 1 :], end=events[-1].head)
    assert breach.value.details["seq"] == index + 1


@given(st.lists(happenings, min_size=2, max_size=6).map(build), st.data())
def test_any_two_swapped_events_are_found(events: list[AuditEvent], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(events) - 2))
    second = data.draw(st.integers(first + 1, len(events) - 1))
    swapped = list(events)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    with pytest.raises(AuditBroken) as breach:
        verify(swapped, end=events[-1].head)
    assert breach.value.details["seq"] == first + 1


@given(chains, st.data())
def test_any_repeated_or_inserted_event_is_found(events: list[AuditEvent], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events)))
    with pytest.raises(AuditBroken) as breach:
        verify(
            [*events[:index], events[data.draw(st.integers(0, len(events) - 1))], *events[index:]],
            end=events[-1].head,
        )
    assert breach.value.details["seq"] in {index + 1, index + 2}


@given(chains, happenings)
def test_a_rewritten_chain_is_found_by_a_head_noted_elsewhere(events: list[AuditEvent], other: Any) -> None:
    rewritten = build(
        [
            other,
            *[
                (event.at - MOMENT, event.event, event.actor, event.sandbox, event.detail)
                for event in events[1:]
            ],
        ]
    )
    if rewritten == events:
        return
    assert verify(rewritten).events == len(events)
    with pytest.raises(AuditBroken):
        verify(rewritten, noted=[events[-1].head])


@pytest.mark.parametrize(
    ("tamper", "seq", "said"),
    [
        (lambda events: [events[0], events[2]], 2, "expected event 2, found event 3"),
        (lambda events: [replace(events[0], prev_hash="x")], 1, "its prev_hash is another one"),
        (lambda events: [replace(events[0], actor="x")], 1, "its hash does not match"),
    ],
)
def test_a_breach_says_what_is_wrong(tamper: Any, seq: int, said: str) -> None:
    with pytest.raises(AuditBroken, match=f"the audit chain is broken at event {seq}: .*{said}") as breach:
        verify(tamper(example()))
    assert breach.value.code == "audit_broken"


def test_a_cut_end_is_found_by_where_the_chain_should_end() -> None:
    events = example()
    with pytest.raises(AuditBroken, match="event 3: it is missing: the chain should end with event 3"):
        verify(events[:2], end=events[2].head)


def test_a_cut_end_is_found_by_a_head_noted_elsewhere() -> None:
    events = example()
    with pytest.raises(AuditBroken, match="event 2: it is missing, although the head of event 3 was noted"):
        verify(events[:1], noted=[events[2].head])


def test_a_noted_hash_that_is_not_on_the_chain_is_named() -> None:
    with pytest.raises(AuditBroken, match="event 2: its hash is not the one that was noted"):
        verify(example(), noted=[Head(2, "f" * 64)])


@pytest.mark.parametrize("end", [Head(2, "f" * 64), Head(3, "f" * 64), GENESIS])
def test_a_chain_that_goes_on_past_its_recorded_end_or_ends_otherwise_is_broken(end: Head) -> None:
    with pytest.raises(AuditBroken, match=f"should end with event {end.seq} and its recorded hash"):
        verify(example(), end=end)


def test_an_event_cannot_be_changed_through_the_detail_it_was_made_of() -> None:
    detail: dict[str, Any] = {"argv": ["ls"], "more": MappingProxyType({"a": ("b",)})}
    event = chain(GENESIS, at=MOMENT, event="a.bed", actor="hub", sandbox=None, detail=detail)
    detail["argv"].append("-l")
    assert event.detail == {"argv": ["ls"], "more": {"a": ["b"]}}
    assert event_hash(event) == event.hash


@pytest.mark.parametrize(
    "value",
    [0.5, b"x", {1, 2}, MAX_WHOLE + 1, -MAX_WHOLE - 1, "\ud800", [0.5], {"a": object()}, {"é": 1}, {1: 1}],
)
def test_a_detail_that_two_languages_might_write_differently_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        chain(GENESIS, at=MOMENT, event="a.bed", actor="hub", sandbox=None, detail={"x": value})


def test_an_event_over_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match=f"the limit is {MAX_EVENT}"):
        chain(GENESIS, at=MOMENT, event="a.bed", actor="hub", sandbox=None, detail={"x": "x" * MAX_EVENT})


def test_content_no_utf_8_can_hold_does_not_verify() -> None:
    with pytest.raises(AuditBroken, match="its hash does not match"):
        verify([replace(example()[0], actor="\udc80")])


def test_the_last_line_of_an_export_is_its_head() -> None:
    head = example()[-1].head
    assert line_to_item(head_to_line(head)) == head


GOOD_LINE = event_to_line(example(1)[0])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "1",
        "{}",
        '{"head":1}',
        '{"head":{"hash":"x"}}',
        '{"head":{"hash":"x","seq":1},"more":1}',
        "[" * 100_000,
        GOOD_LINE + " ",
        GOOD_LINE.replace('"seq":1', '"seq": 1'),
        GOOD_LINE.replace('"seq":1', '"seq":1,"seq":1'),
        GOOD_LINE.replace('"seq":1', '"seq":1,"t":1'),
        GOOD_LINE.replace('{"exit_code":0}', '"x"'),
        GOOD_LINE.replace("05.678901Z", "05Z"),
        GOOD_LINE.replace("exec", "\\u0065xec"),
    ],
)
def test_a_line_that_is_not_spelt_as_we_spell_it_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        line_to_item(line)


@given(details)
def test_an_object_reads_back_from_its_canonical_form(detail: dict[str, Any]) -> None:
    assert parse_object(canonical(detail)) == detail
