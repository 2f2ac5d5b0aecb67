"""Recordings in a home: rows, files and audit together, and what another hub makes of what a killed one left."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import timedelta
from pathlib import Path

import pytest

from cloche_hub.domain.audit import AuditEvent
from cloche_hub.errors import NoSpace, NotFound, StoreFailed
from cloche_hub.ports import Found, RecordingRow
from cloche_hub.store.recordings import table
from cloche_hub.store.recordings.recordings import StoredRecordings, open_recordings
from cloche_hub.store.rows import Fetches
from cloche_hub.store.store import Store
from cloche_hub.store.transaction import Transaction
from tests.support.casts import STARTED, header, parse_cast, shown

PLENTY = 1 << 40


def opened(store: Store, home: Path) -> AbstractAsyncContextManager[StoredRecordings]:
    return open_recordings(store, home, now=lambda: STARTED, elapsed_s=lambda: 0.0)


@pytest.fixture
async def recordings(store: Store, home: Path) -> AsyncIterator[StoredRecordings]:
    async with opened(store, home) as recordings:
        yield recordings


async def audited(store: Store) -> list[AuditEvent]:
    return list(await store.audit.page())


async def text_of(recordings: StoredRecordings, recording_id: str) -> bytes:
    return b"".join([piece async for piece in recordings.read(recording_id)])


def open_files(name: str) -> int:
    """How many files of that name this process has open."""
    return sum(name in str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_file())


def full(*_arguments: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_only_the_hubs_user_can_read_them(recordings: StoredRecordings, home: Path) -> None:
    await (await recordings.begin(header())).finish()
    places = [home / "recordings", home / "recordings" / f"{header().id}.cast.gz"]
    assert [oct(stat.S_IMODE(place.stat().st_mode)) for place in places] == ["0o700", "0o600"]


async def test_that_one_is_finished_is_in_the_audit_with_its_digest(
    recordings: StoredRecordings, store: Store
) -> None:
    row = await (await recordings.begin(header())).finish()
    (event,) = await audited(store)
    assert (event.event, event.actor, event.sandbox) == ("recording.finished", "hub", "sb_1")
    assert event.detail == {
        "recording": row.id,
        "of": "con_7k2m9qx4tn0c",
        "sha256": row.sha256,
        "size_bytes": row.size_bytes,
        "is_cut": False,
    }


async def test_one_whose_end_was_written_for_somebody_who_was_cancelled_ends_once(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, now = store.write, iter(STARTED + timedelta(hour) for hour in range(2))

    async def write_for_nobody(change: Callable[[Transaction], object]) -> None:
        await write(change)
        raise asyncio.CancelledError

    async with open_recordings(store, home, now=now.__next__, elapsed_s=lambda: 0.0) as recordings:
        recording = await recordings.begin(header())
        with monkeypatch.context() as patch:
            patch.setattr(store, "write", write_for_nobody)
            with pytest.raises(asyncio.CancelledError):
                await recording.finish()
        row = await recording.finish()
        assert (row, row.ended_at) == (await recordings.find(row.id), STARTED)
        assert [event.event for event in await audited(store)] == ["recording.finished"]


async def test_one_that_ends_while_others_are_recovered_ends_once(
    recordings: StoredRecordings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = await recordings.begin(header())
    fetch = table.fetch_unfinished

    async def fetch_just_before(database: Fetches) -> Sequence[RecordingRow]:
        rows = await fetch(database)
        await recording.finish()
        return rows

    monkeypatch.setattr(table, "fetch_unfinished", fetch_just_before)
    assert await recordings.recover() == []
    assert [event.event for event in await audited(store)] == ["recording.finished"]


async def test_that_one_is_removed_is_in_the_audit_and_its_file_is_gone(
    recordings: StoredRecordings, store: Store, home: Path
) -> None:
    row = await (await recordings.begin(header())).finish()
    await recordings.expire(before=STARTED, max_total_bytes=0)
    event = (await audited(store))[-1]
    assert (event.event, event.actor, event.sandbox) == ("recording.removed", "hub", "sb_1")
    assert event.detail == {"recording": row.id, "reason": "space"}
    assert list((home / "recordings").iterdir()) == []


async def test_many_are_removed_at_once(
    recordings: StoredRecordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche_hub.store.recordings.recordings._BATCH", 2)
    for number in range(5):
        await (await recordings.begin(header(id=f"rec_{number}"))).finish()
    assert len(await recordings.expire(before=STARTED + timedelta(1), max_total_bytes=PLENTY)) == 5


async def test_another_hub_finishes_what_was_left_under_way(store: Store, home: Path) -> None:
    async with opened(store, home) as killed:
        recording = await killed.begin(header())
        recording.output(b"flushed")
        await recording.flush()
        recording.output(b"lost")
    async with opened(store, home) as recordings:
        assert shown(await text_of(recordings, header().id)) == "flushed"
        (row,) = await recordings.recover()
        assert row == await recordings.find(header().id)
        assert (row.ended_at, row.is_cut) == (STARTED, True)
        _, events = parse_cast(await text_of(recordings, row.id))
        assert events[-1][1:] == ("m", "cut here: the hub ended before the recording did")
        assert [event.event for event in await audited(store)] == ["recording.finished"]
        assert await recordings.recover() == []


async def test_a_row_without_a_file_and_files_without_a_row_are_put_in_order(
    store: Store, home: Path
) -> None:
    async with opened(store, home) as killed:
        await killed.begin(header())
        await (await killed.begin(header(id="rec_kept"))).finish()
    folder = home / "recordings"
    (folder / f"{header().id}.cast.gz").unlink()
    for name in ("rec_stray.cast.gz", "rec_kept.cast.gz.new", "notes.txt"):
        (folder / name).touch()
    async with opened(store, home) as recordings:
        (row,) = await recordings.recover()
        assert (row.id, row.is_cut) == (header().id, True)
    assert {path.name for path in folder.iterdir()} == {
        f"{header().id}.cast.gz",
        "notes.txt",
        "rec_kept.cast.gz",
    }


async def test_what_cannot_be_recovered_now_is_recovered_later(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(store, home) as killed:
        await killed.begin(header())
    async with opened(store, home) as recordings:
        with monkeypatch.context() as patch:
            patch.setattr("cloche_hub.store.disk.write_all", full)
            assert await recordings.recover() == []
        assert len(await recordings.recover()) == 1


async def test_what_cannot_begin_leaves_nothing(
    recordings: StoredRecordings, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("cloche_hub.store.disk.sync_folder", full)
        with pytest.raises(NoSpace):
            await recordings.begin(header())
    assert await recordings.list(limit=9) == []
    assert list((home / "recordings").iterdir()) == []
    assert await recordings.begin(header())


@pytest.mark.parametrize("recording_id", ["../../etc/passwd", "rec_", "rec_A", "con_1", "rec_1/../x"])
async def test_what_is_no_id_never_becomes_a_path(recordings: StoredRecordings, recording_id: str) -> None:
    with pytest.raises(ValueError, match="no recording's id"):
        await recordings.begin(header(id=recording_id))
    with pytest.raises(NotFound):
        await text_of(recordings, recording_id)


async def test_a_file_that_is_gone_is_not_found_and_a_damaged_one_told(
    recordings: StoredRecordings, home: Path
) -> None:
    await (await recordings.begin(header())).finish()
    path = home / "recordings" / f"{header().id}.cast.gz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreFailed, match="damaged"):
        await text_of(recordings, header().id)
    path.unlink()
    with pytest.raises(NotFound, match="is gone"):
        await text_of(recordings, header().id)


async def test_a_reader_that_leaves_early_keeps_no_file_open(recordings: StoredRecordings) -> None:
    recording = await recordings.begin(header())
    recording.output(os.urandom(1 << 20))
    await recording.finish()
    async with aclosing(recordings.read(header().id)) as pieces:
        assert await anext(pieces)
        assert open_files(header().id) == 1
    assert open_files(header().id) == 0


async def test_a_search_ends_when_its_time_is_over(recordings: StoredRecordings) -> None:
    recording = await recordings.begin(header())
    recording.output(b"a\r\n")
    await recording.finish()
    assert (await recordings.search("a", limit=9, within_s=0)).omitted == 1


async def test_a_search_that_is_given_up_ends(
    recordings: StoredRecordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = threading.Event(), threading.Event()

    def search_on(*_arguments: object, is_over: Callable[[], bool], **_more: object) -> Found:
        begun.set()
        ends_at = time.monotonic() + 20
        while not is_over() and time.monotonic() < ends_at:
            time.sleep(0.001)
        if is_over():
            over.set()
        return Found((), 0)

    monkeypatch.setattr("cloche_hub.store.recordings.recordings.search_files", search_on)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        searching = tasks.create_task(recordings.search("a", limit=9, within_s=3600))
        assert await asyncio.to_thread(begun.wait, 20)
        searching.cancel()
        assert await asyncio.to_thread(over.wait, 20)


async def test_as_many_as_there_are_write_at_once(recordings: StoredRecordings) -> None:
    begun = [await recordings.begin(header(id=f"rec_{number}")) for number in range(20)]
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for turn in range(10):
            for recording in begun:
                recording.output(f"{recording.id} {turn}\n".encode())
            for recording in begun:
                tasks.create_task(recording.flush())
            await asyncio.sleep(0)
    for recording in begun:
        await recording.finish()
        text = shown(await text_of(recordings, recording.id))
        assert text == "".join(f"{recording.id} {turn}\n" for turn in range(10))
