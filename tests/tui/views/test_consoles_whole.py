"""Consoles in the whole dashboard: opened, driven and left by keys, while none of these means anything else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_tui.frame import Options
from cloche_tui.widgets import pane_clipboard
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.feed.console_links import shell
from tests.tui.model.test_clipboard import osc52
from tests.tui.whole import GUARD_S, Whole, whole_dashboard

WAY_OUT = "ctrl+right_square_bracket"


async def _drive(desk: Whole) -> None:
    """Opens the console of the sandbox that is selected, and drives it."""
    await desk.press("enter")
    await desk.until("○ watching", "nobody drives: enter drives")
    await desk.press("enter")
    await desk.until("▶ DRIVING", "ctrl+] leaves")
    await desk.until_so(lambda: desk.app.query_one(TerminalView).terminal, "no terminal")


async def test_a_console_is_opened_driven_and_left_and_the_list_is_there_again(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",), size=(160, 40)) as desk:
        await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 2, "no console is known")
        await _drive(desk)
        # Keys of the dashboard, all of them: quit, other views, help, destroy, close.
        await desk.press(*"q123?:/x")
        await desk.until("q123?:/x")
        assert desk.app.chosen().is_driving
        await desk.press(WAY_OUT)
        await desk.until("○ watching", "nobody drives")
        await desk.press("escape")
        await desk.until_so(lambda: not desk.app.consoles.has_focus_within, "the list has not the focus")
        assert "● running" in desk.text


async def test_a_console_over_the_whole_screen_gives_it_back(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",), size=(80, 24)) as desk:
        await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 2, "no console is known")
        await desk.press("enter")
        await desk.until("○ watching")
        await desk.press("f")
        await desk.until_gone("● running")
        await desk.press("escape")
        await desk.until("● running", "○ watching")


async def test_a_sandbox_without_a_console_gets_a_shell(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",), size=(160, 40)) as desk:
        await desk.press("c")
        await desk.until("▶ DRIVING", "box/1")
        await desk.until_so(lambda: desk.app.query_one(TerminalView).terminal, "no terminal")
        await desk.press(*"hello")
        await desk.until("hello")


async def test_one_of_several_consoles_is_ended_from_the_list_by_its_name(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",)) as desk:
        await shell(desk.client)
        await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 3, "not all consoles are known")
        await desk.press("X")
        await desk.until(":close-console box/", "box/1  box/2")
        await desk.press("2", "enter")
        await desk.until("End box/2?", "a shell and all it runs here end.")
        await asyncio.sleep(GUARD_S)
        await desk.press("y")
        await desk.until("box/2 ended")


async def test_who_only_looks_on_watches(tmp_path: Path) -> None:
    async with whole_dashboard(
        tmp_path, sandboxes=("box",), size=(160, 40), options=Options(is_readonly=True)
    ) as desk:
        await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 2, "no console is known")
        await desk.press("enter")
        await desk.until("○ watching", "nobody drives ·")
        await desk.press("enter")
        await desk.until("started with --readonly")
        assert not desk.app.chosen().is_driving


async def test_a_hub_that_is_lost_leaves_the_keys_where_they_were(tmp_path: Path) -> None:
    async with whole_dashboard(tmp_path, sandboxes=("box",), size=(160, 40)) as desk:
        await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 2, "no console is known")
        await _drive(desk)
        await desk.hub.end()
        await desk.until("✗ NOT CONNECTED", "connection lost", "no keys until the hub is back")
        await desk.press("q")
        await desk.until("not connected: what you type goes nowhere")
        await desk.press(WAY_OUT, "escape")
        await desk.until_so(lambda: not desk.app.consoles.has_focus_within, "the list has not the focus")


async def test_a_dashboard_that_changes_nothing_copies_what_a_program_wants_copied_by_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_clipboard, "READ_S", 0.0)
    async with whole_dashboard(
        tmp_path, sandboxes=("box",), size=(200, 40), options=Options(is_readonly=True)
    ) as desk:
        info = await shell(desk.client)
        await desk.until_so(lambda: len(desk.app.world.consoles) == 2, "no console is known")
        await desk.press("enter")
        await desk.until("○ watching")
        async with (await desk.client.sandbox("box")).attach(info.id) as other:
            await other.write(osc52("curl example.org"))
            await desk.until("wants to copy 16 characters", "Y lets it (curl example.org)")
            await desk.press("Y")
            await desk.until("copied 16 characters of box/1: curl example.org")
            assert desk.app.clipboard == "curl example.org"
