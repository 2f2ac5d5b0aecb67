"""A folder on the screen: which one it is, what is in it, and what a person goes to."""

from __future__ import annotations

from cloche_tui.model.file_panes import Listing, Pane, Side
from cloche_tui.widgets.file_list import FileList
from tests.tui.file_values import pane, row
from tests.tui.support import NOW, HostApp, screen_text


class Host(HostApp):
    """A screen with the list alone."""

    def __init__(self, of: Pane) -> None:
        self.gone_to: list[str] = []
        self.list = FileList(of, on_select=self._note)
        super().__init__(self.list)

    def _note(self) -> None:
        selected = self.list.pane.selected
        assert selected is not None
        self.gone_to.append(selected.name)

    def show(self, *, trouble: str = "", beside: str = "") -> None:
        self.list.show(whose="box", trouble=trouble, is_active=True, now=NOW, beside=beside)


async def test_marks_and_what_is_selected_are_those_of_the_pane() -> None:
    shown = pane("a", "b", row("d", "dir"))
    shown.mark_selected()
    host = Host(shown)
    async with host.run_test(size=(60, 8)) as pilot:
        host.show(beside="/there")
        host.list.table.focus()
        await pilot.pause()
        lines = screen_text(host).splitlines()
        assert lines[0] == "▶ box  /a  3 files, ✓ 1 marked, 0 B  → /there"
        assert lines[2].startswith("✓ ▸ d/")
        assert host.list.table.selected_key == "a"
        await pilot.press("j")
        assert host.gone_to == ["b"]


async def test_another_width_has_another_heading() -> None:
    host = Host(pane("a", folder="/a/long/way/down/to/here"))
    async with host.run_test(size=(80, 8)) as pilot:
        host.show()
        await pilot.pause()
        assert "/a/long/way" in screen_text(host)
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        assert "▶ box  …y/down/to/here  1 file" in screen_text(host)


async def test_why_there_is_nothing_is_said_in_its_place() -> None:
    nothing = Pane(Side.SANDBOX)
    host = Host(nothing)
    async with host.run_test(size=(60, 8)) as pilot:
        host.show(trouble="box is gone.")
        await pilot.pause()
        assert "box is gone." in screen_text(host)
        nothing.show(Listing("/", [row("a")]))
        host.show()
        await pilot.pause()
        assert "box is gone." not in screen_text(host)
