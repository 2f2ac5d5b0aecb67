"""Commands recorded as they pass: what is in the recording, and who waits for the disk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import CommandNotStarted, NoSpace, StoreFailed
from cloche_hub.ports import Header, RecordingKind, RecordingRow
from cloche_hub.services import exec_recording
from cloche_hub.services.exec_recording import ExecRecordings, Tape
from cloche_hub.store.recordings.recordings import StoredRecordings, open_recordings
from cloche_hub.store.store import open_store
from tests.support.fake_images import LONG_AGO
from tests.support.hub import FlakyStore, until, within

HEADER = Header(
    id="rec_1",
    kind=RecordingKind.EXEC,
    of="ex_1",
    sandbox="sb_1",
    sandbox_name="a",
    owner="admin",
    title="a: make",
    rows=24,
    cols=80,
    term="xterm",
    command=("make", "hunter2"),
    started_at=LONG_AGO,
)


@dataclass
class Archive:
    """Real recordings on a disk that can be full."""

    store: FlakyStore
    recordings: StoredRecordings
    execs: ExecRecordings

    async def row(self) -> RecordingRow:
        (row,) = await self.recordings.list(limit=10)
        return row

    async def events(self) -> list[list[Any]]:
        """What the recording has behind its header, without times."""
        text = b"".join([piece async for piece in self.recordings.read("rec_1")])
        return [json.loads(line)[1:] for line in text.splitlines()[1:]]


@asynccontextmanager
async def archive(folder: Path) -> AsyncIterator[Archive]:
    async with open_store(folder / "home") as real:
        store = FlakyStore(real)
        async with open_recordings(store, folder / "home") as recordings:
            yield Archive(store, recordings, ExecRecordings(recordings))


def acknowledged(tape: Tape) -> dict[int, int]:
    """How much of each stream the guest hears to be read, by a client that has read everything."""
    passed: dict[int, int] = {}

    def consume(stream: int, count: int) -> None:
        passed[stream] = passed.get(stream, 0) + count

    tape.gate.connect(consume)
    for stream in (0, 1, 2):
        tape.gate.acknowledged(stream, 1 << 30)
    return passed


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for more, and none before the next try."""
    monkeypatch.setattr(exec_recording, "LINGER_S", 0.001)
    monkeypatch.setattr(exec_recording, "RETRY_S", 0.001)


async def test_both_streams_are_recorded_as_a_terminal_would_show_them(tmp_path: Path) -> None:
    async with archive(tmp_path) as it:
        async with it.execs.recorded(HEADER, secrets=(b"hunter2",), window=1024) as tape:
            tape.received(1, b"one\ntwo\r\n")
            tape.received(2, b"oops: hunter2\n")
            tape.received(0, b"no output")
            tape.ended(1)
            tape.recording.marker("exit code 0")
        shown = "".join(text for code, text in await it.events() if code == "o")
        assert shown == "one\r\ntwo\r\noops: *******\r\n"
        assert (await it.events())[-1] == ["m", "exit code 0"]
        row = await it.row()
        assert (row.header.command, row.ended_at is not None, row.is_cut) == (
            ("make", "*******"),
            True,
            False,
        )
        (finished,) = [
            event
            for event in await it.store.audit.tail(limit=10)
            if event.event == AuditName.RECORDING_FINISHED
        ]
        assert finished.detail["sha256"] == row.sha256


async def test_the_guest_hears_of_its_bytes_being_read_only_when_they_are_on_the_disk(
    tmp_path: Path, quick: None
) -> None:
    async with archive(tmp_path) as it, it.execs.recorded(HEADER, secrets=(), window=1024) as tape:
        passed = acknowledged(tape)
        tape.received(1, b"x" * 100)
        assert passed == {}
        await until(lambda: passed == {1: 100})
        tape.received(1, b"y" * 10)
        tape.received(2, b"z")
        await until(lambda: passed == {1: 110, 2: 1})
        assert "".join(text for _, text in await it.events()) == "x" * 100 + "y" * 10 + "z"


async def test_a_quarter_of_a_window_does_not_wait_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_recording, "LINGER_S", 3600)
    async with archive(tmp_path) as it, it.execs.recorded(HEADER, secrets=(), window=1024) as tape:
        passed = acknowledged(tape)
        tape.received(1, b"x" * 256)
        await until(lambda: passed == {1: 256})


