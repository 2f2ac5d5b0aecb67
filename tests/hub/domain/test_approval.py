"""An approval's states, decisions and diff."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.approval import (
    MAX_DIFF,
    MAX_DIFF_LINE,
    MAX_REASON,
    SHORT_BYTES,
    TRANSITIONS,
    Approval,
    ApprovalState,
    Decision,
    OnDeadline,
    cut,
    decision_of,
    diff,
    move,
)
from cloche_hub.errors import BadRequest, Conflict
from tests.hub.domain.examples import MOMENT, approval

LATER = MOMENT + timedelta(seconds=30)
EDITED = '{"amount":1,"to":"ann"}'


def test_an_approved_call_goes_on_as_it_was_asked() -> None:
    approved = move(approval(), Decision.APPROVE, at=LATER, by="tok_1")

    assert approved == replace(
        approval(),
        state=ApprovalState.APPROVED,
        decided_at=LATER,
        decided_by="tok_1",
        decided_by_name="tok_1",
    )
    assert approved.final_params == approval().params
    assert not approved.is_pending
    assert approval().is_pending


def test_an_edited_call_goes_on_with_the_parameters_a_human_gave_and_keeps_both() -> None:
    edited = move(approval(), Decision.EDIT, at=LATER, by="tok_1", params=EDITED)

    assert edited.state is ApprovalState.EDITED
    assert edited.final_params == EDITED
    assert edited.params == approval().params
    assert diff(edited) == [
        "--- asked",
        "+++ approved",
        "@@ -1,4 +1,4 @@",
        " {",
        '-  "amount": 5,',
        '+  "amount": 1,',
        '   "to": "ann"',
        " }",
    ]


@pytest.mark.parametrize(
    ("state", "on_deadline", "outcome"),
    [
        ("pending", "allow", None),
        ("approved", "deny", "let_through"),
        ("edited", "deny", "let_through"),
        ("denied", "allow", "refused"),
        ("expired", "deny", "refused"),
        ("expired", "allow", "let_through"),
        ("abandoned", "allow", "gone"),
    ],
)
def test_what_a_decision_means_for_the_call_is_said(
    state: str, on_deadline: str, outcome: str | None
) -> None:
    decided = approval(state=ApprovalState(state), on_deadline=OnDeadline(on_deadline))
    assert decided.outcome == outcome


def test_who_decided_is_kept_with_the_name_of_that_time_beside_the_policy_s_words() -> None:
    denied = move(approval(), Decision.DENY, at=LATER, by="tok_1", by_name="ops", reason="no")
    assert (denied.decided_by, denied.decided_by_name) == ("tok_1", "ops")
    assert (denied.reason, denied.rule_reason) == ("no", "money leaves by hand")
    with pytest.raises(Conflict, match=r"denied already by ops \(tok_1\) at .*: no") as raised:
        move(denied, Decision.APPROVE, at=LATER, by="tok_2")
    assert raised.value.details["decided_by_name"] == "ops"


@pytest.mark.parametrize(
    ("what", "on_deadline", "is_kept"),
    [
        (Decision.APPROVE, OnDeadline.DENY, True),
        (Decision.EXPIRE, OnDeadline.ALLOW, True),
        (Decision.EXPIRE, OnDeadline.DENY, False),
        (Decision.DENY, OnDeadline.DENY, False),
        (Decision.ABANDON, OnDeadline.ALLOW, False),
    ],
)
def test_what_came_to_nothing_keeps_no_long_parameters_but_their_digest(
    what: Decision, on_deadline: OnDeadline, *, is_kept: bool
) -> None:
    for size in (SHORT_BYTES, SHORT_BYTES + 1):
        asked = approval(params='"' + "x" * (size - 2) + '"', on_deadline=on_deadline)
        decided = move(asked, what, at=LATER, by="hub", reason="why")
        assert decided.params == (asked.params if is_kept or size == SHORT_BYTES else None)
        assert (decided.params_sha256, decided.params_bytes) == (asked.params_sha256, size)
        if decided.params is None:
            with pytest.raises(ValueError, match="are cut"):
                _ = decided.final_params


def test_what_is_cut_has_neither_parameters_nor_a_diff() -> None:
    edited = move(approval(), Decision.EDIT, at=LATER, by="tok_1", params=EDITED)
    assert cut(edited) is edited
    assert diff(replace(edited, params=None)) == []
    long = '"' + "é" * (SHORT_BYTES // 2) + '"'
    for one in (replace(edited, approved_params=long), replace(edited, params_bytes=SHORT_BYTES + 1)):
        assert cut(one) == replace(one, params=None, approved_params=None)


def test_what_nobody_edited_has_no_diff() -> None:
    assert diff(approval()) == []


def _edit(asked: object, approved: object) -> Approval:
    texts = [json.dumps(value, separators=(",", ":")) for value in (asked, approved)]
    return move(approval(params=texts[0]), Decision.EDIT, at=LATER, by="tok_1", params=texts[1])


def test_a_long_diff_is_cut_and_says_how_much_is_missing() -> None:
    lines = diff(_edit(list(range(300)), ["x" * 1000]))
    assert len(lines) == MAX_DIFF + 1
    assert lines[-1] == f"… and {3 + 302 + 1 - MAX_DIFF} lines more"
    assert max(map(len, diff(_edit([1], ["x" * 1000])))) == MAX_DIFF_LINE


@pytest.mark.parametrize(
    ("asked", "approved", "changed"),
    [
        ([0] * 5000, [0] * 2500 + [1] + [0] * 2499, ["@@ -2502,1 +2502,1 @@", "-  0,", "+  1,"]),
        ([0] * 5000, [0] * 5001, ["@@ -5002,0 +5002,1 @@", "+  0,"]),
        ([0] * 5000, [0] * 4999, ["@@ -5001,1 +5001,0 @@", "-  0,"]),
    ],
)
def test_large_parameters_are_compared_in_one_part(
    asked: object, approved: object, changed: list[str]
) -> None:
    lines = diff(_edit(asked, approved))
    assert lines[:2] == ["--- asked", "+++ approved"]
    assert sorted(lines[3:]) == sorted(changed[1:])


def test_comparing_what_a_guest_chose_to_be_hard_takes_no_time_to_speak_of() -> None:
    # Lines that come often, but never often enough to be left out by the usual way of comparing.
    asked = [number % 90 for number in range(40_000)]
    assert len(diff(_edit(asked, asked[::-1]))) == MAX_DIFF + 1


def test_approving_with_the_parameters_that_were_asked_for_is_no_edit() -> None:
    assert decision_of(approval(), approval().params) is Decision.APPROVE
    assert decision_of(approval(), None) is Decision.APPROVE
    assert decision_of(approval(), EDITED) is Decision.EDIT


@pytest.mark.parametrize("reason", [None, "", " \n "])
def test_a_denial_without_a_reason_is_refused(reason: str | None) -> None:
    with pytest.raises(BadRequest, match="needs a reason"):
        move(approval(), Decision.DENY, at=LATER, by="tok_1", reason=reason)


def test_a_reason_is_one_line_of_bounded_length() -> None:
    denied = move(approval(), Decision.DENY, at=LATER, by="tok_1", reason=" not\n today ")
    assert denied.reason == "not today"
    with pytest.raises(BadRequest, match=f"longer than {MAX_REASON}"):
        move(approval(), Decision.DENY, at=LATER, by="tok_1", reason="x" * (MAX_REASON + 1))


@pytest.mark.parametrize("what", [Decision.APPROVE, Decision.EDIT])
def test_parameters_come_with_an_edit_and_with_nothing_else(what: Decision) -> None:
    with pytest.raises(ValueError, match="params="):
        move(approval(), what, at=LATER, by="tok_1", params=None if what is Decision.EDIT else EDITED)


@given(st.lists(st.sampled_from(list(Decision)), min_size=2))
def test_the_first_decision_stands_and_everybody_after_it_learns_who_made_it(moves: list[Decision]) -> None:
    def decide(current: object, what: Decision, by: str) -> object:
        assert isinstance(current, type(approval()))
        params = EDITED if what is Decision.EDIT else None
        return move(current, what, at=LATER, by=by, reason="because", params=params)

    first = decide(approval(), moves[0], "tok_first")
    for what in moves[1:]:
        with pytest.raises(
            Conflict, match="already by tok_first at 2026-01-02 03:04:35 UTC: because"
        ) as late:
            decide(first, what, "tok_second")
        assert late.value.details["decided_by"] == "tok_first"
        assert late.value.details["state"] == str(TRANSITIONS[ApprovalState.PENDING, moves[0]])


def test_an_approval_decided_by_nobody_known_still_says_what_it_is() -> None:
    expired = approval(state=ApprovalState.EXPIRED)
    with pytest.raises(Conflict, match=r"is expired already$"):
        move(expired, Decision.APPROVE, at=LATER, by="tok_1")
