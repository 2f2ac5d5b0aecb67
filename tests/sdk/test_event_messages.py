"""What a hub tells of what changes, as typed values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.approval_messages import ApprovalInfo
from cloche.console_messages import ConsoleInfo
from cloche.errors import InternalError
from cloche.event_messages import Event, Usage
from cloche.messages import SandboxInfo
from tests.sdk.test_console_messages import CONSOLE
from tests.support.local_callbacks import LocalApprovals

AT = "2026-01-02T03:04:05.678901Z"
SANDBOX: dict[str, Any] = {
    "id": "sb_1", "name": "box", "owner": "ann", "recipe": "python", "image": None, "flavor": "small", "labels": {},
    "env_names": [], "state": "running", "accelerator": "tcg", "created_at": AT, "lease_s": 60.0, "expires_at": AT,
    "ended_at": None, "end_reason": None, "timings": {},
}  # fmt: skip
USAGE: dict[str, Any] = {
    "sandbox": "sb_1", "at": AT, "cpu_s": 1.5, "cpu_percent": None, "memory_pss_bytes": 60 << 20, "disk_bytes": 1 << 20,
}  # fmt: skip


def told(topic: str, value: Any, change: str = "changed") -> dict[str, Any]:
    return {"topic": topic, "change": change, "value": value}


def test_each_topic_has_values_of_its_own() -> None:
    assert Event.parse(told("sandbox", SANDBOX)).value == SandboxInfo.parse(SANDBOX)
    assert Event.parse(told("console", CONSOLE)).value == ConsoleInfo.parse(CONSOLE)
    approval = LocalApprovals().ask("pay.send", {"amount": 3})
    assert Event.parse(told("approval", approval)).value == ApprovalInfo.parse(approval)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    usage = Usage("sb_1", moment, 1.5, None, 60 << 20, 1 << 20)
    assert Event.parse(told("usage", USAGE, "current")) == Event("usage", "current", usage)
    assert Usage.parse({**USAGE, "cpu_percent": 50}).cpu_percent == 50.0


def test_the_end_of_the_current_state_has_no_value() -> None:
    assert Event.parse({"topic": "current_end"}) == Event("current_end", None, None)


def test_a_topic_of_a_newer_hub_is_told_without_its_value() -> None:
    assert Event.parse(told("weather", {"rain": True})) == Event("weather", "changed", None)


@pytest.mark.parametrize("odd", [{}, {"topic": "sandbox"}, told("usage", {}), told("sandbox", None)])
def test_what_is_odd_is_an_error_that_says_so(odd: Any) -> None:
    with pytest.raises(InternalError, match="is not understood"):
        Event.parse(odd)
