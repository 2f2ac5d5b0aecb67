"""What every store owes recordings: one suite, over the one in memory and over files and rows."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest, NotFound
from cloche_hub.ports import Found, Hit, RecordingRow, Recordings
from cloche_hub.store.recordings.recordings import open_recordings
from cloche_hub.store.store import open_store
from tests.support.casts import STARTED, header, parse_cast, shown
from tests.support.fake_recordings import FakeRecordings

LONG_AGO = STARTED - timedelta(days=9)
PLENTY = 1 << 40


@contextlib.asynccontextmanager
async def _in_memory(_home: Path) -> AsyncIterator[Recordings]:
    yield FakeRecordings()


@contextlib.asynccontextmanager
async def _stored(home: Path) -> AsyncIterator[Recordings]:
    async with (
        open_store(home) as store,
        open_recordings(store, home, now=lambda: STARTED, elapsed_s=lambda: 0.0) as recordings,
    ):
        yield recordings


@pytest.fixture(params=[_in_memory, _stored], ids=["memory", "stored"])
async def recordings(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Recordings]:
    opened: Callable[[Path], AbstractAsyncContextManager[Recordings]] = request.param
    async with opened(tmp_path / "home") as recordings:
        yield recordings


async def text_of(recordings: Recordings, recording_id: str) -> bytes:
    return b"".join([piece async for piece in recordings.read(recording_id)])


async def record(recordings: Recordings, recording_id: str, text: str, **fields: object) -> RecordingRow:
    recording = await recordings.begin(header(id=recording_id, **fields))
    recording.output(text.encode())
    return await recording.finish()


async def test_what_was_said_is_what_is_read(recordings: Recordings) -> None:
    recording = await recordings.begin(header())
    assert recording.id == header().id
    recording.output(b"one\r\n")
    recording.resize(30, 100)
    recording.marker("here")
    row = await recording.finish()
    text = await text_of(recordings, recording.id)
    assert [event[1:] for event in parse_cast(text)[1]] == [("o", "one\r\n"), ("r", "100x30"), ("m", "here")]
    assert row == await recordings.find(recording.id)
    assert row == await recording.finish()
    assert (row.sha256, row.text_bytes) == (hashlib.sha256(text).hexdigest(), len(text))
    assert (row.header, row.ended_at, row.duration_s, row.is_cut) == (header(), STARTED, 0, False)


async def test_one_under_way_is_listed_and_read_as_far_as_it_was_flushed(recordings: Recordings) -> None:
    recording = await recordings.begin(header())
    recording.output(b"flushed")
    await recording.flush()
    recording.output(b" and not")
    assert await recordings.list(limit=9) == [RecordingRow(header())]
    assert shown(await text_of(recordings, recording.id)) == "flushed"
    assert (await recordings.search("flushed", limit=9, within_s=20)).hits == (
        Hit(recording.id, 0, "flushed"),
    )
    await recording.finish()


async def test_nothing_is_recorded_after_the_end(recordings: Recordings) -> None:
    recording = await recordings.begin(header())
    await recording.finish()
    recording.output(b"late")
    recording.marker("late")
    await recording.flush()
    assert parse_cast(await text_of(recordings, recording.id))[1] == []


async def test_secrets_are_masked_everywhere(recordings: Recordings) -> None:
    secret = b"hunter2!"
    recording = await recordings.begin(header(title="hunter2!", command=("x", "hunter2!")), secrets=[secret])
    for byte in secret:
        recording.output(bytes([byte]))
        await recording.flush()
    recording.marker("hunter2!")
    row = await recording.finish()
    told, events = parse_cast(await text_of(recordings, recording.id))
    assert (row.header.title, row.header.command) == ("********", ("x", "********"))
    assert (told["title"], told["command"]) == ("********", "x '********'")
    assert [data for _, _, data in events] == [*"********", "********"]


async def test_the_newest_are_listed_by_sandbox_and_owner(recordings: Recordings) -> None:
    for number, owner in enumerate(["ann", "bob", "ann"]):
        started_at = STARTED + timedelta(seconds=number)
        await record(
            recordings, f"rec_{number}", "", owner=owner, sandbox=f"sb_{number % 2}", started_at=started_at
        )
    ids = {
        "all": [row.id for row in await recordings.list(limit=2)],
        "ann": [row.id for row in await recordings.list(owner="ann", limit=9)],
        "sb_0 of bob": [row.id for row in await recordings.list(owner="bob", sandbox="sb_0", limit=9)],
        "sb_0": [row.id for row in await recordings.list(sandbox="sb_0", limit=9)],
    }
    assert ids == {
        "all": ["rec_2", "rec_1"],
        "ann": ["rec_2", "rec_0"],
        "sb_0 of bob": [],
        "sb_0": ["rec_2", "rec_0"],
    }


async def test_one_is_found_by_the_beginning_of_its_id(recordings: Recordings) -> None:
    await record(recordings, "rec_aa", "")
    await record(recordings, "rec_ab", "", owner="bob")
    assert (await recordings.find("rec_ab")).id == "rec_ab"
    assert (await recordings.find("rec_", owner="bob")).id == "rec_ab"
    with pytest.raises(BadRequest, match="could be any of"):
        await recordings.find("rec_a")
    for reference, owner in [("rec_b", None), ("rec_aa", "bob"), ("", None)]:
        with pytest.raises(NotFound):
            await recordings.find(reference, owner=owner)


async def test_what_is_not_there_cannot_be_read(recordings: Recordings) -> None:
    with pytest.raises(NotFound):
        await text_of(recordings, "rec_0")


async def test_lines_are_found_newest_recording_first(recordings: Recordings) -> None:
    for number, text in enumerate(["\x1b[1mFatal\x1b[0m: one\r\nx", "no", "y\r\nfatal two"]):
        await record(recordings, f"rec_{number}", text, started_at=STARTED + timedelta(seconds=number))
    found = await recordings.search("fatal", limit=9, within_s=20)
    assert found == Found((Hit("rec_2", 0, "fatal two"), Hit("rec_0", 0, "Fatal: one")), 0)
    assert len((await recordings.search("Fatal", limit=9, within_s=20)).hits) == 1
    assert await recordings.search("fatal", limit=9, within_s=20, owner="bob") == Found((), 0)
    assert (await recordings.search("fatal", limit=1, within_s=20)).hits == found.hits[:1]


@pytest.mark.parametrize("text", ["", " ", "two\nlines"])
async def test_what_is_no_line_cannot_be_looked_for(recordings: Recordings, text: str) -> None:
    with pytest.raises(BadRequest):
        await recordings.search(text, limit=9, within_s=20)


async def test_what_is_too_old_goes_and_then_the_oldest_until_the_others_fit(recordings: Recordings) -> None:
    rows = [await record(recordings, f"rec_{number}", "x" * 99) for number in range(3)]
    under_way = await recordings.begin(header(id="rec_live"))
    assert list(await recordings.expire(before=LONG_AGO, max_total_bytes=PLENTY)) == []
    size = rows[0].size_bytes or 0
    removed = await recordings.expire(before=LONG_AGO, max_total_bytes=2 * size)
    assert [(one.row.id, one.reason) for one in removed] == [("rec_0", "space")]
    removed = await recordings.expire(before=STARTED + timedelta(days=1), max_total_bytes=PLENTY)
    assert [(one.row.id, one.reason) for one in removed] == [("rec_1", "age"), ("rec_2", "age")]
    assert [row.id for row in await recordings.list(limit=9)] == ["rec_live"]
    with pytest.raises(NotFound):
        await text_of(recordings, "rec_0")
    assert replace(await under_way.finish(), header=header()).ended_at == STARTED


async def test_what_is_under_way_here_is_not_recovered(recordings: Recordings) -> None:
    recording = await recordings.begin(header())
    assert list(await recordings.recover()) == []
    recording.output(b"on")
    await recording.finish()
    assert shown(await text_of(recordings, recording.id)) == "on"
