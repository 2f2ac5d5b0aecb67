"""What the audit is told of files, and when, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace, NotFound
from tests.support.fake_files import HOME
from tests.support.file_requests import BYTES, files_of
from tests.support.hub import running_hub, until, within

DIGEST = hashlib.sha256(b"data").hexdigest()


async def test_what_was_read_written_and_changed_is_recorded_and_what_was_looked_at_is_not(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        sandbox = await client.create(name="a")
        files = files_of(client.open, "a")
        await within(files.write("f", b"data", mode=0o600, user="root"))
        await within(files.read("f"))
        await within(files.call("stat", "f"))
        await within(files.list("."))
        await within(files.call("make_dir", "d"))
        await within(files.call("rename", "f", to="d/f"))
        await within(files.call("set_mode", "d/f", mode=0))
        await within(files.call("link", "l", target="d/f"))
        await within(files.call("remove", "d", recursive=True))
        events = [event for event in await hub.events() if event.event.startswith("file.")]
        assert {event.sandbox for event in events} == {sandbox["id"]}
        whole = {"size_bytes": 4, "sha256": DIGEST}
        assert [(event.event, dict(event.detail)) for event in events] == [
            (
                "file.written",
                {"path": "f", "user": "root", "mode": 0o600, "exclusive": False, "parents": False, **whole},
            ),
            ("file.read", {"path": "f", "offset": 0, **whole}),
            ("file.changed", {"change": "make_dir", "path": "d", "parents": False}),
            ("file.changed", {"change": "rename", "path": "f", "to": "d/f", "replace": False}),
            ("file.changed", {"change": "set_mode", "path": "d/f", "mode": 0}),
            ("file.changed", {"change": "link", "path": "l", "target": "d/f", "symbolic": True}),
            ("file.changed", {"change": "remove", "path": "d", "recursive": True, "removed": 2}),
        ]


async def test_a_refusal_of_the_guest_is_recorded_as_a_failure(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        for attempt in (files.read("none"), files.call("remove", "none"), files.call("stat", "none")):
            with pytest.raises(NotFound):
                await within(attempt)
        failed = await hub.events(AuditName.FILE_FAILED)
        assert [(event.detail["request"], event.detail["code"]) for event in failed] == [
            ("file.read", "not_found"),
            ("file.remove", "not_found"),
        ]


@pytest.mark.parametrize("kind", ["read", "write", "make_dir"])
async def test_the_client_hears_that_it_is_done_only_when_that_is_durable(tmp_path: Path, kind: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        await within(files.write("f", b"data"))
        hub.store.gate.clear()
        async with asyncio.TaskGroup() as tasks:
            if kind == "read":
                asking = tasks.create_task(within(files.read("f")))
            elif kind == "write":
                asking = tasks.create_task(within(files.write("g", b"data")))  # type: ignore[arg-type]
            else:
                asking = tasks.create_task(within(files.call("make_dir", "d")))  # type: ignore[arg-type]
            await until(lambda: hub.store.waiting or asking.done())
            try:
                for _ in range(5):
                    await client.call("sandbox.list")
                assert not asking.done()
            finally:
                hub.store.gate.set()


async def test_what_is_done_but_cannot_be_recorded_is_told_as_that_and_recorded_later(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files, tree = files_of(client.open, "a"), hub.machine.agent.files.tree
        writing = await within(files.begin_write("f"))
        await writing.write(BYTES, b"data")
        hub.store.refuses = NoSpace("the disk is full")
        writing.end(BYTES)
        with pytest.raises(NoSpace, match="has been written, but the hub cannot record it now") as raised:
            await within(writing.result())
        assert raised.value.details == {"size_bytes": 4, "sha256": DIGEST}
        assert tree[f"{HOME}/f"].data == b"data"
        hub.store.refuses = None
        await hub.happened(AuditName.FILE_WRITTEN)
        assert await hub.events(AuditName.FILE_FAILED) == []


async def test_nothing_is_begun_while_what_is_done_cannot_be_recorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files, tree = files_of(client.open, "a"), hub.machine.agent.files.tree
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace, match="has been done, but"):
            await within(files.call("make_dir", "d"))
        for attempt in (
            files.call("remove", "d"),
            files.write("f", b""),
            files.read("/tmp"),
            files.call("make_dir", "e"),
        ):
            with pytest.raises(NoSpace, match="not begun"):
                await within(attempt)
        # A look changes nothing and needs no record.
        assert (await within(files.call("stat", "d")))["kind"] == "dir"
        assert f"{HOME}/e" not in tree
        hub.store.refuses = None
        await hub.happened(AuditName.FILE_CHANGED)
        await within(files.call("remove", "d"))
        assert await hub.events(AuditName.FILE_FAILED) == []


async def test_a_failure_that_cannot_be_recorded_now_is_told_all_the_same(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NotFound):
            await within(files_of(client.open, "a").read("none"))
        hub.store.refuses = None
        await hub.happened(AuditName.FILE_FAILED)
