"""What each screen looks like, in three sizes. `pytest tests/tui/test_snapshots.py --snapshot-update` takes them anew.

Rule: whoever takes them anew looks at them. What a screen does is tested elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from cloche_tui.model.link import Lost
from cloche_tui.views.approvals import ApprovalsView
from tests.support.hub import BOUND_S
from tests.tui.still_world import still_dashboard
from tests.tui.support import NOW, screen_text

Compare = Callable[..., bool]
Act = Callable[[Pilot[Any]], Awaitable[None]]
SIZES = [(80, 24), (120, 40), (200, 60)]
LOST = Lost(
    NOW - timedelta(seconds=75), "no hub answers", NOW - timedelta(seconds=80), 4, NOW + timedelta(seconds=3)
)
MORE: dict[str, dict[str, Any]] = {
    "nothing": {"sandboxes": (), "approvals": ()},
    "nothing-waits": {"approvals": (), "view": "approvals"},
    "approvals": {"view": "approvals"},
    "deny": {"view": "approvals"},
    "edit": {"view": "approvals"},
    "lost": {"state": LOST},
    "light": {"theme": "cloche-light"},
    "mono": {"theme": "cloche-mono"},
    "audit": {"view": "audit"},
}
"""Where a screen begins elsewhere than at the table of sandboxes."""


async def _until(pilot: Pilot[Any], *wanted: str) -> None:
    try:
        async with asyncio.timeout(BOUND_S):
            while not all(text in screen_text(pilot.app) for text in wanted):
                await pilot.pause(0.01)
    except TimeoutError:
        pytest.fail(f"{wanted} is not shown:\n{screen_text(pilot.app)}")


def _after(*wanted: str, keys: tuple[str, ...] = (), then: tuple[str, ...] = ()) -> Act:
    """Waits for what is wanted, presses the keys, and waits for what comes of it."""

    async def act(pilot: Pilot[Any]) -> None:
        await _until(pilot, *wanted)
        # Keys that decide count at once: nothing else is typed here.
        pilot.app.query_one(ApprovalsView)._clock = lambda: time.monotonic() + 3600
        await pilot.press(*keys)
        await _until(pilot, *then)

    return act


def _both(first: Act, then: Act) -> Act:
    async def act(pilot: Pilot[Any]) -> None:
        await first(pilot)
        await then(pilot)

    return act


SCREENS: dict[str, Act] = {
    "sandboxes": _after("pr-4127", keys=("j",), then=("sb_crawler",)),
    "light": _after("pr-4127", then=("sb_agent-7",)),
    "mono": _after("pr-4127", then=("sb_agent-7",)),
    "nothing": _after("There are no sandboxes."),
    "create": _after("pr-4127", keys=("n",), then=("A new sandbox", "ready: python")),
    "destroy": _after("pr-4127", keys=("j", "space", "space", "ctrl+d"), then=("Destroy 2 sandboxes?",)),
    "console": _after("pr-4127", keys=("enter",), then=("watching", "notes.txt")),
    "driving": _both(
        _after("pr-4127", keys=("enter",), then=("watching", "notes.txt")),
        _after("watching", keys=("enter",), then=("DRIVING", "every other key is the console's")),
    ),
    "help": _after("pr-4127", keys=("?",), then=("What can be done here",)),
    "lost": _after("pr-4127", "connection lost"),
    "approvals": _after("pay.send", then=("Blue Harbor",)),
    "nothing-waits": _after("Nothing waits for a decision."),
    "deny": _after("pay.send", keys=("d",), then=("Deny this call",)),
    "edit": _after("pay.send", keys=("e",), then=("Edit this call",)),
    "audit": _after("32 events", "console.opened", keys=("k", "enter"), then=("follows",)),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", list(SCREENS))
def test_a_screen_looks_as_it_did(
    screen: str, size: tuple[int, int], snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    async def act(pilot: Pilot[Any]) -> None:
        await SCREENS[screen](pilot)
        for field in (*pilot.app.screen.query(Input), *pilot.app.screen.query(TextArea)):
            field.cursor_blink = False
        await pilot.pause()

    app = still_dashboard(tmp_path, monkeypatch, **MORE.get(screen, {}))
    assert snap_compare(app, terminal_size=size, run_before=act)
