"""Two folders on the screen: both, or the one that the person is in."""

from __future__ import annotations

from cloche_tui.model.file_panes import FilePanes, Listing, Side
from cloche_tui.widgets.folder_pair import BESIDE, FolderPair
from tests.tui.file_values import row
from tests.tui.support import NOW, HostApp, screen_text

WHOSE = {Side.HERE: "this host", Side.SANDBOX: "box"}
FINE = dict.fromkeys(Side, "")


class Host(HostApp):
    """A screen with both folders."""

    def __init__(self) -> None:
        self.panes = FilePanes()
        self.panes.here.show(Listing("/here", [row("mine")]))
        self.panes.sandbox.show(Listing("/there", [row("theirs")]))
        self.pair = FolderPair(self.panes, on_choice=self.show)
        self.shown = 0
        super().__init__(self.pair)

    def is_in(self, side: Side) -> bool:
        return self.panes.active is side

    def show(self) -> None:
        self.shown += 1
        self.pair.show(WHOSE, FINE, NOW)


async def test_where_there_is_room_both_are_shown() -> None:
    host = Host()
    async with host.run_test(size=(BESIDE, 8)) as pilot:
        host.show()
        await pilot.pause()
        assert "mine" in screen_text(host)
        assert "theirs" in screen_text(host)
        assert "→" not in screen_text(host)


async def test_where_there_is_none_the_other_one_is_named_and_gone_to() -> None:
    host = Host()
    async with host.run_test(size=(BESIDE - 1, 8)) as pilot:
        host.pair.focus_active()
        await pilot.pause()
        assert "→ box:/there" in screen_text(host)
        assert "theirs" not in screen_text(host)
        await pilot.press("l")
        await pilot.pause()
        assert host.is_in(Side.SANDBOX)
        assert "→ /here" in screen_text(host)
        assert "theirs" in screen_text(host)
        assert "mine" not in screen_text(host)
        await pilot.press("h")
        await pilot.pause()
        assert host.is_in(Side.HERE)


async def test_a_click_goes_to_a_folder() -> None:
    host = Host()
    async with host.run_test(size=(BESIDE, 8)) as pilot:
        host.show()
        host.pair.focus_active()
        await pilot.pause()
        shown = host.shown
        await pilot.click(offset=(BESIDE - 10, 2))
        await pilot.pause()
        assert host.is_in(Side.SANDBOX)
        assert host.shown > shown
