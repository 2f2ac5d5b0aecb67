"""Files copied between this host and a sandbox, made and removed: by keys, at a real hub on fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.dialogs.overwrite import InTheWay, Overwrite
from cloche_tui.model.file_panes import Side
from cloche_tui.model.roles import Role
from cloche_tui.model.transfers import State
from cloche_wire.aio import Channel
from tests.support.fake_files import FakeFiles
from tests.tui.file_desk import HOME, FileDesk, file_desk

WIDE, SMALL = (120, 24), (80, 20)


# Copies.


async def test_what_is_marked_is_copied_and_comes_up_on_the_other_side(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "*")
        assert "✓ 2 marked" in desk.text
        assert desk.view.chosen().copies == (f"{desk.folder}/a.txt", f"{desk.folder}/src", f"box:{HOME}")
        desk.answers.append(True)
        await desk.press(pilot, "f5")
        assert await desk.copied(pilot) == [State.DONE, State.DONE]
        assert desk.guest[f"{HOME}/src/main.py"].data == b"print()"
        await desk.until(pilot, lambda: "src" in desk.names(desk.there))
        assert desk.here.marks == frozenset()
        assert "✓ done" in desk.text
        assert desk.said == [("copies: 2 done", Role.GOOD)]


async def test_a_folder_comes_out_of_the_sandbox(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=SMALL) as pilot:
        await desk.ready(pilot)
        desk.answers.append(True)
        await desk.press(pilot, "right", "f5")
        assert await desk.copied(pilot) == [State.DONE]
        assert (desk.folder / "data/deep.txt").read_text() == "deep"
        await desk.until(pilot, lambda: "data" in desk.names(desk.here))


async def test_a_folder_is_asked_about_and_a_file_is_not(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=SMALL) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "right", "f5")
        await desk.until(pilot, lambda: "Copy this to this host?" in desk.text)
        assert "data/" in desk.text
        assert "with 1 file, 4 B in all" in desk.text
        await desk.press(pilot, "escape")
        await desk.until(pilot, lambda: desk.said == [("nothing was copied", Role.PLAIN)])
        await desk.press(pilot, "j", "f5")
        assert await desk.copied(pilot) == [State.DONE]
        assert len(desk.asked) == 1
        assert not (desk.folder / "data").exists()


@pytest.mark.parametrize(
    ("answer", "kept", "states"),
    [
        (InTheWay.REPLACE, "from here", [State.DONE, State.DONE]),
        (InTheWay.SKIP, "theirs", [State.DONE]),
        (None, "theirs", []),
    ],
)
async def test_what_is_in_the_way_is_asked_about(
    tmp_path: Path, answer: InTheWay | None, kept: str, states: list[State]
) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        desk.put(f"{HOME}/a.txt", b"theirs")
        await desk.ready(pilot)
        desk.answers.append(answer)
        await desk.press(pilot, "*", "f5")
        if states:
            assert await desk.copied(pilot) == states
        else:
            await desk.until(pilot, lambda: desk.said)
            assert desk.said == [("nothing was copied", Role.PLAIN)]
        (asked,) = desk.asked
        assert isinstance(asked, Overwrite)
        assert desk.guest[f"{HOME}/a.txt"].data.decode() == kept
        assert (f"{HOME}/src" in desk.guest) is bool(states)


async def test_a_file_of_this_host_is_not_replaced_unasked(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        (desk.folder / "x.txt").write_text("mine")
        await desk.ready(pilot)
        desk.answers.append(None)
        await desk.press(pilot, "right", "j", "f5")
        await desk.until(pilot, lambda: desk.said)
        assert (desk.folder / "x.txt").read_text() == "mine"


async def test_a_copy_that_fails_says_why(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        desk.fake.room = 3
        await desk.ready(pilot)
        await desk.press(pilot, "j", "f5")
        assert await desk.copied(pilot) == [State.FAILED]
        await desk.until(pilot, lambda: desk.said and "✗ failed" in desk.text)
        assert "disk is full" in desk.text
        ((said, role),) = desk.said
        assert role is Role.WARNING
        assert said == "copies: 1 failed: /home/user/a.txt: the machine's disk is full"


async def _stuck(desk: FileDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the guest take nothing that is written to it."""

    async def hang(channel: Channel) -> None:
        channel.accept()
        await asyncio.Event().wait()

    handlers = {**FakeFiles.handlers(desk.fake), "file.write": hang}
    monkeypatch.setattr(desk.fake, "handlers", lambda: handlers)


