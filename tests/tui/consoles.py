"""Consoles and viewers as the hub tells of them, with what a test does not care about filled in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cloche import ConsoleInfo
from cloche.console_messages import Viewer

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

_PLAIN = ConsoleInfo(
    id="con_1", sandbox="sb_1", sandbox_name="box", owner="admin", labels={}, name="1", kind="pty", command=None,
    user=None, rows=24, cols=80, title="", state="open", created_at=BEGAN, created_by="tok_1", created_by_name="admin",
    ended_at=None, end_reason=None, exit_code=None, signal=None, duration_s=None, recording=None, viewers=(),
    driver=None,
)  # fmt: skip


def console(number: int = 1, **changes: Any) -> ConsoleInfo:
    """The console of a number; the higher, the newer."""
    known = {"id": f"con_{number}", "name": str(number), "created_at": BEGAN + timedelta(seconds=number)}
    return replace(_PLAIN, **{**known, **changes})


def boot(number: int = 0, **changes: Any) -> ConsoleInfo:
    """A machine's own console."""
    return console(number, name="boot", kind="boot", **changes)


def viewer(number: int = 1, name: str = "ann", *, since: datetime = BEGAN) -> Viewer:
    """The viewer `v` of a number."""
    return Viewer(f"v{number}", f"tok_{name}", name, "watching", 24, 80, since)
