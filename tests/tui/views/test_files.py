"""Folders of this host and of a sandbox: shown, gone through and sorted by keys, at a real hub on fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche.filters import parse_filter
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.file_panes import Side
from cloche_tui.model.roles import Role
from cloche_tui.model.transfers import State
from cloche_tui.remembered import Remembered
from cloche_wire.aio import Channel
from tests.support.fake_files import FakeFiles
from tests.tui.file_desk import HOME, FileDesk, file_desk
from tests.tui.sandbox_values import sandbox

WIDE, SMALL = (120, 24), (80, 20)


# What is shown.


async def test_both_folders_stand_beside_each_other(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        lines = desk.text.splitlines()
        assert "▶ this host" in lines[0]
        assert f"box  {HOME}  2 files" in lines[0]
        assert "▸ src/" in lines[2]
        assert "▸ data/" in lines[2]
        assert "a.txt" in lines[3]
        assert "x.txt" in lines[3]


async def test_where_there_is_no_room_for_both_the_other_is_a_key_away(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=SMALL) as pilot:
        await desk.ready(pilot)
        assert "this host" in desk.text
        assert f"→ box:{HOME}" in desk.text
        assert "x.txt" not in desk.text
        await desk.press(pilot, "right")
        assert "x.txt" in desk.text
        assert "a.txt" not in desk.text
        await desk.press(pilot, "left")
        assert "a.txt" in desk.text
        await desk.press(pilot, "o", "o", "o")
        assert desk.view.panes.active is Side.SANDBOX
        await pilot.resize_terminal(*WIDE)
        await pilot.pause()
        assert "a.txt" in desk.text
        assert "x.txt" in desk.text


async def test_hostile_names_are_shown_as_text_and_cannot_be_entered_or_copied(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        desk.put(f"{HOME}/\x1b[2J\u202egpj.exe")
        await desk.ready(pilot)
        assert r"\x1b[2J\u202egpj.exe" in desk.text
        assert "\u202e" not in desk.text
        await desk.press(pilot, "right", "end", "home", "j", "f5")
        assert await desk.copied(pilot) == [State.DONE]
        assert (desk.folder / "\x1b[2J\u202egpj.exe").is_file()
        assert r"↓ \x1b[2J\u202egpj.exe" in desk.text


async def test_what_cannot_be_used_is_neither_entered_nor_marked_nor_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=SMALL) as pilot:
        _have_listed(monkeypatch, desk, b"\xff\x1b")
        await desk.ready(pilot)
        await desk.press(pilot, "right", "end")
        assert "its name is not UTF-8" in desk.text
        await desk.press(pilot, "enter", "space", "f5")
        assert desk.there.marks == frozenset()
        assert desk.said == [
            ("nothing can be done with it: its name is not UTF-8", Role.BAD),
            ("nothing is selected that can be copied", Role.BAD),
        ]


def _have_listed(monkeypatch: pytest.MonkeyPatch, desk: FileDesk, name: bytes) -> None:
    """Has the guest tell of one file, in whichever folder it is asked of."""

    async def told(channel: Channel) -> None:
        entry = {
            "name": name, "path": HOME.encode() + b"/" + name, "kind": "file", "size_bytes": 1, "mode": 0o644,
            "uid": 0, "gid": 0, "mtime_ns": 0,
        }  # fmt: skip
        channel.accept()
        await channel.send_message({"entries": [entry]})
        channel.end(0)
        channel.close({"entries": 1})

    handlers = {**desk.fake.handlers(), "file.list": told}
    monkeypatch.setattr(desk.fake, "handlers", lambda: handlers)


async def test_the_bar_beside_a_long_list_covers_no_column(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for number in range(60):
        (tmp_path / f"here/n{number}").touch(mode=0o640)
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.until(pilot, lambda: desk.text.count("-rw-r----- ") > 10)


async def test_a_sandbox_that_goes_takes_its_files_off_the_screen(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        assert desk.info is not None
        desk.tell(desk.info, gone=True)
        await pilot.pause()
        assert "box is gone." in desk.text
        assert "x.txt" not in desk.text
        await desk.press(pilot, "f5")
        assert desk.said == [("box is gone.", Role.BAD)]


async def test_a_sandbox_that_does_not_run_yet_is_looked_into_when_it_does(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk:
        assert desk.info is not None
        running = desk.info
        desk.world.fleet.begin()
        desk.tell_of(sandbox("box", id=running.id, state="creating"))
        desk.world.fleet.end_of_current()
        async with desk.run_test(size=WIDE) as pilot:
            await desk.until(pilot, lambda: desk.here.folder)
            assert "box is creating" in desk.text
            desk.tell(running)
            await desk.ready(pilot)
            assert "x.txt" in desk.text


async def test_without_a_sandbox_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    desk = FileDesk(tmp_path / "here", None, None, None)
    async with desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        assert "No sandbox is selected" in desk.text
        assert "Nothing is in this folder." in desk.text
        assert desk.view.chosen() == Chosen()
        await desk.press(pilot, "f5", "right", "ctrl+d", "enter", "ctrl+r")
        assert desk.said[0] == (
            "No sandbox is selected: select one in the list of sandboxes.", Role.BAD,
        )  # fmt: skip


async def test_what_was_looked_for_in_a_sandbox_that_is_left_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        asked, goes_on = asyncio.Event(), asyncio.Event()
        handlers = dict(FakeFiles.handlers(desk.fake))
        serve = handlers["file.list"]

        async def late(channel: Channel) -> None:
            asked.set()
            await goes_on.wait()
            await serve(channel)

        monkeypatch.setattr(desk.fake, "handlers", lambda: {**handlers, "file.list": late})
        await desk.press(pilot, "ctrl+r")
        await desk.until(pilot, asked.is_set)
        desk.tell_of(sandbox("other", state="creating"))
        desk.view.open_sandbox("sb_other")
        goes_on.set()
        await desk.until(pilot, lambda: not [one for one in desk.workers if not one.is_finished])
        assert desk.there.folder == ""
        assert "other is creating" in desk.text


async def test_another_sandbox_is_shown_when_one_comes_back_with_another_selected(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        desk.view.display = False
        desk.tick()
        other = sandbox("other", state="creating")
        desk.tell_of(other)
        desk.world.fleet.select(other.id)
        desk.view.display = True
        desk.tick()
        await pilot.pause()
        assert "other is creating" in desk.text
        assert desk.view.chosen().names == ("other",)


# Going through folders.


async def test_a_folder_is_entered_and_left_to_where_one_came_from(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "right", "enter")
        await desk.until(pilot, lambda: desk.there.folder == f"{HOME}/data")
        assert desk.names(desk.there) == ["deep.txt"]
        await desk.press(pilot, "enter")
        assert "deep.txt is no folder" in desk.said[-1][0]
        await desk.press(pilot, "backspace")
        await desk.until(pilot, lambda: desk.there.folder == HOME)
        assert desk.there.selected is not None
        assert desk.there.selected.name == "data"


async def test_a_link_is_followed_as_far_as_it_leads_to_a_folder(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        desk.put(f"{HOME}/l", kind="link", target="x.txt")
        await desk.ready(pilot)
        await desk.press(pilot, "right", "j", "enter")
        await desk.until(pilot, lambda: desk.said)
        assert desk.said == [(f"{HOME}/l: it is no folder", Role.BAD)]
        assert desk.there.folder == HOME


async def test_a_folder_is_gone_to_by_its_path(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        desk.do("files.go", "src")
        await desk.until(pilot, lambda: desk.here.folder.endswith("/src"))
        await desk.press(pilot, "right")
        desk.do("files.go", "/tmp")
        await desk.until(pilot, lambda: desk.there.folder == "/tmp")
        desk.do("files.go", "~/data")
        await desk.until(pilot, lambda: desk.there.folder == f"{HOME}/data")
        desk.do("files.go", "/nowhere")
        await desk.until(pilot, lambda: desk.said)
        assert desk.said == [("/nowhere: No such file or directory", Role.BAD)]
        assert desk.there.folder == f"{HOME}/data"
        desk.do("files.go")
        await desk.until(pilot, lambda: desk.actions)
        assert desk.actions == [("command.open", "cd ")]


async def test_the_folders_are_looked_at_anew(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        (desk.folder / "new").write_text("")
        desk.put(f"{HOME}/newer")
        await desk.press(pilot, "ctrl+r")
        await desk.until(pilot, lambda: "new" in desk.names(desk.here) and "newer" in desk.names(desk.there))


async def test_files_are_filtered_sorted_and_that_is_remembered(tmp_path: Path) -> None:
    remembered = Remembered(
        tmp_path / "r.json", later=lambda _s, _a: asyncio.get_running_loop().call_later(9, int)
    )
    async with file_desk(tmp_path, remembered=remembered) as desk, desk.run_test(size=WIDE) as pilot:
        desk.put(f"{HOME}/big", b"x" * 100)
        await desk.ready(pilot)
        assert desk.view.set_filter(parse_filter("a.txt")) == (1, 2)
        assert desk.view.set_filter(None) == (2, 2)
        await desk.press(pilot, "right", "s")
        assert desk.names(desk.there) == ["data", "big", "x.txt"]
        await desk.press(pilot, "S")
        assert desk.names(desk.there) == ["data", "x.txt", "big"]
        desk.do("table.sort", "colour")
        await desk.until(pilot, lambda: desk.said)
        assert desk.said == [("files are sorted by name, size, changed, mode", Role.BAD)]
    assert remembered.get("files.sort", {}) == {"here": ["name", False], "sandbox": ["size", False]}
    again = FileDesk(tmp_path / "here", None, None, None, remembered=remembered)
    async with again.run_test(size=WIDE) as pilot:
        assert (again.there.sort, again.there.is_descending) == ("size", False)


async def test_the_mouse_sorts_by_a_heading_and_enters_a_folder(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        for is_descending in (True, False):
            await pilot.click(offset=(4, 1))
            await pilot.pause()
            assert (desk.here.sort, desk.here.is_descending) == ("name", is_descending)
        await pilot.click(offset=(70, 2), times=2)
        await desk.until(pilot, lambda: desk.there.folder == f"{HOME}/data")


# What is chosen.


async def test_actions_are_about_the_selected_file_of_the_sandbox(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        assert desk.view.chosen().path is None
        await desk.press(pilot, "right", "j")
        chosen = desk.view.chosen()
        assert (chosen.names, chosen.path) == (("box",), f"{HOME}/x.txt")
        assert chosen.copies == (f"box:{HOME}/x.txt", str(desk.folder))


async def test_an_action_of_another_view_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    desk = FileDesk(tmp_path / "here", None, None, None)
    async with desk.run_test(size=WIDE):
        assert not await desk.view.run("sandbox.destroy", "")
