"""A dashboard in front of a hub that stands still: its clock, its ids and all it tells are the same in every run.

    app = still_dashboard(tmp_path, monkeypatch, sandboxes=SANDBOXES, approvals=APPROVALS)
    async with app.run_test(size=(80, 24)) as pilot: ...

Rule: nothing here waits for a time, and nothing comes by itself but what is told when it begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from cloche import ApprovalInfo, AuditEvent, ConsoleInfo, Event, HubStatus, SandboxInfo
from cloche.audit_search import AuditPage, AuditPart
from cloche.console_events import Live, Output, ScreenBegins, Viewers
from cloche.console_messages import Viewer
from cloche.messages import ImageInfo
from cloche_tui.actions import ACTIONS
from cloche_tui.app import DashboardApp
from cloche_tui.frame import Options
from cloche_tui.keymap import read_keymap
from cloche_tui.messages import Begun, EventsArrived, LinkChanged
from cloche_tui.model.link import LinkState, Up
from cloche_tui.remembered import Remembered
from cloche_tui.themes import dress
from tests.support.approvals import apr
from tests.tui.consoles import console
from tests.tui.sandbox_values import is_now, sandbox, usage
from tests.tui.support import NOW
from tests.tui.trail_values import event

_STATUS = HubStatus("0.1.0", 1, "unix:///run/cloche/hub.sock", "tcg", "there is no /dev/kvm", 4, NOW)
UP = Up(NOW, "unix:///run/cloche/hub.sock", _STATUS)

SANDBOXES: Sequence[SandboxInfo] = (
    sandbox("agent-7", owner="ben", recipe="tools", labels={"team": "agents"}, accelerator="kvm"),
    sandbox("crawler", labels={"team": "search"}, created_at=NOW - timedelta(hours=2, minutes=14)),
    sandbox("invoices", labels={"team": "billing", "run": "nightly"}, expires_at=NOW + timedelta(seconds=50)),
    sandbox("pr-4127", owner="ci", state="failed", end_reason="the machine ended by itself", flavor="large"),
)
CONSOLES: Sequence[ConsoleInfo] = tuple(
    console(number, sandbox=one.id, sandbox_name=one.name, owner=one.owner, labels=one.labels, name="shell")
    for number, one in enumerate(SANDBOXES[:3], 1)
)
APPROVALS: Sequence[ApprovalInfo] = (
    apr(
        1,
        sandbox="sb_invoices",
        sandbox_name="invoices",
        owner="ann",
        params={
            "amount": 3120.0,
            "to": {"country": "DE", "name": "Blue Harbor"},
            "scan": "JVBERi0xLjcK" * 400,
        },
        deadline_s=48,
    ),
    apr(2, sandbox="sb_agent-7", sandbox_name="agent-7", owner="ben", method="mail.send", deadline_s=1500),
)
TRAIL: Sequence[AuditEvent] = tuple(
    event(number, name, sandbox="sb_crawler", exec=f"ex_{number}")
    for number, name in enumerate(("sandbox.created", "exec.started", "exec.failed", "console.opened") * 8, 1)
)
_SCREEN = (
    b"\x1b[1mtotal 3\x1b[0m\r\n"
    b"drwxr-xr-x 2 user user 4096 \x1b[34mdocs\x1b[0m\r\n"
    b"-rwxr-xr-x 1 user user  212 \x1b[32mrun.sh\x1b[0m\r\n"
    b"-rw-r--r-- 1 user user 1718 notes.txt\r\n"
    b"$ "
)


class _StillTime(datetime):
    """A clock that always says the same."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        return NOW.astimezone(tz) if tz is not None else NOW.astimezone(UTC)


