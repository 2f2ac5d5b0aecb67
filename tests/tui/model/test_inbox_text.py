"""An approval in words says who asks for what, until when, and who decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cloche.filters import parse_filter
from cloche_tui.model.inbox_text import about, cells, decision, fields, summary, too_late, when
from cloche_tui.model.roles import Role, Span, plain_text
from tests.support.approvals import NOW, apr, decided

LATER = NOW + timedelta(seconds=3)


def told(**changes: Any) -> dict[str, str]:
    return {name: plain_text(text) for name, text in about(apr(**changes), NOW)}


def test_what_waits_shows_how_long_it_waits_yet() -> None:
    assert when(apr(deadline_s=252), NOW) == Span("◷ 4:12")
    assert when(apr(deadline_s=42), NOW) == Span("! 0:42", Role.WARNING)
    assert when(apr(deadline_s=7), NOW) == Span("‼ 0:07", Role.BAD)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("approved", Span("✓ approved", Role.GOOD)),
        ("edited", Span("✎ edited", Role.GOOD)),
        ("denied", Span("✗ denied", Role.BAD)),
        ("expired", Span("◌ expired", Role.WARNING)),
        ("abandoned", Span("– abandoned", Role.MUTED)),
        ("new\x1b", Span("? new\\x1b", Role.WARNING)),
    ],
)
def test_what_is_decided_shows_what_it_has_become(state: str, shown: Span) -> None:
    assert when(decided(apr(), state), NOW) == shown


@pytest.mark.parametrize(
    ("approval", "expected"),
    [
        (decided(apr()), "✓ approved by ann, 3s ago"),
        (decided(apr(), "denied", reason="too much\x1b"), "✗ denied by ann, 3s ago: too much\\x1b"),
        (decided(apr(), decided_by_name=None), "✓ approved by tok_ann, 3s ago"),
        (decided(apr(), decided_by=None, decided_s=None), "✓ approved"),
        (
            decided(apr(), "expired", by="hub", reason="nobody decided within 60 s"),
            "◌ expired, refused, 3s ago: nobody decided within 60 s",
        ),
        (
            decided(apr(), "expired", by="hub", outcome="let_through"),
            "◌ expired, let through, 3s ago",
        ),
        (
            decided(apr(), "abandoned", by="hub", outcome="gone", reason="it gave up"),
            "– abandoned, 3s ago: it gave up",
        ),
    ],
)
def test_a_decision_says_whose_it_is(approval: Any, expected: str) -> None:
    assert plain_text(decision(approval, LATER)) == expected


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"state": "denied", "decided_by": "tok_1", "decided_by_name": "ann"}, "denied already by ann"),
        ({"state": "approved", "decided_by": "tok_1"}, "approved already by tok_1"),
        ({"state": "abandoned", "decided_by": "hub", "decided_by_name": "hub"}, "abandoned already"),
        ({}, "all of it"),
    ],
)
def test_who_comes_second_is_told_who_was_first(details: dict[str, Any], expected: str) -> None:
    assert too_late("all of it", details) == expected


def test_a_row_has_the_sandbox_and_the_call() -> None:
    assert [plain_text(cell) for cell in cells(apr(params={"amount": 3}))] == ["box", "pay.send(amount: 3)"]
    assert {span.role for cell in cells(decided(apr())) for span in cell} == {Role.MUTED}


def test_a_call_whose_parameters_are_not_here_is_told_by_their_size() -> None:
    assert summary(apr(has_params=False, params_bytes=5 << 10)) == "pay.send(5.0 KiB of JSON)"


def test_it_says_who_asks_what_holds_it_and_until_when() -> None:
    assert told(deadline_s=42) == {
        "from": "box of alice team=ml",
        "program": "python3 (pid 7, uid 1000), as the guest says",
        "held by": "by hand: money leaves by hand",
        "asked": "3s ago",
        "decide": "! 0:42 left, then it is denied",
    }


def test_it_says_what_the_deadline_means() -> None:
    assert told(on_deadline="allow")["decide"] == "◷ 1:00 left, then it is let through"
    assert told(on_deadline="novelty")["decide"] == "◷ 1:00 left, then novelty"


def test_what_is_not_told_is_not_made_up() -> None:
    lines = told(caller={}, rule_reason=None, labels={})
    assert (lines["from"], lines["program"], lines["held by"]) == ("box of alice", "not told", "by hand")
    assert told(caller={"program": "sh"})["program"] == "sh (pid ?, uid ?), as the guest says"


def test_once_decided_it_says_so_in_the_place_of_the_deadline() -> None:
    lines = dict(about(decided(apr()), LATER))
    assert "decide" not in lines
    assert plain_text(lines["decided"]) == "✓ approved by ann, 3s ago"


def test_hostile_names_do_nothing_but_show() -> None:
    lines = told(
        sandbox_name="\x1b[2J",
        owner="\u202e",
        labels={"\n": "\x07"},
        caller={"program": "a\rb", "pid": 1, "uid": 2},
        rule="\x9b",
    )
    assert all(text.isprintable() for text in lines.values())


@pytest.mark.parametrize(
    "typed",
    [
        "apr_0001",
        "alice",
        "python3",
        "ann",
        "method=pay.*",
        "sandbox=box owner=alice",
        "rule=by*",
        "state=approved",
        "label=team=ml",
    ],
)
def test_a_filter_finds_it_by_what_is_shown(typed: str) -> None:
    wanted = parse_filter(typed)
    assert wanted is not None
    assert wanted.matches(fields(decided(apr(params={"to": "alice"}))))
    assert not wanted.matches(
        fields(apr(2, owner="bob", rule="r", method="x", sandbox_name="b", labels={}, caller={}))
    )


def test_what_others_chose_neither_pushes_the_call_away_nor_looks_like_lines_of_ours() -> None:
    labels = {f"k{number}": "   held by   nobody" * 13 for number in range(64)}
    asked = apr(labels=labels, caller={"program": "x" * 4096, "pid": "1" * 999, "uid": "\x1b   0"})
    said = {name: plain_text(text) for name, text in about(asked, NOW)}
    assert len(said["from"]) < 200
    assert "  " not in said["from"]
    assert len(said["program"]) < 250
    assert r"uid \x1b 0" in said["program"]
