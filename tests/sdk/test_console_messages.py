"""What the hub says of consoles."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cloche.console_messages import ConsoleInfo, Viewer
from cloche.errors import InternalError

AT = "2026-01-02T03:04:05.678901Z"
THEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
VIEWER: dict[str, Any] = {
    "id": "v1", "token": "tok_1", "name": "ann", "mode": "driving", "rows": 30, "cols": 100, "since": AT,
}  # fmt: skip
CONSOLE: dict[str, Any] = {
    "id": "con_1", "sandbox": "sb_1", "sandbox_name": "box", "owner": "ann", "labels": {"a": "b"}, "name": "1",
    "kind": "pty", "command": ["vi", "x"], "user": "root", "rows": 24, "cols": 80, "title": "vi", "state": "ended",
    "created_at": AT, "created_by": "tok_1", "created_by_name": "ann", "ended_at": AT, "end_reason": "closed",
    "exit_code": 1, "signal": "HUP", "duration_s": 2.5, "recording": "rec_1", "viewers": [VIEWER], "driver": "v1",
}  # fmt: skip
OPTIONAL = (
    "command",
    "user",
    "ended_at",
    "end_reason",
    "exit_code",
    "signal",
    "duration_s",
    "recording",
    "driver",
)
ANN = Viewer("v1", "tok_1", "ann", "driving", 30, 100, THEN)


def test_a_console_is_read_field_by_field() -> None:
    assert ConsoleInfo.parse({**CONSOLE, "novelty": 1}) == ConsoleInfo(
        "con_1", "sb_1", "box", "ann", {"a": "b"}, "1", "pty", ("vi", "x"), "root", 24, 80, "vi", "ended",
        THEN, "tok_1", "ann", THEN, "closed", 1, "HUP", 2.5, "rec_1", (ANN,), "v1",
    )  # fmt: skip


def test_what_is_not_yet_is_none() -> None:
    young = ConsoleInfo.parse({key: value for key, value in CONSOLE.items() if key not in OPTIONAL})
    assert [getattr(young, name) for name in OPTIONAL] == [None] * len(OPTIONAL)


def test_it_says_whether_its_program_still_runs() -> None:
    info = ConsoleInfo.parse(CONSOLE)
    assert (info.is_open, replace(info, state="open").is_open) == (False, True)


@pytest.mark.parametrize("key", sorted(CONSOLE))
def test_a_field_of_another_type_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=key):
        ConsoleInfo.parse({**CONSOLE, key: b"x"})


@pytest.mark.parametrize("key", sorted(VIEWER))
def test_a_viewer_s_field_that_is_missing_is_named(key: str) -> None:
    with pytest.raises(InternalError, match=f"viewer has {key}"):
        ConsoleInfo.parse({**CONSOLE, "viewers": [{**VIEWER, key: None}]})
