"""Recordings from Python."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche.errors import BadRequest, InternalError, NotFound
from cloche.recording_messages import RecordingHit
from cloche_wire.aio import Channel
from tests.support.local_hub import LocalHub
from tests.support.local_recordings import LocalRecording


@pytest.fixture
def recording(hub: LocalHub) -> LocalRecording:
    """One that is finished, of the sandbox sb_1."""
    made = hub.recordings.add(of="con_1", sandbox="sb_1")
    for number in range(3):
        made.output(f"line {number}\r\n".encode())
    made.finish()
    return made


async def test_they_are_listed_the_newest_first(
    hub: LocalHub, client: Hub, recording: LocalRecording
) -> None:
    hub.recordings.add(of="con_2", sandbox="sb_2")
    recordings = client.recordings
    assert [found.of for found in await recordings.list()] == ["con_2", "con_1"]
    assert [found.id for found in await recordings.list(sandbox="sb_1")] == [recording.fields["id"]]
    newest = await recordings.list(limit=1)
    assert ([found.of for found in newest], newest.omitted) == (["con_2"], 1)
    assert hub.asked[-2:] == [
        ("recording.list", {"sandbox": "sb_1", "limit": 100}), ("recording.list", {"limit": 1})
    ]  # fmt: skip


async def test_one_is_found_by_the_beginning_of_its_id(client: Hub, recording: LocalRecording) -> None:
    assert (await client.recordings.get("rec_")).sha256 == recording.fields["sha256"]
    with pytest.raises(NotFound):
        await client.recordings.get("none")


async def test_its_text_comes_in_pieces_and_is_checked(
    hub: LocalHub, client: Hub, recording: LocalRecording
) -> None:
    assert b"".join([piece async for piece in client.recordings.read("rec_")]) == recording.text

    async def read(channel: Channel) -> None:
        channel.accept()
        await channel.write(1, b"something else")
        channel.close({"size_bytes": len(recording.text), "sha256": recording.fields["sha256"]})

    hub.handlers["recording.read"] = read
    with pytest.raises(InternalError, match="not what the hub sent"):
        [piece async for piece in client.recordings.read("rec_")]


async def test_reading_can_be_left_early(client: Hub, recording: LocalRecording) -> None:
    async with aclosing(client.recordings.read("rec_")) as pieces:  # type: ignore[type-var]
        assert recording.text.startswith(await anext(pieces))
    assert await client.recordings.list()


async def test_one_is_saved_in_place_of_what_was_there(
    client: Hub, recording: LocalRecording, tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    target = folder / "a.cast"
    target.write_bytes(b"old")
    assert await client.recordings.save("rec_", target) == len(recording.text)
    assert target.read_bytes() == recording.text
    assert [path.name for path in folder.iterdir()] == ["a.cast"]


async def test_one_that_does_not_come_whole_leaves_what_was_there(
    hub: LocalHub, client: Hub, recording: LocalRecording, tmp_path: Path
) -> None:
    async def read(channel: Channel) -> None:
        channel.accept()
        await channel.write(1, recording.text[:10])
        raise BadRequest("no more of it")

    hub.handlers["recording.read"] = read
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "a.cast").write_bytes(b"old")
    with pytest.raises(BadRequest, match="no more of it"):
        await client.recordings.save("rec_", folder / "a.cast")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        await client.recordings.save("rec_", folder / "nowhere/a.cast")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.cast": b"old"}


async def test_lines_are_found_with_their_times(
    hub: LocalHub, client: Hub, recording: LocalRecording
) -> None:
    name = recording.fields["id"]
    found = await client.recordings.search("line 1")
    assert (found, found.omitted) == ([RecordingHit(name, 0.5, "line 1")], 0)
    assert len(await client.recordings.search("line", sandbox="sb_1", limit=2)) == 2
    assert hub.asked[-1] == ("recording.search", {"sandbox": "sb_1", "text": "line", "limit": 2})
    with pytest.raises(BadRequest):
        await client.recordings.search("")
