"""Our terminal taken and given back, as a process of its own, whatever it does meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import termios
from typing import Any

import pytest

from cloche.cli.viewing.last_line import LINE_S
from tests.sdk.cli.conftest import Cloche
from tests.support.local_console import LocalConsole
from tests.support.local_hub import LocalHub
from tests.support.terminal import cloche_in_terminal, shell_in_terminal


@pytest.fixture(autouse=True)
async def _box(hub: LocalHub, cloche: Cloche) -> None:
    await cloche("create", "--name", "box")


async def test_a_line_of_ours_goes_after_a_moment_and_what_was_below_is_back() -> None:
    assert LINE_S == 3.0
    fill = "for number in $(seq 29); do echo row $number; done; printf last; cat"
    async with shell_in_terminal("box", "--", "sh", "-c", fill) as terminal:
        await terminal.until(lambda: terminal.screen.endswith("row 29\nlast"))
        terminal.type(b"\x1dg")
        await terminal.until(lambda: terminal.screen.endswith("leaves"))
        assert terminal.screen.startswith("row 1\n")
        await terminal.until(lambda: terminal.screen.endswith("row 29\nlast"))
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0


async def test_who_was_stopped_and_goes_on_sees_the_screen_again() -> None:
    async with shell_in_terminal("box", "--", "sh", "-c", "echo ready; cat") as terminal:
        await terminal.has_on_screen("ready")
        os.kill(terminal.process.pid, signal.SIGSTOP)
        settings = termios.tcgetattr(terminal.ours)
        settings[3] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(terminal.ours, termios.TCSANOW, settings)
        count = terminal.seen.count(b"ready")
        os.kill(terminal.process.pid, signal.SIGCONT)
        await terminal.until(lambda: terminal.seen.count(b"ready") > count)
        assert not termios.tcgetattr(terminal.ours)[3] & termios.ECHO
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0


async def test_a_terminal_that_takes_nothing_keeps_nobody_and_a_second_signal_ends_at_once() -> None:
    async with shell_in_terminal("box", "--", "yes") as terminal:
        await terminal.has_on_screen("y\ny")
        for _ in range(2):
            # Nobody reads what it writes from here on.
            os.kill(terminal.process.pid, signal.SIGTERM)
        assert await terminal.process.wait() == 128 + signal.SIGTERM
        assert termios.tcgetattr(terminal.ours)[3] & termios.ECHO


async def test_an_update_that_is_never_whole_does_not_keep_the_terminal_from_showing() -> None:
    async with shell_in_terminal(
        "box", "--", "sh", "-c", "echo ready; read x; printf '\\033[?2026hheld'; cat"
    ) as terminal:
        await terminal.has_on_screen("ready")
        terminal.type(b"\r")
        await terminal.shows(b"\x1b[?2026hheld")
        begun = len(terminal.seen)
        await terminal.until(lambda: b"\x1b[?2026l" in terminal.seen[begun:])
        terminal.type(b"\x1d")
        assert await terminal.ends() == 0


async def test_a_flood_that_is_emulated_too_slowly_is_left_out_and_the_screen_told_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refreshed: list[str] = []
    obey = LocalConsole.obey

    def watched(console: LocalConsole, viewer: str, message: Any) -> None:
        if message == {"refresh": True} and viewer != console.state.driver:
            refreshed.append(viewer)
        obey(console, viewer, message)

    monkeypatch.setattr(LocalConsole, "obey", watched)
    # Few bytes that are much work: each erases a whole screen.
    flood = "import sys; print('ready', flush=True); input(); print('\\x1b[2J' * 200_000 + '\\x1b[Hdone'); input()"
    async with shell_in_terminal("box", "--", sys.executable, "-c", flood) as driver:
        await driver.has_on_screen("ready")
        async with cloche_in_terminal("attach", "box", "--watch", rows=10, cols=40) as terminal:
            await terminal.has_on_screen("ready", "q leaves")
            driver.type(b"\r")
            await driver.has_on_screen("done")
            await terminal.has_on_screen("done", "q leaves")
            assert refreshed
            terminal.type(b"q")
            assert await terminal.ends() == 0
        driver.type(b"\x1d")
        assert await driver.ends() == 0
