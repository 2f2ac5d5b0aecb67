"""What is done with files, apart from the screen: nothing is replaced or removed that a person has not agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche.errors import BadRequest, Forbidden
from cloche_tui.dialogs.overwrite import InTheWay
from cloche_tui.model.file_panes import Listing, Pane, Side
from cloche_tui.views import file_work
from tests.tui.file_desk import HOME, file_desk
from tests.tui.file_values import down, pane, row, up
from tests.tui.support import HostApp


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
            outcome = await file_work.agree(desk, desk.info.id, wanted)
            assert [(one.name, one.may_replace) for one in outcome] == agreed


async def test_nothing_is_asked_where_nothing_is_in_the_way(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        wanted = [down("new", folder=str(desk.folder))]
        assert await file_work.agree(desk, desk.info.id, wanted) == wanted
        assert desk.asked == []


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
