"""What a program wants on the person's clipboard, as a pane tells of it and lets it."""

from __future__ import annotations

import pytest

from cloche import ConsoleInfo
from cloche_tui.model import clipboard
from cloche_tui.widgets import pane_clipboard
from cloche_tui.widgets.terminal_view import TerminalView
from tests.support.hub import until
from tests.tui.model.test_clipboard import osc52
from tests.tui.widgets.pane_bench import WAY_OUT, PaneBench


async def test_what_a_program_asked_to_copy_while_nobody_saw_it_is_told_later(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard, "WAITS_S", 0.2)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        pane.display = False
        await until(lambda: not pane.view.is_seen)
        async with (await bench.client.sandbox("box")).attach(info.id) as other:
            await other.write(osc52("hello"))
            await until(lambda: pane.status.copying is not None)
            pane.look_after()
            await until(lambda: pane.status.copying is None)
        pane.display = True
        await until(lambda: pane.view.is_seen)
        pane.look_after()
        await bench.until_seen("not copied: while this was hidden its program asked to copy 5 characters")


async def test_a_link_that_was_copied_is_told(bench: PaneBench, info: ConsoleInfo) -> None:
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        pane.view.post_message(TerminalView.LinkAsked("https://example.org/"))
        await bench.until_seen("copied the link https://example.org/")


async def test_what_a_program_wants_copied_is_copied_when_the_person_lets_it(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_clipboard, "READ_S", 0.0)
    async with bench.showing(info.id, can_drive=False) as pane:
        await bench.until_seen("○ watching")
        pane.let_copy()
        await bench.until_seen("no program here wants to copy anything")
        pane._notice.clear()
        async with (await bench.client.sandbox("box")).attach(info.id) as other:
            await other.write(osc52("one\r\ntwo\x1b[31m"))
            await bench.until_seen("wants to copy 11 characters: Y lets it")
            assert bench.host.clipboard == ""
            pane.let_copy()
            await bench.until_seen(r"copied 11 characters of box/1: one\ntwo[31m")
            assert bench.host.clipboard == "one\ntwo[31m"


async def test_while_driving_the_way_out_comes_first_and_then_the_key(
    bench: PaneBench, info: ConsoleInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_clipboard, "READ_S", 0.0)
    async with bench.showing(info.id) as pane:
        await bench.until_seen("○ watching")
        await bench.drive()
        pane.view.post_message(TerminalView.Typed(osc52("hello")))
        await bench.until_seen("ctrl+] leaves · wants to copy 5 characters: ctrl+], then Y lets it")
        await bench.type("Y")
        assert bench.host.clipboard == ""
        await bench.pilot.press(WAY_OUT)
        pane.let_copy()
        assert bench.host.clipboard == "hello"
