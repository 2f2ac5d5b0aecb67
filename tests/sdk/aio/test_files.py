"""The files of a sandbox."""

from __future__ import annotations

import asyncio
import io
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.aio import Files, Sandbox
from cloche.errors import Conflict, NoSpace, NotFound, TooLarge, WrongState
from cloche_wire.aio import Channel
from tests.support.local_hub import LocalHub


@pytest.fixture
def files(sandbox: Sandbox) -> Files:
    return sandbox.files


@pytest.fixture
def tree(hub: LocalHub, sandbox: Sandbox) -> Path:
    """The user's home in the sandbox."""
    return hub.tree(sandbox.id) / "home/user"


async def test_what_is_written_is_read(files: Files, tree: Path) -> None:
    entry = await files.write("a.txt", "hellö", mode=0o750)
    assert (entry.path, entry.size_bytes, entry.mode) == ("/home/user/a.txt", 6, 0o750)
    assert (tree / "a.txt").read_text() == "hellö"
    assert await files.read("a.txt") == "hellö".encode()
    assert await files.read_text("/home/user/a.txt") == "hellö"
    assert await files.read("a.txt", offset=1, length=2) == b"el"


async def test_much_goes_both_ways_in_pieces(files: Files, tree: Path) -> None:
    content = bytes(range(256)) * (3 << 12)
    await files.write("big", io.BytesIO(content))
    assert (tree / "big").read_bytes() == content
    sizes = [len(piece) async for piece in files.stream("big")]
    assert (sum(sizes), len(sizes) > 1) == (len(content), True)


async def test_reading_is_bounded(files: Files) -> None:
    await files.write("a", bytes(100))
    assert len(await files.read("a", max_bytes=100)) == 100
    with pytest.raises(TooLarge, match="a: it has more than 99 bytes"):
        await files.read("a", max_bytes=99)


async def test_a_write_that_has_failed_does_not_wait_for_its_next_piece(hub: LocalHub, files: Files) -> None:
    async def full(channel: Channel) -> None:
        channel.accept()
        await channel.read(1)
        raise NoSpace("the disk is full")

    async def stalled() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.Event().wait()

    hub.handlers["file.write"] = full
    async with asyncio.timeout(10):
        with pytest.raises(NoSpace):
            await files.write("a", stalled())


async def test_a_stream_may_be_left(files: Files) -> None:
    await files.write("big", bytes(1 << 20))
    async for piece in files.stream("big"):
        assert piece
        break
    assert await files.read("big", length=1) == b"\0"


async def test_a_source_that_fails_leaves_what_was_there(files: Files, tree: Path) -> None:
    await files.write("a", "before")

    async def failing() -> AsyncIterator[bytes]:
        yield b"after"
        raise LookupError

    with pytest.raises(LookupError):
        await files.write("a", failing())
    assert await files.read("a") == b"before"
    async with asyncio.timeout(10):
        while [path.name for path in tree.iterdir()] != ["a"]:
            await asyncio.sleep(0)


async def test_a_file_that_must_be_new_is(files: Files) -> None:
    await files.write("new/a", "1", exclusive=True, parents=True)
    with pytest.raises(Conflict):
        await files.write("new/a", "2", exclusive=True)


async def test_what_there_is_is_told(files: Files) -> None:
    await files.write("a", "1")
    await files.symlink("l", "./a")
    assert [(entry.name, entry.kind, entry.target) for entry in await files.list()] == [
        ("a", "file", None),
        ("l", "link", "./a"),
    ]
    assert {entry.name async for entry in files.scan("/home/user")} == {"a", "l"}
    assert (await files.stat("l")).kind == "file"
    assert (await files.stat("l", follow=False)).kind == "link"
    with pytest.raises(NotFound, match="b"):
        await files.stat("b")
    with pytest.raises(WrongState):
        await files.read(".")


async def test_a_list_is_bounded(files: Files) -> None:
    for name in ("a", "b", "c"):
        await files.write(name, "")
    assert len(await files.list(max_entries=3)) == 3
    with pytest.raises(TooLarge, match="more than 2 files"):
        await files.list(max_entries=2)