async def test_on_a_full_disk_the_command_waits_and_goes_on_when_there_is_space(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with archive(tmp_path) as it, it.execs.recorded(HEADER, secrets=(), window=1024) as tape:
        passed, tries = acknowledged(tape), 0
        flush = tape.recording.flush

        async def full() -> None:
            nonlocal tries
            tries += 1
            raise NoSpace("the disk is full")

        monkeypatch.setattr(tape.recording, "flush", full)
        with capture_logs() as logs:
            tape.received(1, b"x" * 100)
            await until(lambda: tries > 3)
            assert passed == {}
            monkeypatch.setattr(tape.recording, "flush", flush)
            await until(lambda: passed == {1: 100})
        assert [line["event"] for line in logs] == ["recording_waits"]


async def test_a_command_that_fails_has_a_recording_that_says_so(tmp_path: Path) -> None:
    async with archive(tmp_path) as it:
        with pytest.raises(CommandNotStarted):
            async with it.execs.recorded(HEADER, secrets=(b"hunter2",), window=1024):
                raise CommandNotStarted("no such file: hunter2")
        assert await it.events() == [["m", "failed: no such file: *******"]]
        assert (await it.row()).ended_at is not None


async def test_a_command_that_is_called_off_has_a_recording_that_is_finished(tmp_path: Path) -> None:
    async with archive(tmp_path) as it, asyncio.TaskGroup() as tasks:
        begun = asyncio.Event()

        async def run() -> None:
            async with it.execs.recorded(HEADER, secrets=(), window=1024) as tape:
                tape.received(1, b"so far")
                begun.set()
                await asyncio.Event().wait()

        running = tasks.create_task(run())
        await within(begun.wait())
        running.cancel()
        await asyncio.wait({running})
        assert ((await it.row()).ended_at is not None, await it.events()) == (True, [["o", "so far"]])


async def test_a_recording_that_cannot_be_finished_now_is_finished_later(tmp_path: Path, quick: None) -> None:
    async with archive(tmp_path) as it:
        with capture_logs() as logs:
            async with it.execs.recorded(HEADER, secrets=(), window=1024) as tape:
                tape.received(1, b"all of it")
                it.store.refuses = NoSpace("the disk is full")
        assert [line["event"] for line in logs] == ["recording_not_finished_yet"]
        assert (await it.row()).ended_at is None
        it.store.refuses = None
        async with asyncio.TaskGroup() as tasks:
            finishing = tasks.create_task(it.execs.finish_for_ever(interval_s=0.001))
            while (await it.row()).ended_at is None:
                await asyncio.sleep(0)
            finishing.cancel()
        assert not (await it.row()).is_cut


async def test_a_recording_whose_finish_was_called_off_is_finished_later(tmp_path: Path) -> None:
    async with archive(tmp_path) as it, asyncio.TaskGroup() as tasks:
        recording = await it.recordings.begin(HEADER)
        it.store.gate.clear()
        finishing = tasks.create_task(it.execs.finish(recording))
        await until(lambda: it.store.waiting)
        finishing.cancel()
        await asyncio.wait({finishing})
        it.store.gate.set()
        later = tasks.create_task(it.execs.finish_for_ever(interval_s=0.001))
        while (await it.row()).ended_at is None:
            await asyncio.sleep(0)
        later.cancel()


async def test_a_recording_that_a_failing_disk_spoils_is_left_to_the_next_hub(tmp_path: Path) -> None:
    async with archive(tmp_path) as it:
        with capture_logs() as logs:
            async with it.execs.recorded(HEADER, secrets=(), window=1024):
                it.store.refuses = StoreFailed("the disk is broken")
        assert [line["event"] for line in logs] == ["recording_not_finished"]
        it.store.refuses = None
        assert (await it.row()).ended_at is None


async def test_a_disk_that_fails_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> None:
        raise StoreFailed("the disk is broken")

    async def run(it: Archive) -> None:
        async with it.execs.recorded(HEADER, secrets=(), window=4) as tape:
            monkeypatch.setattr(tape.recording, "flush", broken)
            tape.received(1, b"some")
            await within(asyncio.Event().wait())

    async with archive(tmp_path) as it:
        with pytest.raises(StoreFailed, match="broken"):
            await run(it)


async def test_a_recording_that_cannot_be_begun_begins_no_command(tmp_path: Path) -> None:
    async with archive(tmp_path) as it:
        it.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            async with it.execs.recorded(HEADER, secrets=(), window=1024):
                pytest.fail("begun")
