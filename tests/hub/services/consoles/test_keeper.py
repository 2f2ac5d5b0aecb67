"""What a console shows is stored, then acknowledged; and what happens when it cannot be stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
from structlog.testing import capture_logs

from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Entry, Size, StoredScreen
from cloche_hub.services.consoles import keeper
from cloche_hub.services.consoles.keeper import FULL, ON_AGAIN, Keeper
from cloche_term import TerminalLost
from tests.support.casts import header
from tests.support.fake_recordings import FakeRecordings
from tests.support.fake_screens import FakeScreenLog, FakeScreens
from tests.support.hub import until, within

CONSOLE = "con_1"


async def nothing() -> None:
    """Nothing happens meanwhile."""


class Kept:
    """A keeper on fakes, and what it has told."""

    def __init__(self, log: FakeScreenLog, screens: FakeScreens, recordings: FakeRecordings) -> None:
        self.screens, self.recordings = screens, recordings
        self.shown = b""
        self.stored = self.lost = 0
        self.notices: list[str] = []
        self.on_snapshot: Callable[[], Awaitable[object]] = nothing
        """Called while the screen is asked for."""
        self.keeper = Keeper(
            log,
            None,
            enough=100,
            snapshot=self._snapshot,
            on_stored=self._on_stored,
            on_notice=self.notices.append,
        )

    @property
    def screen(self) -> StoredScreen:
        return self.screens.kept[CONSOLE]

    @property
    def text(self) -> bytes:
        """Of the recording."""
        return next(iter(self.recordings.made.values())).text

    def add(self, data: bytes) -> None:
        self.shown += data
        self.keeper.add(data)

    async def _snapshot(self) -> tuple[int, bytes]:
        await self.on_snapshot()
        return len(self.shown) + self.lost, b"snapshot of " + self.shown[-20:]

    def _on_stored(self, count: int) -> None:
        self.stored += count


@contextlib.asynccontextmanager
async def keeping(*, record: bool = False) -> AsyncIterator[Kept]:
    screens, recordings = FakeScreens(), FakeRecordings()
    kept = Kept(await screens.begin(CONSOLE), screens, recordings)
    if record:
        kept.keeper.recording = await recordings.begin(header())
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(kept.keeper.keep())
        try:
            yield kept
        finally:
            kept.screens.is_full = kept.recordings.is_full = False
            kept.keeper.end()
            await within(asyncio.wait({task}))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk to have space."""
    monkeypatch.setattr(keeper, "RETRY_S", 0.001)


async def test_a_quarter_of_the_window_is_stored_at_once_and_less_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeper, "LINGER_S", 1000.0)
    async with keeping() as kept:
        kept.add(b"x" * 60)
        kept.add(b"y" * 60)
        await until(lambda: kept.stored)
        assert (kept.stored, kept.screen.entries) == (120, (b"x" * 60, b"y" * 60))
    monkeypatch.setattr(keeper, "LINGER_S", 0.001)
    async with keeping() as kept:
        kept.add(b"x")
        await until(lambda: kept.stored)
        assert (kept.stored, kept.screen.end) == (1, 1)


async def test_nothing_is_acknowledged_before_screen_and_recording_are_stored() -> None:
    async with keeping(record=True) as kept:
        kept.recordings.is_full = True
        kept.add(b"x" * 100)
        await until(lambda: kept.notices)
        assert (kept.stored, kept.screen.end) == (0, 100)
        kept.recordings.is_full = False
        await until(lambda: kept.stored)
        assert b"x" * 100 in kept.text


async def test_on_a_full_disk_viewers_are_told_once_and_again_when_there_is_space() -> None:
    async with keeping() as kept:
        kept.screens.is_full = True
        kept.add(b"x" * 100)
        await until(lambda: kept.notices)
        kept.add(b"y" * 10)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert (kept.stored, kept.notices) == (0, [FULL])
        kept.screens.is_full = False
        await until(lambda: kept.stored == 110)
        assert kept.notices == [FULL, ON_AGAIN]
        assert kept.screen.entries == (b"x" * 100, b"y" * 10)


