"""A recording under way: nothing said to it waits, and nothing that was flushed is lost."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace
from cloche_hub.ports import Header, RecordingRow
from cloche_hub.store.recordings.cast import CastEvents, header_line
from cloche_hub.store.recordings.cast_file import GZIP, CastFile, Finished
from cloche_hub.store.recordings.live import Desk, LiveRecording
from tests.support.casts import header, parse_cast, shown

BOUND_S = 20


class Bench:
    """One recording, on a clock that the test moves."""

    def __init__(self, path: Path, threads: ThreadPoolExecutor) -> None:
        self.path, self.threads = path, threads
        self.now_s = 1000.0
        self.kept: list[Finished] = []
        self.refuses: NoSpace | None = None
        self.file = CastFile(path, header_line(header()), CastEvents(), max_bytes=1 << 24)

    def record(self, *, max_waiting: int = 1 << 20) -> LiveRecording:
        desk = Desk(self.threads, lambda: self.now_s, self._keep)
        return LiveRecording(header(), self.file, desk, max_waiting=max_waiting)

    async def _keep(self, told: Header, finished: Finished) -> RecordingRow:
        if self.refuses is not None:
            raise self.refuses
        self.kept.append(finished)
        return RecordingRow(told, sha256=finished.sha256)

    def left(self) -> bytes:
        """The text as a kill would leave it now."""
        return zlib.decompressobj(GZIP).decompress(self.path.read_bytes())

    def text(self) -> bytes:
        return gzip.decompress(self.path.read_bytes())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ThreadPoolExecutor(2) as threads:
        bench = Bench(tmp_path / "rec_1.cast.gz", threads)
        yield bench
        bench.file.close()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Makes every write of a file wait until it is called."""
    opened = threading.Event()
    write = os.write

    def wait(descriptor: int, data: bytes) -> int:
        # Only of files: the event loop writes to itself.
        if len(data) > 1:
            assert opened.wait(BOUND_S)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", wait)
    yield opened.set
    opened.set()


async def test_what_is_said_is_dated_when_it_is_said(bench: Bench) -> None:
    recording = bench.record()
    assert recording.id == "rec_7k2m9qx4tn0c"
    recording.output(b"now")
    bench.now_s += 1.5
    recording.resize(30, 100)
    bench.now_s += 1
    recording.marker("here")
    await recording.flush()
    assert parse_cast(bench.left())[1] == [(0, "o", "now"), (1.5, "r", "100x30"), (2.5, "m", "here")]


async def test_finishing_writes_everything_and_may_be_said_twice(bench: Bench) -> None:
    recording = bench.record()
    recording.output(b"last words")
    async with asyncio.timeout(BOUND_S):
        rows = await asyncio.gather(recording.finish(), recording.finish())
    assert shown(bench.text()) == "last words"
    assert rows[0] is rows[1]
    assert len(bench.kept) == 1
    recording.output(b"too late")
    await recording.flush()
    assert await recording.finish() is rows[0]
    assert shown(bench.text()) == "last words"


async def test_what_cannot_be_kept_yet_may_be_finished_again(bench: Bench) -> None:
    recording = bench.record()
    recording.output(b"x")
    bench.refuses = NoSpace("full")
    with pytest.raises(NoSpace):
        await recording.finish()
    bench.refuses = None
    assert (await recording.finish()).sha256 == bench.kept[0].sha256


async def test_nothing_said_waits_for_the_disk(bench: Bench, gate: Callable[[], None]) -> None:
    recording = bench.record()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        recording.output(b"a")
        flushing = tasks.create_task(recording.flush())
        for _ in range(20):
            recording.output(b"b" * 8192)
            await asyncio.sleep(0)
        assert not flushing.done()
        gate()
    await recording.flush()
    assert shown(bench.left()) == "a" + "b" * 8192 * 20


async def test_much_is_written_before_anybody_asks(bench: Bench) -> None:
    recording = bench.record()
    # What gzip cannot make smaller.
    noise = os.urandom(1 << 19)
    recording.output(noise)
    async with asyncio.timeout(BOUND_S):
        while len(bench.path.read_bytes()) < 1 << 18:
            await asyncio.sleep(0.001)


