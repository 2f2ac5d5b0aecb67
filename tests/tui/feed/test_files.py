"""Files of this host and of sandboxes, as they are looked at and changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.aio import Files
from cloche.errors import BadRequest, CodedError, Conflict, Forbidden, NotFound, TimedOut, WrongState
from cloche_tui.feed import files as feed
from cloche_tui.feed.files import (
    coded,
    files_of,
    folder_name,
    list_here,
    list_there,
    make_folder_here,
    remove_there,
    there_already,
    there_already_here,
)
from cloche_tui.model.file_panes import Listing
from cloche_wire.aio import Channel
from tests.support.fake_files import FakeFiles, Node
from tests.tui.support import hub_on_fakes


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[tuple[Files, FakeFiles]]:
    """The files of a sandbox, and what is behind them."""
    async with hub_on_fakes(tmp_path) as (hub, client):
        sandbox = await client.create(name="box")
        yield await files_of(client, sandbox.id), hub.machine.agent.files


def _names(listing: Listing) -> list[str]:
    return sorted(row.name for row in listing.rows)


# This host.


async def test_a_folder_of_this_host_is_listed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "a").write_text("hello")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "l").symlink_to("d")
    (tmp_path / "lost").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    listing = await list_here(str(tmp_path))
    assert (listing.folder, listing.is_cut) == (str(tmp_path), False)
    rows = {row.name: row for row in listing.rows}
    assert {name: row.kind for name, row in rows.items()} == {
        "a": "file", "d": "dir", "l": "link", "lost": "link", "pipe": "other",
    }  # fmt: skip
    assert (rows["a"].size_bytes, rows["a"].mode) == (5, 0o640)
    assert (rows["l"].target, rows["l"].leads_to_folder, rows["lost"].leads_to_folder) == ("d", True, False)


async def test_what_has_no_name_as_text_is_shown_and_cannot_be_used(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).write_text("")
    (row,) = (await list_here(str(tmp_path))).rows
    assert row.refusal == "its name is not UTF-8"


async def test_a_folder_is_found_from_where_one_is_and_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert (await list_here("~")).folder == str(tmp_path)
    assert (await list_here(".")).folder == str(tmp_path)


async def test_no_more_is_listed_than_is_asked_for(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("")
    listing = await list_here(str(tmp_path), most=2)
    assert (len(listing.rows), listing.is_cut) == (2, True)


async def test_what_cannot_be_listed_says_why(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(NotFound, match="nowhere: No such file"):
        await list_here(str(tmp_path / "nowhere"))
    with pytest.raises(WrongState, match="Not a directory"):
        await list_here(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (PermissionError(13, "Permission denied", "/x\n"), Forbidden, r"/x\n: Permission denied"),
        (FileExistsError(17, "File exists", b"/x\xff"), Conflict, r"/x\udcff: File exists"),
        (OSError(5, "Input/output error"), BadRequest, "Input/output error"),
        (OSError("odd"), BadRequest, "odd"),
    ],
)
def test_what_the_system_says_becomes_an_error_with_a_line(
    error: OSError, kind: type[CodedError], text: str
) -> None:
    became = coded(error)
    assert (type(became), became.message) == (kind, text)


async def test_a_folder_is_made_here_once(tmp_path: Path) -> None:
    await make_folder_here(str(tmp_path / "new"))
    assert (tmp_path / "new").is_dir()
    with pytest.raises(Conflict):
        await make_folder_here(str(tmp_path / "new"))


async def test_what_is_in_the_way_here_is_found_also_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "lost").symlink_to("nowhere")
    assert await there_already_here(str(tmp_path), ["a", "b", "lost"]) == {"a", "lost"}


@pytest.mark.parametrize("typed", ["", " ", "..", ".", "a/b", "/a", "a\0b", "x" * 256])
def test_only_one_name_makes_a_folder(typed: str) -> None:
    with pytest.raises(BadRequest, match="no folder's name"):
        folder_name(typed)
    assert folder_name(" new ") == "new"


# A sandbox.


async def test_the_home_of_a_sandbox_is_listed(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree |= {"/home/user/a": Node("file", b"hello"), "/home/user/d": Node("dir", mode=0o700)}
    fake.tree["/home/user/l"] = Node("link", target="d")
    listing = await list_there(files, ".")
    assert (listing.folder, _names(listing)) == ("/home/user", ["a", "d", "l"])
    assert {row.name: row.size_bytes for row in listing.rows}["a"] == 5


async def test_behind_a_link_the_way_one_has_come_is_kept(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree |= {"/tmp/l": Node("link", target="/home/user"), "/home/user/a": Node("file")}
    fake.tree["/tmp/l/a"] = Node("file")  # the fake follows links only at a path's end
    assert (await list_there(files, "/tmp/./l")).folder == "/tmp/l"


async def test_what_is_no_folder_is_not_listed(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree["/home/user/a"] = Node("file")
    with pytest.raises(WrongState, match="a: it is no folder"):
        await list_there(files, "/home/user/a")
    with pytest.raises(NotFound):
        await list_there(files, "/nowhere")


async def test_files_without_end_are_not_taken(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree |= {f"/home/user/{number}": Node("file") for number in range(200)}
    listing = await list_there(files, ".", most=70)
    assert (len(listing.rows), listing.is_cut) == (70, True)


async def test_a_guest_that_does_not_answer_is_not_waited_for(
    box: tuple[Files, FakeFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, fake = box

    async def silent(_channel: Channel) -> None:
        await asyncio.Event().wait()

    handlers = {**fake.handlers(), "file.stat": silent}
    monkeypatch.setattr(fake, "handlers", lambda: handlers)
    monkeypatch.setattr(feed, "PATIENCE_S", 0.05)
    with pytest.raises(TimedOut, match="takes too long"):
        await list_there(files, ".")


async def test_what_is_in_the_way_in_a_sandbox_is_found(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree |= {"/tmp/a": Node("file"), "/tmp/b": Node("dir"), "/tmp/c": Node("file")}
    assert await there_already(files, "/tmp", ["b", "a"]) == {"a", "b"}
    assert await there_already(files, "/tmp", ["x", "c"]) == {"c"}


async def test_what_can_be_removed_is_and_the_rest_is_told(box: tuple[Files, FakeFiles]) -> None:
    files, fake = box
    fake.tree |= {"/tmp/a": Node("dir"), "/tmp/a/b": Node("file"), "/tmp/c": Node("file")}
    told: list[tuple[str, str]] = []
    gone = await remove_there(files, ["/tmp/a", "/tmp/no", "/tmp/c"], lambda *one: told.append(one))
    assert gone == 2
    assert told == [("/tmp/no", "/tmp/no: No such file or directory")]
    assert [path for path in fake.tree if path.startswith("/tmp/")] == []
