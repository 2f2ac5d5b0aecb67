"""Copies from a sandbox, a hub or a guest that means harm to the host: whatever they say, the host's disk is safe."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche.aio.copying import LANES
from cloche.aio.files import Files
from cloche.errors import CodedError, InternalError, NoSpace, SenselessAnswer, TooLarge, WrongState
from cloche.transfer import MAX_DEPTH, UNSIZED_MOST, Skipped
from cloche_wire.aio import Channel
from tests.sdk.links import link_to
from tests.support.scripted_hub import ScriptedHub, answer


def entry(name: str, kind: str = "file", **more: Any) -> dict[str, Any]:
    """What the guest says there is."""
    return {
        "name": name, "path": f"/{name}", "kind": kind, "size_bytes": 1, "mode": 0o644, "uid": 0, "gid": 0,
        "mtime_ns": 1_000_000_000, **more,
    }  # fmt: skip


class Guest:
    """What a guest says it holds: entries by folder, and the content of every file."""

    def __init__(self, hub: ScriptedHub) -> None:
        self.folders: dict[str, list[dict[str, Any]]] = {}
        self.root = entry("t", "dir", mode=0o755)
        self.opened = entry("t")
        self.content = b"x"
        self.sha256 = ""
        hub.handlers |= {"file.stat": self._stat, "file.list": self._list, "file.read": self._read}

    async def _stat(self, channel: Channel) -> None:
        await answer(self.root)(channel)

    async def _list(self, channel: Channel) -> None:
        channel.accept()
        entries = self.folders.get(channel.params["path"], [])
        await channel.send_message({"entries": entries})
        channel.end(0)
        channel.close({"entries": len(entries)})

    async def _read(self, channel: Channel) -> None:
        channel.accept(self.opened)
        await channel.write(1, self.content)
        channel.end(1)
        sha256 = self.sha256 or hashlib.sha256(self.content).hexdigest()
        channel.close({"size_bytes": len(self.content), "sha256": sha256})


@pytest.fixture
def guest(scripted_hub: ScriptedHub) -> Guest:
    return Guest(scripted_hub)


@pytest.fixture
async def files(scripted_hub: ScriptedHub) -> AsyncIterator[Files]:
    async with link_to(scripted_hub) as link:
        yield Files(link, "sb_1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where it is copied to; everything beside it is outside."""
    (tmp_path / "outer").mkdir()
    (tmp_path / "outside").mkdir()
    return tmp_path / "outer/copy"


@pytest.fixture(autouse=True)
def _nothing_is_left_open_or_outside(place: Path) -> Any:
    yield
    assert list((place.parent.parent / "outside").iterdir()) == []
    assert {path.name for path in place.parent.iterdir()} <= {"copy"}
    assert list(place.rglob(".cloche-*")) == []


@pytest.mark.parametrize(
    "name", ["..", ".", "", "/etc/passwd", "../outside/a", "a/../../b", "a\0b", "n" * 256]
)
@pytest.mark.parametrize("kind", ["file", "dir", "link", "other"])
async def test_a_name_that_leads_elsewhere_ends_the_copy_before_it_begins(
    files: Files, guest: Guest, place: Path, name: str, kind: str
) -> None:
    guest.folders["t"] = [entry("good"), entry(name, kind, target="good")]
    with pytest.raises(SenselessAnswer):
        await files.download("t", place)
    assert not place.exists()


async def test_links_that_lead_out_are_left_out_and_told(files: Files, guest: Guest, place: Path) -> None:
    targets = ["/etc/passwd", "../outside", "..", "d/../../outside", "", "ok", "d/ok"]
    guest.folders["t"] = [entry(f"l{number}", "link", target=target) for number, target in enumerate(targets)]
    guest.folders["t"] += [entry("d", "dir"), entry("lost", "link")]
    guest.folders["t/d"] = [entry("up", "link", target="../ok"), entry("out", "link", target="../../ok")]
    copied = await files.download("t", place)
    made = {
        str(path.relative_to(place)): str(path.readlink()) for path in place.rglob("*") if path.is_symlink()
    }
    assert made == {"l5": "ok", "l6": "d/ok", "d/up": "../ok"}
    assert {skipped.path for skipped in copied.skipped} == {"l0", "l1", "l2", "l3", "l4", "lost", "d/out"}


