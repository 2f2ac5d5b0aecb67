"""`cloche tui`: the dashboard is started as it was asked for, or it is said why not."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import cloche_tui.serve.server
import cloche_tui.start
from cloche.cli.main import run_command
from cloche_tui.actions import VIEWS
from cloche_tui.start import Start


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was started, instead of the dashboard itself."""
    starts: list[Any] = []

    def start_dashboard(start: Start) -> int:
        starts.append(start)
        return 0

    def serve_dashboard(start: Start, *, port: int) -> int:
        starts.append((start, port))
        return 0

    monkeypatch.setattr(cloche_tui.start, "start_dashboard", start_dashboard)
    monkeypatch.setattr(cloche_tui.serve.server, "serve_dashboard", serve_dashboard)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    return starts


def test_it_is_started_as_it_was_asked_for(started: list[Any]) -> None:
    assert run_command(["tui", "box/1", "--readonly", "--view", "approvals", "--no-mouse", "--no-bell"]) == 0
    assert started == [Start("box/1", "approvals", is_readonly=True, has_mouse=False, has_bell=False)]


def test_its_help_names_every_view_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["tui", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{', '.join(VIEWS[:-1])} or {VIEWS[-1]}." in said


def test_in_a_browser_it_takes_a_port(started: list[Any]) -> None:
    assert run_command(["tui", "--serve", "--port", "8123"]) == 0
    assert started == [(Start(), 8123)]


def test_without_a_terminal_it_says_what_to_use_instead(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert run_command(["tui"]) == 125
    assert capsys.readouterr().err == (
        "cloche: the dashboard needs a terminal; without one use: cloche ls, cloche approvals watch\n"
    )
    assert started == []


def test_where_it_is_not_installed_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cloche_tui.start", None)
    assert run_command(["tui"]) == 125
    assert "pip install 'cloche[tui]'" in capsys.readouterr().err