class _StillConsole:
    """A console that has shown something, and waits; whoever wants to drive it may."""

    def __init__(self, info: ConsoleInfo) -> None:
        self._us = Viewer("v1", "tok_1", "ann", "watching", info.rows, info.cols, NOW)
        self.info, self.id, self.viewer, self.is_driving = (
            replace(info, viewers=(self._us,)),
            info.id,
            "v1",
            False,
        )
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        for one in (
            ScreenBegins(info.rows, info.cols, 0),
            Viewers((self._us,), None),
            Output(_SCREEN),
            Live(0),
        ):
            self._news.put_nowait(one)

    async def events(self) -> AsyncIterator[Any]:
        while True:
            yield await self._news.get()

    async def take(self) -> None:
        driver = replace(self._us, mode="driving")
        self.info, self.is_driving = replace(self.info, viewers=(driver,), driver="v1"), True
        self._news.put_nowait(Viewers((driver,), "v1"))

    async def ask(self) -> None:
        await self.take()

    async def resize(self, rows: int, cols: int) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


class _StillHub:
    """As much of a hub as views ask for."""

    async def images(self) -> list[ImageInfo]:
        return [
            ImageInfo("ab" * 32, name, "x86_64", "cd" * 32, 1 << 27, NOW, True)
            for name in ("python", "tools")
        ]

    async def sandbox(self, reference: str) -> Any:
        info = next(one for one in CONSOLES if one.sandbox == reference)

        async def attach(_console: str, **_: Any) -> _StillConsole:
            return _StillConsole(info)

        return SimpleNamespace(id=reference, attach=attach)

    async def search_audit(self, _wanted: object, *, follow: bool) -> AsyncIterator[AuditPart]:
        assert follow
        yield AuditPart(1, len(TRAIL), range(1, len(TRAIL) + 1), len(TRAIL))
        await asyncio.Event().wait()

    async def read_audit(self, numbers: Sequence[int]) -> AuditPage:
        names = {"tok_1": "ann", "sb_crawler": "crawler"}
        return AuditPage([TRAIL[number - 1] for number in numbers], names)


class _StillSession:
    """A connection on which everything has been told."""

    def __init__(self, app: DashboardApp, state: LinkState, told: Sequence[Event]) -> None:
        self._app, self.state, self._told = app, state, told
        self.hub = _StillHub()

    @property
    def is_up(self) -> bool:
        return isinstance(self.state, Up)

    async def wait_hub(self) -> _StillHub:
        return self.hub

    def try_now(self) -> None: ...

    async def run(self) -> None:
        self._app.post_message(LinkChanged(UP))
        self._app.post_message(Begun())
        self._app.post_message(EventsArrived((*self._told, Event("current_end", "current", None))))
        self._app.post_message(LinkChanged(self.state))
        await asyncio.Event().wait()


def still_dashboard(
    folder: Path,
    patch: pytest.MonkeyPatch,
    *,
    sandboxes: Sequence[SandboxInfo] = SANDBOXES,
    approvals: Sequence[ApprovalInfo] = APPROVALS,
    state: LinkState = UP,
    view: str = "sandboxes",
    theme: str = "",
) -> DashboardApp:
    """The dashboard, ready to run."""
    patch.setattr("cloche_tui.app.datetime", _StillTime)
    patch.setattr("cloche_tui.views.audit.datetime", _StillTime)
    told: list[Event] = [is_now(one) for one in sandboxes]
    for number, one in enumerate(sandboxes):
        told += [
            is_now(
                usage(
                    one.id, number * 17.0 + at, (60 + 20 * number) << 20, at=NOW - timedelta(seconds=8 - at)
                )
            )
            for at in range(9)
        ]
    if sandboxes:
        told += [Event("console", "current", one) for one in CONSOLES]
    told += [Event("approval", "current", one) for one in approvals]
    app = DashboardApp(
        lambda _on_link: pytest.fail("nobody connects"),
        Remembered(folder / "remembered.json"),
        read_keymap("", ACTIONS).keys,
        Options(view=view, has_bell=False),
    )
    app.session = _StillSession(app, state, told)  # type: ignore[assignment]
    app.animation_level = "none"
    environ = {"COLORTERM": "truecolor"}
    dress(app, app.theme_folder, environ, wanted=theme, remembered="")
    return app
