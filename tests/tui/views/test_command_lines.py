"""The command lines that do the same: shown, copied by number."""

from __future__ import annotations

import pytest

from cloche_tui.views.command_lines import CommandLines
from tests.tui.support import HostApp, screen_text

LINES = (("Destroy", "cloche rm box"), ("Look", "cloche attach --watch box"))


@pytest.mark.parametrize(
    ("key", "copied"), [("y", "cloche rm box"), ("2", "cloche attach --watch box"), ("3", "")]
)
async def test_a_number_copies_its_line_and_any_key_goes_back(key: str, copied: str) -> None:
    host = HostApp()
    async with host.run_test(size=(80, 20)) as pilot:
        await host.push_screen(CommandLines(LINES))
        await pilot.pause()
        assert "cloche attach --watch box" in screen_text(host)
        await pilot.press(key)
        assert host.clipboard == copied
        assert not isinstance(host.screen, CommandLines)


async def test_what_a_guest_has_named_does_nothing_to_the_terminal_and_is_copied_as_it_is() -> None:
    host, line = HostApp(), "cloche cp 'box:/\x1b]0;x\x07' ."
    async with host.run_test(size=(80, 20)) as pilot:
        await host.push_screen(CommandLines((("Copy", line),)))
        await pilot.pause()
        assert r"cloche cp 'box:/\x1b]0;x\x07' ." in screen_text(host)
        await pilot.press("y")
        assert host.clipboard == line
