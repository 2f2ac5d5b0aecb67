"""An approval as plain values."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from cloche_hub.domain.approval import Decision, cut, move
from cloche_hub.domain.approval_fields import approval_fields, approval_json
from tests.hub.domain.examples import MOMENT, approval


def test_a_pending_approval_has_everything_but_a_decision() -> None:
    assert approval_fields(approval()) == {
        "id": "apr_2c9m4x7qk1tz",
        "sandbox": "sb_7k2m9qx4tn0c",
        "sandbox_name": "mossy-acorn",
        "owner": "admin",
        "labels": {"team": "ml"},
        "callback": "cb_1",
        "method": "pay.transfer",
        "params": '{"amount":5,"to":"ann"}',
        "params_sha256": hashlib.sha256(b'{"amount":5,"to":"ann"}').hexdigest(),
        "params_bytes": 23,
        "caller": {"pid": 7, "program": "python3", "uid": 1000},
        "rule": "payments",
        "rule_reason": "money leaves by hand",
        "state": "pending",
        "outcome": None,
        "created_at": "2026-01-02T03:04:05.678901Z",
        "deadline_at": "2026-01-02T03:09:05.678901Z",
        "on_deadline": "deny",
        "decided_at": None,
        "decided_by": None,
        "decided_by_name": None,
        "reason": None,
    }


def test_an_edited_one_has_what_was_made_of_it_and_how_that_differs() -> None:
    later = MOMENT + timedelta(seconds=1)
    edited = approval_fields(
        move(approval(), Decision.EDIT, at=later, by="tok_1", by_name="ops", params='{"amount":1}')
    )
    assert (edited["state"], edited["decided_by"]) == ("edited", "tok_1")
    assert (edited["decided_by_name"], edited["outcome"]) == ("ops", "let_through")
    assert edited["decided_at"] == "2026-01-02T03:04:06.678901Z"
    assert edited["approved_params"] == '{"amount":1}'
    assert '+  "amount": 1' in edited["diff"]


def test_as_json_it_is_one_line_with_the_parameters_as_values() -> None:
    asked = approval(params='{"note":"two\\nlines, é"}')
    line = approval_json(move(asked, Decision.EDIT, at=MOMENT, by="tok_1", params="[1.0,2]"))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["params"], told["approved_params"]) == ({"note": "two\nlines, é"}, [1.0, 2])
    assert told["id"] == asked.id
    assert "approved_params" not in json.loads(approval_json(asked))
    assert json.loads(approval_json(cut(asked, longer_than=0)))["params"] is None
