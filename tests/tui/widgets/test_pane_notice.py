"""What is told for a moment in a pane: one line that goes by itself."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from cloche_tui.widgets import pane_notice
from cloche_tui.widgets.pane_notice import PaneNotice
from tests.support.hub import until
from tests.tui.support import HostApp


async def test_a_notice_goes_by_itself_and_each_change_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pane_notice, "NOTICE_S", 0.01)
    pane = Static()
    told: list[str] = []
    notice = PaneNotice(pane, lambda: told.append(notice.text))
    async with HostApp(pane).run_test():
        notice.say("one")
        notice.say("two")
        await until(lambda: not notice.text)
    assert told == ["one", "two", ""]


async def test_what_stands_there_is_added_to_once() -> None:
    pane = Static()
    notice = PaneNotice(pane, lambda: None)
    async with HostApp(pane).run_test():
        notice.add("not taken")
        assert notice.text == "not taken"
        notice.say("ann drives")
        notice.add("not taken")
        notice.add("not taken")
        assert notice.text == "ann drives · not taken"
        notice.clear()
        assert notice.text == ""