async def test_a_log_that_has_grown_is_replaced_by_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "MOST_LOG", 250)
    async with keeping() as kept:
        kept.keeper._most_log = 250
        for piece in (b"a" * 100, b"b" * 100, b"c" * 100):
            kept.add(piece)
            await until(lambda: kept.stored == len(kept.shown))
        assert kept.screen == StoredScreen(300, b"snapshot of " + b"c" * 20, ())
        kept.add(b"d" * 100)
        await until(lambda: kept.stored == 400)
        assert (kept.screen.offset, kept.screen.entries) == (300, (b"d" * 100,))


async def test_after_a_flood_the_log_is_replaced_by_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "WORTH_SNAPSHOT", 50)
    monkeypatch.setattr(keeper, "QUIET_S", 0.001)
    async with keeping() as kept:
        kept.add(b"a" * 100)
        await until(lambda: kept.screen.snapshot)
        assert (kept.screen.offset, kept.stored) == (100, 100)
        kept.add(b"b" * 100)
        await until(lambda: kept.stored == 200)


async def test_of_sizes_in_a_row_one_is_stored_and_all_are_recorded() -> None:
    async with keeping(record=True) as kept:
        for cols in (10, 20, 30):
            kept.keeper.add(Size(5, cols))
        kept.add(b"x" * 100)
        kept.keeper.add(Size(6, 6))
        await until(lambda: kept.stored)
        assert kept.screen.entries[:2] == (Size(5, 30), b"x" * 100)
        assert kept.text.count(b'"r"') == 4


