"""Files in sandboxes, through a whole hub on fakes: what passes, what is held, and links that break."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import Cancelled, Conflict, LinkSilent, NoSpace, NotFound, WrongState
from cloche_wire.aio import Channel
from cloche_wire.limits import Limits
from tests.support.fake_agent import counted
from tests.support.fake_files import HOME, Node
from tests.support.file_requests import BYTES, drain, files_of
from tests.support.hub import running_hub, until, within

MIB = 1 << 20
WINDOW = 32 << 10
SLOW = Limits(window=WINDOW)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_a_file_goes_in_and_comes_out_with_the_hubs_hash(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files, data = files_of(client.open, "a"), counted(MIB)
        written = await within(files.write("f", data, mode=0o600))
        assert (written["path"], written["size_bytes"], written["mode"], written["sha256"]) == (
            f"{HOME}/f",
            MIB,
            0o600,
            sha256(data),
        )
        reading = client.open("file.read", sandbox="a", path="f")
        entry = await within(reading.wait_accepted())
        assert {**entry, "sha256": sha256(data)} == written
        assert await within(drain(reading)) == data
        assert await within(reading.result()) == {"size_bytes": MIB, "sha256": sha256(data)}


async def test_a_part_of_a_file_is_read_and_hashed_as_a_part(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        await within(files.write("f", b"0123456789"))
        assert await within(files.read("f", offset=3, length=4)) == (
            b"3456",
            {"size_bytes": 4, "sha256": sha256(b"3456")},
        )
        assert (await within(files.read("f", offset=99)))[1]["size_bytes"] == 0


async def test_the_small_requests_reach_the_guest_and_their_answers_the_client(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        assert (await within(files.call("make_dir", "d/e", parents=True)))["kind"] == "dir"
        await within(files.write("d/f", b"x"))
        assert (await within(files.call("rename", "d/f", to="d/g")))["name"] == "g"
        assert (await within(files.call("set_mode", "d/g", mode=0o400)))["mode"] == 0o400
        assert (await within(files.call("link", "l", target="d/g")))["target"] == "d/g"
        assert (await within(files.call("stat", "l")))["kind"] == "file"
        assert (await within(files.call("stat", "l", follow=False)))["kind"] == "link"
        assert [entry["name"] for entry in await within(files.list("d"))] == ["e", "g"]
        assert await within(files.call("remove", "d", recursive=True)) == {"removed": 3}


async def test_the_guests_refusals_are_told_in_its_words(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        with pytest.raises(NotFound, match=f"{HOME}/none: No such file"):
            await within(files.read("none"))
        with pytest.raises(WrongState, match="no regular file"):
            await within(files.write("/tmp", b""))
        with pytest.raises(NotFound):
            await within(files.list("none"))
        with pytest.raises(Conflict):
            await within(files.call("make_dir", "/tmp"))


async def test_a_large_folder_comes_in_batches(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=SLOW) as client:
        await client.create(name="a")
        names = [f"n{number:05}" for number in range(5000)]
        hub.machine.agent.files.tree.update({f"/tmp/{name}": Node("file") for name in names})
        entries = await within(files_of(client.open, "a").list("/tmp"))
        assert [entry["name"] for entry in entries] == names


# Who waits for whom.


async def test_a_client_that_does_not_read_holds_the_file_back_in_the_guest(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=SLOW) as client:
        await client.create(name="a")
        files = hub.machine.agent.files
        files.tree["/tmp/f"] = Node("file", counted(2 * MIB))
        reading = client.open("file.read", sandbox="a", path="/tmp/f")
        await until(lambda: files.sent > 0)
        for _ in range(5):
            await client.call("sandbox.list")  # the link is not held up
        assert files.sent <= WINDOW
        assert await within(drain(reading)) == counted(2 * MIB)
        assert (await within(reading.result()))["sha256"] == sha256(counted(2 * MIB))


async def test_a_guest_that_does_not_read_holds_the_file_back_at_the_client(tmp_path: Path) -> None:
    async def deaf(channel: Channel) -> None:
        channel.accept()
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.write"] = deaf
        writing = await within(files_of(client.open, "a").begin_write("f"))
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(writing.write(BYTES, bytes(4 * writing.window)))
            await until(lambda: writing.credit(BYTES) == 0)
            for _ in range(5):
                await client.call("sandbox.list")
            assert (sending.done(), writing.credit(BYTES)) == (False, 0)
            sending.cancel()


async def test_a_client_that_does_not_read_a_list_holds_up_nobody(tmp_path: Path) -> None:
    made = 0

    async def endless(channel: Channel) -> None:
        nonlocal made
        channel.accept()
        while True:
            entry = {"name": "x", "path": "/x", "kind": "file"}
            numbers = dict.fromkeys(("size_bytes", "mode", "uid", "gid", "mtime_ns"), 0)
            await channel.send_message({"entries": [{**entry, **numbers}] * 64})
            made += 1

    async with running_hub(tmp_path / "home") as hub, hub.client(limits=SLOW) as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.list"] = endless
        listing = client.open("file.list", sandbox="a", path="/")
        await within(listing.wait_accepted())
        await until(lambda: made > 10)
        stalled = -1
        while made != stalled:
            stalled = made
            for _ in range(10):
                await client.call("sandbox.list")
        assert made < 100
        listing.reset(Cancelled("enough"))
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_the_removal_of_a_huge_tree_is_waited_for_once_it_is_taken(tmp_path: Path) -> None:
    done = asyncio.Event()

    async def slow(channel: Channel) -> None:
        if channel.params["recursive"]:
            channel.accept()
            await done.wait()
            channel.close({"removed": 1 << 40})
        await channel.wait_confirmed()

    async with (
        running_hub(tmp_path / "home", heartbeat_interval_s=0.05, silent_after_s=0.2) as hub,
        hub.client() as client,
    ):
        await client.create(name="a")
        files = files_of(client.open, "a")
        hub.machine.agent.overrides["file.remove"] = slow
        async with asyncio.TaskGroup() as tasks:
            removing = tasks.create_task(within(files.call("remove", "d", recursive=True)))
            # This one is never taken, so by its end the other has outlived the bound.
            with pytest.raises(LinkSilent):
                await within(files.call("remove", "d"))
            await asyncio.sleep(0)
            assert not removing.done()
            done.set()
        assert removing.result() == {"removed": 1 << 40}


# Who goes in the middle.


async def test_a_client_that_gives_up_a_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files, tree = files_of(client.open, "a"), hub.machine.agent.files
        await within(files.write("f", b"before"))
        writing = await within(files.begin_write("f"))
        await writing.write(BYTES, b"half")
        await until(lambda: tree.taken == len(b"before" + b"half"))
        writing.reset(Cancelled("enough"))
        await until(lambda: tree.under_way == 0)
        assert tree.tree[f"{HOME}/f"].data == b"before"
        failed = await hub.happened(AuditName.FILE_FAILED)
        assert failed.detail == {
            "request": "file.write",
            "path": "f",
            "exclusive": False,
            "parents": False,
            "size_bytes": 4,
            "sha256": sha256(b"half"),
            "code": "cancelled",
            "reason": "enough",
        }


async def test_a_client_that_vanishes_in_a_write_leaves_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=0.05) as hub:
        async with hub.client() as client:
            await client.create(name="a")
            tree = hub.machine.agent.files
            writing = await within(files_of(client.open, "a").begin_write("f"))
            await writing.write(BYTES, b"half")
            await until(lambda: tree.under_way == 1 and tree.taken)
            await client.cut()
            await hub.happened(AuditName.FILE_FAILED)
            await until(lambda: tree.under_way == 0)
        assert f"{HOME}/f" not in tree.tree


async def test_a_client_that_gives_up_a_read_or_a_change_is_not_worked_for_any_more(tmp_path: Path) -> None:
    given_up: list[str] = []

    async def slow(channel: Channel) -> None:
        channel.accept()
        try:
            await channel.wait_confirmed()
        finally:
            given_up.append(channel.kind)

    async with running_hub(tmp_path / "home") as hub, hub.client(limits=SLOW) as client:
        await client.create(name="a")
        files = hub.machine.agent.files
        files.tree["/tmp/f"] = Node("file", bytes(MIB))
        reading = client.open("file.read", sandbox="a", path="/tmp/f")
        await within(reading.wait_accepted())
        reading.reset(Cancelled("enough"))
        await until(lambda: files.under_way == 0)
        for kind in ("file.remove", "file.stat", "file.list"):
            hub.machine.agent.overrides[kind] = slow
            asking = client.open(kind, sandbox="a", path="/tmp")
            for _ in range(3):
                await client.call("sandbox.list")
            asking.reset(Cancelled("enough"))
            await until(lambda kind=kind: kind in given_up)  # type: ignore[misc]


# Links that break.


@pytest.mark.parametrize("broken", ["client", "guest"])
async def test_a_read_goes_on_over_new_links_without_loss_or_doubling(tmp_path: Path, broken: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=SLOW) as client:
        await client.create(name="a")
        data = counted(MIB)
        hub.machine.agent.files.tree["/tmp/f"] = Node("file", data)
        reading = client.open("file.read", sandbox="a", path="/tmp/f")
        received = bytearray()
        for _ in range(4):
            received += await within(reading.read(BYTES))
            if broken == "client":
                await client.cut()
                await client.link()
            else:
                hub.machine.agent.drop_link()
        received += await within(drain(reading))
        assert received == data
        assert await within(reading.result()) == {"size_bytes": MIB, "sha256": sha256(data)}


@pytest.mark.parametrize("broken", ["client", "guest"])
async def test_a_write_goes_on_over_new_links_without_loss_or_doubling(tmp_path: Path, broken: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        data, tree = counted(3 * MIB), hub.machine.agent.files
        writing = await within(files_of(client.open, "a").begin_write("f"))
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(writing.write(BYTES, data))
            for turn in range(1, 5):
                await until(lambda turn=turn: tree.taken >= turn * MIB // 2)  # type: ignore[misc]
                if broken == "client":
                    await client.cut()
                    await client.link()
                else:
                    hub.machine.agent.drop_link()
            await within(sending)
        writing.end(BYTES)
        assert (await within(writing.result()))["sha256"] == sha256(data)
        assert tree.tree[f"{HOME}/f"].data == data


async def test_a_full_disk_in_the_guest_is_told_as_that_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files, tree = files_of(client.open, "a"), hub.machine.agent.files
        await within(files.write("f", b"before"))
        tree.room = 1000
        with pytest.raises(NoSpace, match="machine's disk is full"):
            await within(files.write("f", counted(MIB)))
        assert tree.tree[f"{HOME}/f"].data == b"before"
        assert (await hub.happened(AuditName.FILE_FAILED)).detail["code"] == "no_space"
