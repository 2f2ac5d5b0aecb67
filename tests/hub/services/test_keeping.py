"""Recordings looked after: what is left is finished, what is too old goes, and a failure is no end of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from cloche_hub.ports import RecordingRow
from cloche_hub.services.keeping import keep_recordings
from tests.support.casts import STARTED, header
from tests.support.fake_recordings import FakeRecordings
from tests.support.hub import Time, until

DAY_S = 86400.0


class Watched(FakeRecordings):
    """Counts how often it is asked to recover."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0

    async def recover(self) -> Sequence[RecordingRow]:
        self.rounds += 1
        self.require_space()
        return await self.list(limit=1) if self.rounds == 1 else ()


@contextlib.asynccontextmanager
async def kept(
    recordings: FakeRecordings, time: Time, *, max_total_bytes: int = 1 << 40
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(
            keep_recordings(
                recordings, days=30, max_total_bytes=max_total_bytes, clock=time.clock, interval_s=0
            )
        )
        try:
            yield
        finally:
            task.cancel()


@pytest.fixture
def time() -> Time:
    time = Time()
    time.now = STARTED
    return time


async def finished(recordings: FakeRecordings, recording_id: str) -> None:
    await (await recordings.begin(header(id=recording_id))).finish()


async def test_recordings_go_when_they_are_too_old(time: Time) -> None:
    recordings = Watched()
    await finished(recordings, "rec_1")
    async with kept(recordings, time):
        time.passes(30 * DAY_S)
        await until(lambda: recordings.rounds > 1)
        assert recordings.made
        time.passes(1)
        await until(lambda: not recordings.made)


async def test_the_oldest_go_when_there_are_too_many(time: Time) -> None:
    recordings = Watched()
    for number in range(3):
        await finished(recordings, f"rec_{number}")
    size = len(recordings.made["rec_0"].text)
    async with kept(recordings, time, max_total_bytes=2 * size):
        await until(lambda: set(recordings.made) == {"rec_1", "rec_2"})


async def test_what_fails_is_tried_again_and_said(time: Time) -> None:
    recordings = Watched()
    await finished(recordings, "rec_1")
    time.passes(timedelta(days=31).total_seconds())
    recordings.is_full = True
    with capture_logs() as logs:
        async with kept(recordings, time):
            await until(lambda: logs)
            recordings.is_full = False
            await until(lambda: not recordings.made)
    assert logs[0] == {
        "event": "recordings_not_looked_after",
        "reason": "the disk is full",
        "log_level": "warning",
    }
    assert {"event": "recordings_removed", "count": 1, "log_level": "info"} in logs


async def test_what_was_recovered_is_said(time: Time) -> None:
    recordings = Watched()
    await finished(recordings, "rec_1")
    with capture_logs() as logs:
        async with kept(recordings, time):
            await until(lambda: recordings.rounds > 1)
    assert logs == [{"event": "recordings_recovered", "count": 1, "log_level": "info"}]
