"""How long recordings are kept, and what a killed hub has left of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from structlog.testing import capture_logs

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace
from cloche_hub.ports import Header, RecordingKind, RecordingRow
from cloche_hub.services.recordings import Retention
from cloche_hub.store.recordings.recordings import StoredRecordings, open_recordings
from cloche_hub.store.store import open_store
from tests.support.hub import FlakyStore, Time, until


@dataclass
class Archive:
    """Real recordings in a folder, and a time of day."""

    store: FlakyStore
    recordings: StoredRecordings
    time: Time

    def retention(self, *, days: float = 30, max_total_bytes: int = 1 << 30) -> Retention:
        return Retention(self.recordings, days=days, max_total_bytes=max_total_bytes, clock=self.time.clock)

    async def record(self, name: str) -> RecordingRow:
        recording = await self.recordings.begin(header(name, self.time))
        recording.output(b"hello")
        return await recording.finish()

    async def names(self) -> list[str]:
        return [row.id for row in await self.recordings.list(limit=100)]

    async def audited(self, name: AuditName) -> list[str]:
        return [
            str(event.detail["recording"])
            for event in await self.store.audit.tail(limit=100)
            if event.event == name
        ]


def header(name: str, time: Time) -> Header:
    return Header(
        id=f"rec_{name}",
        kind=RecordingKind.CONSOLE,
        of="con_1",
        sandbox="sb_1",
        sandbox_name="a",
        owner="admin",
        title="a/1",
        rows=24,
        cols=80,
        term="xterm",
        command=None,
        started_at=time.now,
    )


@asynccontextmanager
async def archive(folder: Path, time: Time) -> AsyncIterator[Archive]:
    async with open_store(folder / "home") as real:
        store = FlakyStore(real)
        async with open_recordings(store, folder / "home", now=time.clock.now) as recordings:
            yield Archive(store, recordings, time)


async def test_what_is_too_old_is_deleted_and_the_audit_says_so(tmp_path: Path) -> None:
    async with archive(tmp_path, Time()) as it:
        await it.record("old")
        it.time.passes(20 * 86400)
        await it.record("new")
        retention = it.retention(days=30)
        await retention.expire()
        assert await it.names() == ["rec_new", "rec_old"]
        it.time.passes(11 * 86400)
        await retention.expire()
        assert await it.names() == ["rec_new"]
        assert await it.audited(AuditName.RECORDING_REMOVED) == ["rec_old"]


async def test_what_is_too_much_is_deleted_from_the_oldest_on(tmp_path: Path) -> None:
    async with archive(tmp_path, Time()) as it:
        sizes = []
        for name in ("a", "b", "c"):
            it.time.passes(1)
            sizes.append((await it.record(name)).size_bytes or 0)
        await it.retention(max_total_bytes=sizes[1] + sizes[2]).expire()
        assert await it.names() == ["rec_c", "rec_b"]


async def test_what_a_killed_hub_left_is_finished_and_the_audit_has_its_digest(tmp_path: Path) -> None:
    time = Time()
    async with archive(tmp_path, time) as it:
        recording = await it.recordings.begin(header("left", time))
        recording.output(b"half a")
        await recording.flush()
    async with archive(tmp_path, time) as it:
        await it.retention().recover()
        (row,) = await it.recordings.list(limit=100)
        assert (row.is_cut, row.sha256 is not None) == (True, True)
        assert await it.audited(AuditName.RECORDING_FINISHED) == ["rec_left"]


async def test_a_full_disk_costs_a_line_in_the_log_and_is_tried_again(tmp_path: Path) -> None:
    async with archive(tmp_path, Time()) as it:
        await it.record("old")
        it.time.passes(31 * 86400)
        it.store.refuses = NoSpace("the disk is full")
        with capture_logs() as logs:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(it.retention().run_for_ever(interval_s=0.001))
                await until(lambda: any(line["event"] == "recordings_not_expired" for line in logs))
                it.store.refuses = None
                await until(lambda: any(line["event"] == "recording_removed" for line in logs))
                running.cancel()
        assert await it.names() == []
