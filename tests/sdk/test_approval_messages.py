"""What the hub says of approvals."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest

from cloche.approval_messages import ApprovalInfo
from cloche.errors import InternalError
from tests.support.local_callbacks import LocalApprovals

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def test_a_pending_approval_is_parsed_and_what_is_newer_ignored() -> None:
    said = LocalApprovals().ask("pay.send", {"amount": 3}, novelty=1)
    info = ApprovalInfo.parse(said)
    assert info == ApprovalInfo(
        id="apr_0001",
        sandbox="sb_0001",
        sandbox_name="box",
        owner="alice",
        labels={"team": "ml"},
        callback="cb_1",
        method="pay.send",
        params={"amount": 3},
        caller={"pid": 7, "uid": 1000, "program": "python3"},
        rule="by hand",
        state="pending",
        created_at=AT,
        deadline_at=AT.replace(year=2999, microsecond=678901),
        on_deadline="deny",
        decided_at=None,
        decided_by=None,
        reason=None,
        approved_params=None,
        diff=(),
        params_bytes=13,
        params_sha256=hashlib.sha256(b'{"amount": 3}').hexdigest(),
        has_params=True,
    )
    assert info.is_pending


def test_parameters_that_are_cut_are_no_json_null() -> None:
    said = LocalApprovals().ask()
    assert ApprovalInfo.parse(said).has_params
    cut = ApprovalInfo.parse({**said, "params": None, "params_bytes": 5000})
    assert (cut.params, cut.has_params, cut.params_bytes) == (None, False, 5000)


def test_an_edited_one_has_what_was_approved_and_what_changed() -> None:
    said = LocalApprovals().ask(state="edited", approved_params='{"amount":2}', diff=["-a", "+b"])
    info = ApprovalInfo.parse({**said, "decided_at": said["created_at"], "decided_by": "tok_1"})
    assert (info.approved_params, info.diff, info.decided_at) == ({"amount": 2}, ("-a", "+b"), AT)
    assert not info.is_pending


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", None),
        ("params", {"amount": 3}),
        ("params", "{"),
        ("deadline_at", "soon"),
        ("caller", {"pid": []}),
    ],
)
def test_a_field_that_is_odd_is_named(field: str, value: object) -> None:
    with pytest.raises(InternalError, match=f"approval has (a )?{field}"):
        ApprovalInfo.parse({**LocalApprovals().ask(), field: value})


def test_what_it_came_to_and_who_decided_why_are_there_where_the_hub_says() -> None:
    said = LocalApprovals().ask(outcome="refused", rule_reason="see", decided_by_name="op")
    info = ApprovalInfo.parse(said)
    assert (info.outcome, info.rule_reason, info.decided_by_name) == ("refused", "see", "op")
    info = ApprovalInfo.parse({**said, "outcome": None, "rule_reason": None, "decided_by_name": None})
    assert (info.outcome, info.rule_reason, info.decided_by_name) == (None, None, None)