async def test_copies_go_on_while_another_view_is_shown_and_are_given_up_one_by_one_or_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await _stuck(desk, monkeypatch)
        transfers = desk.view.copies.transfers
        desk.answers.append(True)
        await desk.press(pilot, "j", "f5")
        await desk.until(pilot, lambda: len(transfers))
        await desk.press(pilot, "k", "f5")
        await desk.until(pilot, lambda: len(transfers) == 2)
        desk.view.display = False
        desk.tick()
        await pilot.pause()
        assert [one.state for one in transfers.under_way()] == [State.RUNNING, State.WAITING]
        desk.view.display = True
        desk.tick()
        await desk.until(pilot, lambda: "● copies" in desk.text)
        assert "◌ waits" in desk.text
        await desk.press(pilot, "x")
        await desk.until(pilot, lambda: [one.id for one in transfers.under_way()] == [2])
        desk.do("files.cancel", "all")
        assert await desk.copied(pilot) == [State.CANCELLED, State.CANCELLED]
        await desk.press(pilot, "x")
        assert "given up" not in desk.text
        assert len(transfers) == 0


async def test_the_copy_one_has_gone_to_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await _stuck(desk, monkeypatch)
        transfers = desk.view.copies.transfers
        desk.answers.append(True)
        await desk.press(pilot, "*", "f5")
        await desk.until(pilot, lambda: len(transfers) == 2)
        await desk.press(pilot, "o", "o", "home", "j", "enter", "x")
        await desk.until(pilot, lambda: [one.id for one in transfers.under_way()] == [1])
        await desk.press(pilot, "home", "x")
        await desk.copied(pilot)
        await desk.press(pilot, "x")
        await desk.until(pilot, lambda: desk.view.panes.active is Side.SANDBOX and desk.focused is not None)
        await desk.press(pilot, "o")
        assert desk.view.panes.active is Side.HERE


# Changes.


async def test_a_folder_is_made_on_either_side(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        desk.do("files.mkdir", "mine")
        await desk.until(pilot, lambda: "mine" in desk.names(desk.here))
        assert (desk.folder / "mine").is_dir()
        await desk.press(pilot, "right")
        desk.do("files.mkdir", "theirs")
        await desk.until(pilot, lambda: "theirs" in desk.names(desk.there))
        assert [text for text, _ in desk.said] == [f"made {desk.folder}/mine", f"made {HOME}/theirs"]
        desk.do("files.mkdir", "../out")
        await desk.until(pilot, lambda: len(desk.said) == 3)
        assert "no folder's name" in desk.said[2][0]
        await desk.press(pilot, "f7")
        await desk.until(pilot, lambda: desk.actions)
        assert desk.actions == [("command.open", "mkdir ")]


async def test_what_is_removed_is_named_first(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "right", "ctrl+d")
        await desk.until(pilot, lambda: desk.asked)
        assert "Remove this from box?" in desk.text
        assert "▸ data/" in desk.text
        assert "Folders with all that is in them." in desk.text
        await desk.press(pilot, "escape")
        assert f"{HOME}/data/deep.txt" in desk.guest
        desk.answers.append(True)
        await desk.press(pilot, "ctrl+d")
        await desk.until(pilot, lambda: desk.names(desk.there) == ["x.txt"])
        assert desk.said == [(f"removed {HOME}/data", Role.GOOD)]


async def test_of_several_the_number_is_typed_and_what_fails_is_told(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "right", "*")
        del desk.guest[f"{HOME}/x.txt"]
        desk.answers.append(True)
        await desk.press(pilot, "ctrl+d")
        await desk.until(pilot, lambda: desk.said)
        (asked,) = desk.asked
        assert isinstance(asked, Confirm)
        assert "type 2" in asked.keys
        assert desk.said == [(f"removed 1 of 2: {HOME}/x.txt: No such file or directory", Role.BAD)]


async def test_nothing_of_this_host_is_removed(tmp_path: Path) -> None:
    async with file_desk(tmp_path) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "ctrl+d")
        await desk.until(pilot, lambda: desk.said)
        assert desk.said == [("nothing of this host is removed from here; use a shell", Role.BAD)]
        assert desk.asked == []


async def test_who_only_looks_on_can_copy_out_and_nothing_else(tmp_path: Path) -> None:
    async with file_desk(tmp_path, is_readonly=True) as desk, desk.run_test(size=WIDE) as pilot:
        await desk.ready(pilot)
        await desk.press(pilot, "f5")
        await desk.until(pilot, lambda: len(desk.said) == 1)
        await desk.press(pilot, "right", "ctrl+d")
        await desk.until(pilot, lambda: len(desk.said) == 2)
        desk.do("files.mkdir", "new")
        await desk.until(pilot, lambda: len(desk.said) == 3)
        assert {text for text, _ in desk.said} == {
            "this dashboard only looks on: it was started with --readonly"
        }
        desk.answers.append(True)
        await desk.press(pilot, "f5")
        assert await desk.copied(pilot) == [State.DONE]