async def test_a_size_that_comes_while_one_is_stored_is_stored_too(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, append = asyncio.Event(), FakeScreenLog.append
    waiting: list[int] = []

    async def slowly(log: FakeScreenLog, offset: int, entries: Sequence[Entry]) -> None:
        waiting.append(offset)
        await gate.wait()
        await append(log, offset, entries)

    monkeypatch.setattr(FakeScreenLog, "append", slowly)
    async with keeping() as kept:
        kept.add(b"x" * 100)
        kept.keeper.add(Size(5, 5))
        await until(lambda: waiting)
        kept.keeper.add(Size(6, 6))
        gate.set()
        kept.add(b"y" * 100)
        await until(lambda: kept.stored == 200)
        assert kept.screen.entries == (b"x" * 100, Size(5, 5), Size(6, 6), b"y" * 100)


async def test_what_is_missing_is_behind_a_snapshot_and_marked() -> None:
    async with keeping(record=True) as kept:
        kept.lost = 7
        kept.keeper.lose(7)
        kept.add(b"x" * 100)
        await until(lambda: kept.stored)
        assert (kept.stored, kept.screen.offset, kept.screen.entries) == (100, 107, ())
        assert b"7 bytes are lost here" in kept.text


async def test_over_a_gap_a_snapshot_is_stored_and_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, append = asyncio.Event(), FakeScreenLog.append
    waiting: list[int] = []

    async def slowly(log: FakeScreenLog, offset: int, entries: Sequence[Entry]) -> None:
        waiting.append(offset)
        await gate.wait()
        await append(log, offset, entries)

    monkeypatch.setattr(FakeScreenLog, "append", slowly)
    async with keeping() as kept:
        kept.add(b"a" * 100)
        await until(lambda: waiting)
        # While something from before it is being stored.
        kept.add(b"b" * 100)
        kept.keeper.gap()
        gate.set()
        await until(lambda: kept.stored == 200)
        assert kept.screen == StoredScreen(200, b"snapshot of " + b"b" * 20, ())
        kept.add(b"c" * 100)
        await until(lambda: kept.stored == 300)
        assert kept.screen.entries == (b"c" * 100,)
        kept.keeper.gap()
        await until(lambda: not kept.screen.entries)
        assert (kept.screen.offset, kept.stored) == (300, 300)


async def test_a_gap_is_not_forgotten_on_a_full_disk() -> None:
    async with keeping() as kept:
        kept.screens.is_full = True
        kept.add(b"a" * 100)
        kept.keeper.gap()
        await until(lambda: kept.notices)
        kept.screens.is_full = False
        await until(lambda: kept.stored == 100)
        assert (kept.screen.offset, kept.screen.entries) == (100, ())


async def test_what_comes_before_a_snapshot_is_there_goes_with_it_and_what_comes_later_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkpoint = FakeScreenLog.checkpoint

    async def add_more(log: FakeScreenLog, offset: int, snapshot: bytes) -> None:
        if offset == 200:
            kept.add(b"later" * 20)
        await checkpoint(log, offset, snapshot)

    async def come() -> None:
        kept.on_snapshot = nothing
        await asyncio.sleep(0)
        kept.add(b"b" * 100)

    monkeypatch.setattr(FakeScreenLog, "checkpoint", add_more)
    async with keeping() as kept:
        kept.on_snapshot = come
        kept.keeper.gap()
        kept.add(b"a" * 100)
        await until(lambda: kept.stored == 300)
        assert kept.screen == StoredScreen(200, b"snapshot of " + b"b" * 20, (b"later" * 20,))


async def test_without_a_screen_nothing_is_stored_and_the_keeper_says_so() -> None:
    async def fail() -> None:
        raise TerminalLost("there is no terminal")

    with capture_logs() as logs:
        async with keeping() as kept:
            kept.on_snapshot = fail
            kept.add(b"x" * 10)
            kept.keeper.end()
            await until(lambda: logs)
    assert (logs[0]["event"], kept.stored) == ("last_screen_not_stored", 0)


async def test_the_end_stores_what_is_left_as_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "LINGER_S", 1000.0)
    async with keeping(record=True) as kept:
        kept.add(b"bye")
        kept.keeper.mark("a hand-over")
    assert (kept.screen, kept.stored) == (StoredScreen(3, b"snapshot of bye", ()), 3)
    await kept.keeper.finish_recording()
    assert b"a hand-over" in kept.text


async def test_the_end_does_not_wait_for_space() -> None:
    with capture_logs() as logs:
        async with keeping(record=True) as kept:
            kept.screens.is_full = kept.recordings.is_full = True
            kept.add(b"x" * 100)
            await until(lambda: kept.notices)
            kept.keeper.end()
            await until(lambda: logs)
    assert logs[0]["event"] == "last_screen_not_stored"
    assert kept.stored == 0


async def test_a_recording_is_finished_as_soon_as_there_is_space() -> None:
    async with keeping(record=True) as kept:
        kept.add(b"x")
    kept.recordings.is_full = True
    async with asyncio.TaskGroup() as tasks:
        finishing = tasks.create_task(kept.keeper.finish_recording())
        for _ in range(10):
            await asyncio.sleep(0.001)
        assert not finishing.done()
        kept.recordings.is_full = False
        await within(finishing)
    (made,) = kept.recordings.made.values()
    assert made.row.ended_at is not None


async def test_a_recording_on_a_broken_disk_is_left_to_the_next_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise StoreFailed("broken")

    async with keeping(record=True) as kept:
        monkeypatch.setattr(kept.keeper.recording, "finish", fail)
        with capture_logs() as logs:
            await kept.keeper.finish_recording()
        assert logs[0]["event"] == "recording_not_finished"
        kept.keeper.recording = None
        await kept.keeper.finish_recording()


async def test_a_marker_is_flushed_though_nothing_is_shown() -> None:
    async with keeping(record=True) as kept:
        kept.keeper.mark("called")
        await until(lambda: b"called" in kept.text)
        assert kept.screen == StoredScreen(0, None, ())
