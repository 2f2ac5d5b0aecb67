"""Sandboxes, what they cost and what is told of them, as tests of the dashboard want them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cloche import Event, SandboxInfo, Usage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

_BOX = SandboxInfo(
    id="sb_box",
    name="box",
    owner="ann",
    recipe="python",
    image="ab" * 32,
    flavor="small",
    labels={},
    env_names=(),
    state="running",
    accelerator="tcg",
    created_at=NOW - timedelta(minutes=3),
    lease_s=3600.0,
    expires_at=NOW + timedelta(hours=1),
    ended_at=None,
    end_reason=None,
    timings={"clone": 0.09},
)


def sandbox(name: str = "box", **changes: Any) -> SandboxInfo:
    """A sandbox that runs; its id is `sb_` and its name."""
    return replace(_BOX, **({"id": f"sb_{name}", "name": name} | changes))


def usage(
    of: str = "sb_box", cpu: float | None = 10.0, memory: int = 64 << 20, *, at: datetime = NOW
) -> Usage:
    """What a sandbox costs."""
    return Usage(of, at, 1.0, cpu, memory, 1 << 20)


def is_now(value: SandboxInfo | Usage) -> Event:
    """The event that tells what there is when a subscription begins."""
    return Event(_topic(value), "current", value)


def has_changed(value: SandboxInfo | Usage) -> Event:
    """The event of a change."""
    return Event(_topic(value), "changed", value)


def is_gone(value: SandboxInfo) -> Event:
    """The event of an end."""
    return Event("sandbox", "gone", value)


def _topic(value: SandboxInfo | Usage) -> str:
    return "usage" if isinstance(value, Usage) else "sandbox"
