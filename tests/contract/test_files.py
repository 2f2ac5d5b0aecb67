"""What every agent owes the hub about files: one suite, over the fake agent and over a real one in a real machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.file_entries import parse_entry
from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS
from cloche_hub.errors import BadRequest, Cancelled, Conflict, NotFound, WrongState
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Guest, Hypervisor, MachineSpec, Progress
from cloche_wire.aio import Channel
from cloche_wire.rendezvous import locations
from tests.support.fake_agent import counted
from tests.support.fake_hypervisor import FakeHypervisor
from tests.support.file_requests import BYTES, FileRequests, drain
from tests.support.machines import guest_of, open_hypervisor

BOUND_S = 150.0
"""A template is booted in it, in software emulation on a busy host."""
MIB = 1 << 20


@contextlib.asynccontextmanager
async def _fake(_request: pytest.FixtureRequest, _folder: Path) -> AsyncIterator[tuple[Hypervisor, str]]:
    async with FakeHypervisor().running() as hypervisor:
        yield hypervisor, "1" * 32


@contextlib.asynccontextmanager
async def _qemu(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[tuple[Hypervisor, str]]:
    image = request.getfixturevalue("minimal_image")
    async with ImageCache(locations().cache) as images, open_hypervisor(folder, images) as hypervisor:
        yield hypervisor, image.digest


@contextlib.asynccontextmanager
async def _guest(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Guest]:
    async with request.param(request, folder) as (hypervisor, image):
        flavor = FLAVORS[DEFAULT_FLAVOR]
        await hypervisor.prepare(image, flavor, progress=_ignore)
        machine = await hypervisor.start(MachineSpec("sb_files", image, flavor))
        try:
            async with guest_of(machine) as guest:
                yield guest
        finally:
            await machine.stop(grace_s=0)


def _ignore(_progress: Progress) -> None:
    """Nobody looks."""


Opened = Callable[[], AbstractAsyncContextManager[FileRequests]]
SUBJECTS = [pytest.param(_fake, id="fake"), pytest.param(_qemu, id="qemu", marks=pytest.mark.machine)]


@pytest.fixture(params=SUBJECTS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens the files of a fresh machine; leaving them ends it."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[FileRequests]:
        async with asyncio.timeout(BOUND_S), _guest(request, tmp_path) as guest:

            async def open_channel(kind: str, params: dict[str, Any]) -> Channel:
                return await guest.open_work(kind, params, window=64 << 10)

            yield FileRequests(open_channel)

    return opened


async def test_what_is_written_is_what_is_read(opened: Opened) -> None:
    async with opened() as files:
        data = counted(MIB)
        written = await files.write("f", data)
        assert (written["name"], written["kind"], written["size_bytes"]) == ("f", "file", MIB)
        assert written["path"].startswith("/")
        assert await files.read(written["path"]) == (data, {"size_bytes": MIB})
        assert await files.read("f", offset=5, length=7) == (data[5:12], {"size_bytes": 7})
        assert await files.read("f", offset=MIB + 1) == (b"", {"size_bytes": 0})
        assert await files.call("stat", "f") == parse_entry(written)


async def test_a_read_begins_with_the_files_entry(opened: Opened) -> None:
    async with opened() as files:
        written = await files.write("f", b"data")
        reading = await files.open("file.read", {"path": "f"})
        assert await reading.wait_accepted() == written
        assert await drain(reading) == b"data"


async def test_an_empty_file_is_a_file(opened: Opened) -> None:
    async with opened() as files:
        assert (await files.write("f", b""))["size_bytes"] == 0
        assert await files.read("f") == (b"", {"size_bytes": 0})


async def test_a_write_keeps_the_permissions_unless_it_is_told_others(opened: Opened) -> None:
    async with opened() as files:
        await files.write("f", b"1", mode=0o640)
        assert (await files.write("f", b"2"))["mode"] == 0o640
        assert (await files.write("f", b"3", mode=0o600))["mode"] == 0o600


async def test_a_write_that_is_given_up_leaves_what_was_there(opened: Opened) -> None:
    async with opened() as files:
        await files.write("f", b"before")
        for path in ("f", "new"):
            writing = await files.begin_write(path)
            await writing.write(BYTES, b"half")
            writing.reset(Cancelled("enough"))
        assert (await files.read("f"))[0] == b"before"
        names = [entry["name"] for entry in await files.list(".")]
        assert "f" in names
        assert not [name for name in names if name == "new" or str(name).endswith(".part")]


async def test_an_exclusive_write_takes_no_name_that_is_taken(opened: Opened) -> None:
    async with opened() as files:
        await files.write("f", b"1", exclusive=True)
        with pytest.raises(Conflict):
            await files.write("f", b"2", exclusive=True)
        assert (await files.read("f"))[0] == b"1"


async def test_folders_above_are_made_if_asked(opened: Opened) -> None:
    async with opened() as files:
        with pytest.raises(NotFound):
            await files.write("a/b/f", b"x")
        await files.write("a/b/f", b"x", parents=True)
        with pytest.raises(NotFound):
            await files.call("make_dir", "c/d")
        assert (await files.call("make_dir", "c/d", parents=True, mode=0o700))["mode"] == 0o700
        # One that is there already is no error then.
        assert (await files.call("make_dir", "c/d", parents=True))["kind"] == "dir"
        with pytest.raises(Conflict):
            await files.call("make_dir", "c/d")


async def test_a_list_has_every_entry_once(opened: Opened) -> None:
    async with opened() as files:
        await files.call("make_dir", "d")
        assert await files.list("d") == []
        for number in range(150):
            await files.call("link", f"d/l{number:03}", target="nowhere")
        entries = await files.list("d")
        assert [entry["name"] for entry in entries] == [f"l{number:03}" for number in range(150)]
        assert {(entry["kind"], entry["target"]) for entry in entries} == {("link", "nowhere")}
        assert [parse_entry(entry) for entry in entries] == entries


async def test_a_removal_takes_a_tree_only_if_asked(opened: Opened) -> None:
    async with opened() as files:
        await files.write("d/e/f", b"x", parents=True)
        with pytest.raises(WrongState):
            await files.call("remove", "d")
        assert await files.call("remove", "d/e/f") == {"removed": 1}
        assert await files.call("remove", "d", recursive=True) == {"removed": 2}
        with pytest.raises(NotFound):
            await files.call("remove", "d", recursive=True)


async def test_a_rename_replaces_only_if_asked(opened: Opened) -> None:
    async with opened() as files:
        await files.write("a", b"a")
        await files.write("b", b"b")
        with pytest.raises(Conflict):
            await files.call("rename", "a", to="b")
        assert (await files.call("rename", "a", to="b", replace=True))["name"] == "b"
        assert (await files.read("b"))[0] == b"a"
        with pytest.raises(NotFound):
            await files.call("rename", "a", to="c")


async def test_permissions_are_set(opened: Opened) -> None:
    async with opened() as files:
        await files.write("f", b"x")
        assert (await files.call("set_mode", "f", mode=0o751))["mode"] == 0o751
        assert (await files.call("stat", "f"))["mode"] == 0o751


async def test_links_are_made_followed_and_looked_at(opened: Opened) -> None:
    async with opened() as files:
        await files.write("f", b"data")
        made = await files.call("link", "soft", target="f")
        assert (made["kind"], made["target"]) == ("link", "f")
        assert (await files.call("link", "hard", target="f", symbolic=False))["kind"] == "file"
        assert (await files.call("stat", "soft"))["kind"] == "file"
        assert (await files.call("stat", "soft", follow=False))["kind"] == "link"
        for name in ("soft", "hard"):
            assert (await files.read(name))[0] == b"data"
        with pytest.raises(Conflict):
            await files.call("link", "soft", target="f")
        await files.call("link", "a", target="b")
        await files.call("link", "b", target="a")
        with pytest.raises(BadRequest):
            await files.read("a")


async def test_only_regular_files_have_content(opened: Opened) -> None:
    async with opened() as files:
        for path in ("/", "/tmp"):
            with pytest.raises(WrongState):
                await files.read(path)
            with pytest.raises(WrongState):
                await files.write(path, b"x")


@pytest.mark.parametrize("kind", ["read", "stat", "list", "remove", "set_mode"])
async def test_what_is_not_there_is_not_found(opened: Opened, kind: str) -> None:
    async with opened() as files:
        params: dict[str, Any] = {"mode": 0} if kind == "set_mode" else {}
        with pytest.raises(NotFound, match="none"):
            await files.call(kind, "none", **params)