async def test_a_disk_that_does_not_keep_up_cuts_the_recording(
    bench: Bench, gate: Callable[[], None]
) -> None:
    recording = bench.record(max_waiting=1000)
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        recording.output(b"kept")
        flushing = tasks.create_task(recording.flush())
        recording.output(b"x" * 2000)
        recording.output(b"dropped")
        assert not flushing.done()
        gate()
    await recording.finish()
    assert [data for _, _, data in parse_cast(bench.text())[1]] == [
        "kept",
        "cut here: the disk of the hub did not keep up",
    ]
    assert bench.kept[0].is_cut


async def test_what_waits_for_a_full_disk_is_written_when_there_is_room(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = bench.record()
    with monkeypatch.context() as patch:
        patch.setattr(bench.file, "_write", _full)
        for part in (b"one ", b"two "):
            recording.output(part)
            with pytest.raises(NoSpace):
                await recording.flush()
    await recording.flush()
    assert shown(bench.left()) == "one two "


async def test_while_the_disk_is_full_what_waits_is_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = bench.record(max_waiting=1000)
    with monkeypatch.context() as patch:
        patch.setattr(bench.file, "_write", _full)
        for number in range(20):
            # Far enough apart to be pieces of their own.
            bench.now_s += 2
            recording.output(b"%02d" % number + b"x" * 98)
            with pytest.raises(NoSpace):
                await recording.flush()
    assert bench.file.unwritten < 1000
    await recording.finish()
    _, events = parse_cast(bench.text())
    assert 5 <= len(events) < 12
    assert events[-1][1:] == ("m", "cut here: the disk of the hub did not keep up")


async def test_a_guest_that_writes_byte_by_byte_does_not_cut_its_recording(
    bench: Bench, gate: Callable[[], None]
) -> None:
    recording = bench.record(max_waiting=64 << 10)
    # Nothing is written meanwhile.
    for number in range(48 << 10):
        bench.now_s += 0.0001
        recording.output(b"%d" % (number % 10))
    gate()
    await recording.finish()
    text = bench.text()
    assert not bench.kept[0].is_cut
    assert shown(text) == "0123456789" * 4915 + "01"


async def test_small_pieces_that_come_together_are_one_and_later_ones_are_not(
    bench: Bench, gate: Callable[[], None]
) -> None:
    recording = bench.record()
    for pause_s, data in ((0, b"a"), (0.005, b"b"), (0.02, b"c"), (0, b"x" * 2048), (0, b"d")):
        bench.now_s += pause_s
        recording.output(data)
    recording.marker("between")
    recording.output(b"e")
    gate()
    await recording.finish()
    events = [(at_s, text if len(text) < 10 else len(text)) for at_s, _, text in parse_cast(bench.text())[1]]
    assert events == [
        (0.0, "ab"),
        (0.025, "c"),
        (0.025, 2048),
        (0.025, "d"),
        (0.025, "between"),
        (0.025, "e"),
    ]


async def test_what_is_said_while_it_ends_is_dropped(bench: Bench, gate: Callable[[], None]) -> None:
    recording = bench.record()
    recording.output(b"in time")
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        ending = tasks.create_task(recording.finish())
        await asyncio.sleep(0)
        recording.output(b"late")
        assert not ending.done()
        gate()
    assert shown(bench.text()) == "in time"


def _full() -> None:
    raise OSError(28, "No space left on device")


async def test_what_was_flushed_outlives_whoever_abandons_it(bench: Bench) -> None:
    recording = bench.record()
    recording.output(b"flushed")
    await recording.flush()
    recording.output(b"not flushed")
    recording.abandon()
    assert shown(bench.left()) == "flushed"


async def test_a_flush_that_is_cancelled_loses_nothing(bench: Bench, gate: Callable[[], None]) -> None:
    recording = bench.record()
    recording.output(b"a")
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
        flushing = tasks.create_task(recording.flush())
        await asyncio.sleep(0)
        flushing.cancel()
        recording.output(b"b")
        gate()
    await recording.flush()
    assert shown(bench.left()) == "ab"


async def test_a_flush_without_anything_new_touches_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = bench.record()
    recording.output(b"a")
    await recording.flush()
    monkeypatch.setattr(bench.file, "sync", _full)
    await recording.flush()