async def test_nothing_is_made_through_a_link_of_the_same_copy(
    files: Files, guest: Guest, place: Path
) -> None:
    guest.folders["t"] = [
        entry("sub", "dir"),
        entry("d", "link", target="sub"),
        entry("d", "dir"),
        entry("d"),
    ]
    guest.folders["t/d"] = [entry("a")]
    with pytest.raises(OSError, match="folder is there"):
        await files.download("t", place)
    assert not (place / "d").is_symlink()
    assert list((place / "sub").iterdir()) == []


async def test_nothing_is_made_through_a_link_that_is_there(files: Files, guest: Guest, place: Path) -> None:
    outside = place.parent.parent / "outside"
    place.mkdir()
    (place / "d").symlink_to(outside)
    (place / "a").symlink_to(outside / "a")
    guest.folders["t"] = [entry("a")]
    await files.download("t", place)
    assert (place / "a").read_text() == "x"
    guest.folders["t"] = [entry("d", "dir", mode=0o777)]
    guest.folders["t/d"] = [entry("a")]
    with pytest.raises(NotADirectoryError):
        await files.download("t", place)


async def test_a_folder_s_own_link_named_by_the_user_is_followed(
    files: Files, guest: Guest, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    place.symlink_to(tmp_path / "real")
    guest.folders["t"] = [entry("a")]
    await files.download("t", place)
    assert (tmp_path / "real/a").read_text() == "x"
    place.unlink()


async def test_no_set_uid_no_device_no_name_that_is_no_text(files: Files, guest: Guest, place: Path) -> None:
    guest.folders["t"] = [
        entry("su"),
        entry("sda", "other"),
        entry("new", "novelty"),
        entry("\\xff", unusable=True),
    ]
    guest.opened = entry("su", mode=0o7755)
    copied = await files.download("t", place)
    assert [path.name for path in place.iterdir()] == ["su"]
    assert (place / "su").stat().st_mode & 0o7022 == 0
    assert copied.skipped == (
        Skipped("sda", "it is no file, folder or link"),
        Skipped("new", "it is no file, folder or link"),
        Skipped("\\xff", "its name is not UTF-8"),
    )


async def test_a_file_does_not_replace_a_folder_nor_a_folder_a_file(
    files: Files, guest: Guest, place: Path
) -> None:
    (place / "a").mkdir(parents=True)
    guest.folders["t"] = [entry("a")]
    with pytest.raises(IsADirectoryError):
        await files.download("t", place)
    guest.root = entry("t")
    with pytest.raises(IsADirectoryError):
        await files.download("t", place)
    (place / "a").rmdir()
    (place / "a").write_text("mine")
    guest.root = entry("t", "dir")
    guest.folders["t"] = [entry("a", "dir")]
    with pytest.raises(NotADirectoryError):
        await files.download("t", place)
    assert (place / "a").read_text() == "mine"


async def test_a_device_is_not_what_is_copied_nor_what_is_replaced(
    files: Files, guest: Guest, place: Path
) -> None:
    guest.root = entry("t", "other")
    with pytest.raises(WrongState):
        await files.download("t", place)
    guest.root = entry("t")
    os.mkfifo(place)
    with pytest.raises(FileExistsError):
        await files.download("t", place)
    place.unlink()


async def test_folders_without_an_end_have_one(files: Files, guest: Guest, place: Path) -> None:
    class Bottomless(dict[str, list[dict[str, Any]]]):
        def get(self, key: str, default: Any = None) -> Any:
            del key, default
            return [entry("d", "dir")]

    guest.folders = Bottomless()
    with pytest.raises(TooLarge, match=f"{MAX_DEPTH} deep"):
        await files.download("t", place)
    assert not place.exists()


async def test_a_listing_without_an_end_has_one(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path
) -> None:
    async def endless(channel: Channel) -> None:
        channel.accept()
        number = 0
        while True:
            await channel.send_message({"entries": [entry(f"f{number + n}") for n in range(64)]})
            number += 64

    scripted_hub.handlers["file.list"] = endless
    with pytest.raises(TooLarge, match="more than 1000 files"):
        await files.download("t", place, max_entries=1000)
    assert not place.exists()


@pytest.mark.parametrize("announced", [3, 0, -5])
async def test_a_file_cannot_be_more_than_it_said(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path, announced: int
) -> None:
    async def endless(channel: Channel) -> None:
        channel.accept(entry("t", size_bytes=announced))
        while True:
            await channel.write(1, bytes(1 << 16))

    scripted_hub.handlers["file.read"] = endless
    guest.root = entry("t", size_bytes=announced)
    with pytest.raises(TooLarge, match=f"more than the {announced if announced > 0 else UNSIZED_MOST} bytes"):
        await files.download("t", place)
    assert not place.exists()


async def test_a_file_without_a_size_may_have_a_little(files: Files, guest: Guest, place: Path) -> None:
    guest.root = guest.opened = entry("cpuinfo", size_bytes=0)
    guest.content = b"model name"
    await files.download("/proc/cpuinfo", place)
    assert place.read_bytes() == b"model name"


async def test_a_file_that_says_more_than_the_disk_has_is_not_begun(
    files: Files, guest: Guest, place: Path
) -> None:
    guest.root = guest.opened = entry("t", size_bytes=1 << 60)
    with pytest.raises(NoSpace):
        await files.download("t", place)
    assert not place.exists()


async def test_what_is_not_what_the_hub_sent_leaves_what_was_there(
    files: Files, guest: Guest, place: Path
) -> None:
    place.write_text("before")
    guest.root = entry("t")
    guest.sha256 = "00" * 32
    with pytest.raises(InternalError, match="not what the hub sent"):
        await files.download("t", place)
    assert place.read_text() == "before"


async def test_a_link_that_breaks_in_the_middle_leaves_nothing_half_written(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path
) -> None:
    async def dying(channel: Channel) -> None:
        channel.accept(entry("t", size_bytes=1 << 20))
        await channel.write(1, bytes(1 << 19))
        raise NoSpace("the machine is gone")

    scripted_hub.handlers["file.read"] = dying
    guest.root = entry("t")
    with pytest.raises(CodedError, match="the machine is gone"):
        await files.download("t", place)
    assert not place.exists()


async def test_cancelling_leaves_nothing_half_written(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path
) -> None:
    async def stuck(channel: Channel) -> None:
        channel.accept(entry("t", size_bytes=1 << 20))
        await channel.write(1, bytes(1 << 19))
        await asyncio.Event().wait()

    scripted_hub.handlers["file.read"] = stuck
    guest.folders["t"] = [entry("a"), entry("b")]
    moved = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(
            files.download("t", place, on_progress=lambda done, *_: moved.set() if done >= 1 << 20 else None)
        )
        await moved.wait()
        task.cancel()
    assert list(place.iterdir()) == []


async def test_many_are_copied_at_once_and_no_more(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path
) -> None:
    read, full = scripted_hub.handlers["file.read"], asyncio.Event()
    at_once, most = 0, 0

    async def counting(channel: Channel) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == LANES:
            full.set()
        await full.wait()
        at_once -= 1
        await read(channel)

    scripted_hub.handlers["file.read"] = counting
    guest.folders["t"] = [entry(f"f{number}") for number in range(5 * LANES)]
    copied = await files.download("t", place)
    assert (copied.files, len(list(place.iterdir()))) == (5 * LANES, 5 * LANES)
    assert most == LANES


async def test_the_first_error_ends_it_and_names_the_file(
    files: Files, guest: Guest, scripted_hub: ScriptedHub, place: Path
) -> None:
    read = scripted_hub.handlers["file.read"]

    async def failing(channel: Channel) -> None:
        if channel.params["path"] == "t/bad":
            raise WrongState("/t/bad: it is no regular file")
        await read(channel)

    scripted_hub.handlers["file.read"] = failing
    guest.folders["t"] = [entry("a"), entry("bad")]
    with pytest.raises(WrongState, match="/t/bad"):
        await files.download("t", place)


async def test_no_host_folder_to_copy_into_is_named(files: Files, guest: Guest, place: Path) -> None:
    guest.root = entry("t")
    with pytest.raises(FileNotFoundError) as raised:
        await files.download("t", place / "nowhere/t")
    assert raised.value.filename == str(place / "nowhere")
