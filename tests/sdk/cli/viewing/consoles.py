"""A console and two people, for tests."""

from __future__ import annotations

from datetime import UTC, datetime

from cloche.console_messages import ConsoleInfo, Viewer

_THEN = datetime(2026, 1, 2, tzinfo=UTC)
ANN = Viewer("v1", "tok_ann", "ann", "driving", 24, 80, _THEN)
BOB = Viewer("v2", "tok_bob", "bob", "watching", 24, 80, _THEN)
CONSOLE = ConsoleInfo.parse(
    {
        "id": "con_1",
        "sandbox": "sb_1",
        "sandbox_name": "box",
        "owner": "ann",
        "labels": {},
        "name": "1",
        "kind": "pty",
        "command": None,
        "user": None,
        "rows": 24,
        "cols": 80,
        "title": "",
        "state": "open",
        "created_at": "2026-01-02T03:04:05Z",
        "created_by": "tok_ann",
        "created_by_name": "ann",
        "ended_at": None,
        "end_reason": None,
        "exit_code": None,
        "signal": None,
        "duration_s": None,
        "recording": None,
        "viewers": [
            {
                "id": one.id,
                "token": one.token,
                "name": one.name,
                "mode": one.mode,
                "rows": one.rows,
                "cols": one.cols,
                "since": "2026-01-02T03:04:05Z",
            }
            for one in (ANN, BOB)
        ],
        "driver": "v1",
    }
)
