"""What the hub says of its policy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.policy_messages import PolicyChecked, PolicyInfo

SHOWN: dict[str, Any] = {
    "source": "/var/lib/cloche/policy.toml",
    "text": 'default = "ask"\n',
    "digest": "ab" * 32,
    "loaded_at": "2026-01-02T03:04:05.678901Z",
    "rules": 0,
    "error": None,
}


def test_a_policy_in_force_is_parsed_and_what_is_newer_ignored() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    info = PolicyInfo.parse({**SHOWN, "novelty": 1})
    assert info == PolicyInfo(SHOWN["source"], SHOWN["text"], SHOWN["digest"], at, 0, None)
    assert PolicyInfo.parse({**SHOWN, "error": "wrong"}).error == "wrong"


def test_a_check_has_as_much_as_was_asked_for() -> None:
    bare = PolicyChecked.parse({"rules": 2, "problems": []})
    assert bare == PolicyChecked(2, (), None, None, None, None, None)
    assert bare.ok
    asked = {"verdict": "ask", "rule": "r", "reason": "", "deadline_s": 60, "on_deadline": "deny"}
    assert PolicyChecked.parse({"rules": 1, "problems": [], **asked}) == PolicyChecked(
        1, (), "ask", "r", "", 60.0, "deny"
    )
    assert not PolicyChecked.parse({"rules": 0, "problems": ["x"]}).ok


@pytest.mark.parametrize("field", ["source", "text", "digest", "loaded_at", "rules"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    with pytest.raises(InternalError, match=f"policy has {field}"):
        PolicyInfo.parse({**SHOWN, field: None})
