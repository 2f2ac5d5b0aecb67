"""What is done with files, apart from the screen: nothing is replaced or removed that a person has not agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche.errors import BadRequest, Forbidden
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.dialogs.overwrite import InTheWay, Overwrite
from cloche_tui.model.file_panes import Listing, Pane, Side
from cloche_tui.views import file_work
from tests.tui.file_desk import HOME, file_desk
from tests.tui.file_values import down, pane, row, up
from tests.tui.support import HostApp, screen_text


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [
        (InTheWay.REPLACE, [("a.txt", True), ("new", False)]),
        (InTheWay.SKIP, [("new", False)]),
        (None, []),
    ],
)
async def test_only_what_is_in_the_way_may_be_replaced(
    tmp_path: Path, answer: InTheWay | None, agreed: list[tuple[str, bool]]
) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        desk.put(f"{HOME}/a.txt")
        for wanted in (
            [up("a.txt"), up("new")],
            [down("a.txt", folder=str(desk.folder)), down("new", folder=str(desk.folder))],
        ):
            desk.answers.append(answer)
            outcome = await file_work.agree(desk, desk.info.id, "box", wanted)
            assert [(one.name, one.may_replace) for one in outcome] == agreed


async def test_nothing_is_asked_where_nothing_is_in_the_way(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        wanted = [down("new", folder=str(desk.folder))]
        assert await file_work.agree(desk, desk.info.id, "box", wanted) == wanted
        assert desk.asked == []


@pytest.mark.parametrize("answer", [True, None])
async def test_a_folder_is_copied_only_once_it_is_known_how_much_it_is(
    tmp_path: Path, answer: bool | None
) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=(80, 24)) as pilot:
        assert desk.info is not None
        desk.put(f"{HOME}/big", kind="dir")
        desk.put(f"{HOME}/big/one", b"12345")
        desk.put(f"{HOME}/big/in", kind="dir")
        desk.put(f"{HOME}/big/in/two", b"12345")
        (desk.folder / "small").mkdir()
        (desk.folder / "small/x").write_text("12")
        here = str(desk.folder)
        for wanted, heading, amount, place in (
            ([down("big", folder=here, is_folder=True)], "Copy this to this host?", "2 files, 10 B", here),
            ([up("small", source=here, is_folder=True), up("new")], "Copy this to box?", "1 file, 2 B", HOME),
        ):
            desk.answers.append(answer)
            agreed = await file_work.agree(desk, desk.info.id, "box", wanted)
            assert agreed == (wanted if answer else [])
            asked = desk.asked[-1]
            assert isinstance(asked, Confirm)
            await desk.push_screen(asked)
            await pilot.pause()
            shown = " ".join(screen_text(desk).replace("│", " ").split())
            beside = "beside 1 file " if len(wanted) > 1 else ""
            for text in (heading, f"{wanted[0].name}/ with {amount} in all {beside}into {place[:20]}"):
                assert text in shown
            desk.pop_screen()


async def test_a_link_that_leads_to_no_folder_is_copied_at_once(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        desk.put(f"{HOME}/file")
        wanted = [down("file", folder=str(desk.folder), is_folder=True)]
        assert await file_work.agree(desk, desk.info.id, "box", wanted) == wanted
        assert desk.asked == []


async def test_where_something_is_in_the_way_a_folder_is_asked_about_with_it(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=(80, 30)) as pilot:
        assert desk.info is not None
        desk.put(f"{HOME}/src", kind="dir")
        desk.answers.append(InTheWay.REPLACE)
        wanted = [up("src", source=str(desk.folder), is_folder=True)]
        (agreed,) = await file_work.agree(desk, desk.info.id, "box", wanted)
        assert agreed.may_replace
        (asked,) = desk.asked
        assert isinstance(asked, Overwrite)
        await desk.push_screen(asked)
        await pilot.pause()
        assert "with 1 file, 7 B in all" in screen_text(desk)


async def test_what_was_shown_when_the_key_came_is_removed_whatever_is_shown_later(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        there = Pane(Side.SANDBOX)
        there.show(Listing(HOME, [row("x.txt")]))
        rows = there.chosen

        class Elsewhere(type(desk)):  # type: ignore[misc]
            async def ask(self, dialog: object) -> bool:
                there.show(Listing("/tmp", [row("x.txt")]))
                return True

        desk.__class__ = Elsewhere
        desk.put("/tmp/x.txt")
        await file_work.remove(desk, desk.info.id, "box", there, rows)
        assert f"{HOME}/x.txt" not in desk.guest
        assert "/tmp/x.txt" in desk.guest


async def test_what_cannot_be_removed_is_refused_before_anything_is_asked() -> None:
    host = HostApp()
    with pytest.raises(Forbidden, match="nothing of this host"):
        await file_work.remove(host, "sb_box", "box", pane("a"), [row("a")])
    with pytest.raises(BadRequest, match="select a file"):
        await file_work.remove(host, "sb_box", "box", Pane(Side.SANDBOX), [])
    host.is_readonly = True
    with pytest.raises(Forbidden, match="only looks on"):
        await file_work.remove(host, "sb_box", "box", pane("a", side=Side.SANDBOX), [row("a")])
    assert host.asked == []


async def test_a_folder_needs_a_place() -> None:
    with pytest.raises(BadRequest, match="select a sandbox first"):
        await file_work.make_folder(HostApp(), None, Pane(Side.SANDBOX), "new")