async def test_folders_names_modes_and_links(files: Files, tree: Path) -> None:
    assert (await files.make_dir("d/e", parents=True)).kind == "dir"
    with pytest.raises(Conflict):
        await files.make_dir("d/e")
    await files.write("d/a", "1")
    assert (await files.rename("d/a", "d/b")).name == "b"
    await files.write("d/a", "2")
    with pytest.raises(Conflict):
        await files.rename("d/a", "d/b")
    await files.rename("d/a", "d/b", replace=True)
    assert (await files.chmod("d/b", 0o600)).mode == 0o600
    await files.link("d/c", "d/b")
    assert (tree / "d/c").stat().st_nlink == 2
    with pytest.raises(WrongState):
        await files.remove("d")
    assert await files.remove("d", recursive=True) == 4
    assert await files.list() == []


async def test_the_user_is_passed_on(files: Files, hub: LocalHub) -> None:
    await files.write("a", "", user="root")
    assert hub.asked[-1][1]["user"] == "root"
    await files.stat("a")
    assert "user" not in hub.asked[-1][1]


async def test_a_tree_goes_there_and_back(files: Files, tree: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "d/locked").mkdir(parents=True)
    (source / "d/a").write_text("hello")
    (source / "d/a").chmod(0o4755)
    (source / "d/locked/b").write_text("")
    (source / "d/locked").chmod(0o500)
    (source / "up").symlink_to("d/a")
    told: list[tuple[int, int, str]] = []
    sent = await files.upload(source, "copy", on_progress=lambda *said: told.append(said))
    assert (sent.files, sent.bytes, sent.skipped) == (2, 5, ())
    assert (told[-1][:2], {path for *_, path in told}) == ((5, 5), {"d/a", "d/locked/b"})
    assert stat.S_IMODE((tree / "copy/d/a").stat().st_mode) == 0o755
    assert stat.S_IMODE((tree / "copy/d/locked").stat().st_mode) == 0o500
    back = await files.download("copy", tmp_path / "back")
    assert (back.files, back.bytes, back.skipped) == (2, 5, ())
    shape = {
        str(path.relative_to(tmp_path / "back")): stat.S_IMODE(path.lstat().st_mode)
        for path in (tmp_path / "back").rglob("*")
    }
    assert shape == {"d": 0o755, "d/a": 0o755, "d/locked": 0o500, "d/locked/b": 0o644, "up": 0o777}
    # A folder that is there is filled again.
    for _ in range(2):
        await files.upload(source, "copy")
        await files.download("copy", tmp_path / "back")
    for path in (source, tmp_path / "back", tree / "copy"):
        (path / "d/locked").chmod(0o700)


async def test_a_file_goes_there_and_back_under_the_names_that_are_asked(
    files: Files, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "here").write_text("hello")
    told: list[tuple[int, int, str]] = []
    await files.upload(tmp_path / "here", "there", on_progress=lambda *said: told.append(said))
    await files.download("there", tmp_path / "back")
    assert ((tmp_path / "back").read_text(), told[-1]) == ("hello", (5, 5, "here"))
    times = [path.stat().st_mtime_ns for path in (tree / "there", tmp_path / "back")]
    assert times[0] == times[1]


async def test_what_cannot_be_read_here_is_named(files: Files, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        await files.upload(tmp_path / "nowhere", "a")
    assert str(raised.value.filename) == str(tmp_path / "nowhere")


async def test_folders_and_files_do_not_replace_each_other_there(
    files: Files, tmp_path: Path, tree: Path
) -> None:
    (tmp_path / "d/x").mkdir(parents=True)
    await files.write("copy/x", "a file", parents=True)
    with pytest.raises(Conflict):
        await files.upload(tmp_path / "d", "copy")
    (tmp_path / "l").mkdir()
    (tmp_path / "l/x").symlink_to("y")
    with pytest.raises(Conflict):
        await files.upload(tmp_path / "l", "copy")
    assert (tree / "copy/x").read_text() == "a file"
