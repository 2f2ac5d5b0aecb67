"""Requests about recordings, through a whole hub."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import BadRequest, Cancelled, InternalError, NotFound
from cloche_hub.ports import Header, RecordingKind
from cloche_wire.frames import Fields
from tests.support.fake_images import LONG_AGO
from tests.support.fake_recordings import FakeRecording
from tests.support.hub import Client, RunningHub, running_hub, within


async def recorded(
    hub: RunningHub, sandbox: Fields, name: str, *lines: str, minutes: int = 0, is_finished: bool = True
) -> FakeRecording:
    """A recording of a sandbox's, that has shown lines."""
    header = Header(
        id=f"rec_{name}",
        kind=RecordingKind.CONSOLE,
        of=f"con_{name}",
        sandbox=sandbox["id"],
        sandbox_name=sandbox["name"],
        owner=sandbox["owner"],
        title=name,
        rows=24,
        cols=80,
        term="xterm",
        command=None,
        started_at=LONG_AGO + timedelta(minutes=minutes),
    )
    recording = await hub.recordings.begin(header)
    for line in lines:
        recording.output(f"{line}\r\n".encode())
    if is_finished:
        await recording.finish()
    return recording


async def listed(client: Client, **params: Any) -> list[str]:
    return [one["title"] for one in (await client.call("recording.list", **params))["recordings"]]


async def read(client: Client, reference: str) -> tuple[bytes, Fields]:
    """A recording's text, and what the hub says of it."""
    channel = client.open("recording.read", recording=reference)
    text = b""
    while piece := await within(channel.read(1)):
        text += piece
    return text, await within(channel.result())


async def test_recordings_are_listed_newest_first_by_sandbox_and_no_more_than_asked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        a, b = await client.create(name="a"), await client.create(name="b")
        await recorded(hub, a, "one")
        await recorded(hub, b, "two", minutes=1)
        await recorded(hub, a, "three", minutes=2)
        assert await listed(client) == ["three", "two", "one"]
        assert await listed(client, sandbox="a") == ["three", "one"]
        assert await listed(client, limit=1) == ["three"]
        with pytest.raises(NotFound):
            await listed(client, sandbox="c")


async def test_a_recording_outlives_its_sandbox(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        await recorded(hub, made, "one", "hello")
        await client.call("sandbox.remove", sandbox="a")
        assert await listed(client, sandbox=made["id"]) == ["one"]
        assert b"hello" in (await read(client, "rec_one"))[0]


async def test_the_recordings_of_a_sandbox_that_is_gone_are_found_by_its_name(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for number in range(2):
            await recorded(hub, await client.create(name="a"), f"of-{number}", "shown", minutes=number)
            await client.call("sandbox.remove", sandbox="a")
        # The name is the newest one's that had it, and a live one's before all.
        assert await listed(client, sandbox="a") == ["of-1"]
        found = await client.call("recording.search", text="shown", sandbox="a")
        assert [hit["recording"] for hit in found["hits"]] == ["rec_of-1"]
        await recorded(hub, await client.create(name="a"), "live", minutes=5)
        assert await listed(client, sandbox="a") == ["live"]
        with pytest.raises(NotFound):
            await listed(client, sandbox="b")


async def test_one_is_shown_by_its_id_or_how_that_begins(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        await recorded(hub, made, "one")
        await recorded(hub, made, "other")
        shown = await client.call("recording.show", recording="rec_on")
        assert (shown["id"], shown["of"], shown["sandbox_name"], shown["is_cut"]) == (
            "rec_one",
            "con_one",
            "a",
            False,
        )
        assert shown["sha256"] is not None
        with pytest.raises(BadRequest, match="could be any of"):
            await client.call("recording.show", recording="rec_o")
        with pytest.raises(BadRequest, match="longer than any id"):
            await client.call("recording.show", recording="x" * 65)
        with pytest.raises(NotFound):
            await client.call("recording.show", recording="nothing")


async def test_a_text_is_read_whole_with_its_digest(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        recording = await recorded(hub, made, "one", "hello")
        text, told = await read(client, "rec_one")
        assert text == recording.text
        assert [json.loads(line)[1:] for line in text.splitlines()[1:]] == [["o", "hello\r\n"]]
        digest = hashlib.sha256(text).hexdigest()
        assert told == {"sha256": digest, "size_bytes": len(text), "is_cut": False}
        assert (await client.call("recording.show", recording="rec_one"))["sha256"] == digest


async def test_of_one_that_is_under_way_there_is_what_there_is(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        recording = await recorded(hub, made, "one", "so far", is_finished=False)
        text, told = await read(client, "rec_one")
        assert (text, told["sha256"]) == (recording.text, hashlib.sha256(text).hexdigest())
        shown = await client.call("recording.show", recording="rec_one")
        assert (shown["ended_at"], shown["sha256"]) == (None, None)


async def test_a_text_that_was_changed_afterwards_is_not_passed_off_as_the_recording(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        recording = await recorded(hub, made, "one", "rm -rf /")
        recording.text = recording.text.replace(b"rm -rf /", b"ls -l   ")
        with pytest.raises(InternalError, match="not what was recorded"):
            await read(client, "rec_one")


async def test_reading_can_be_given_up(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        await recorded(hub, made, "one", *["x" * 1000] * 2000)
        channel = client.open("recording.read", recording="rec_one")
        assert await within(channel.read(1))
        channel.reset(Cancelled("enough"))
        assert await listed(client) == ["one"]


async def test_what_was_shown_is_found_with_where_and_when(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        a, b = await client.create(name="a"), await client.create(name="b")
        await recorded(hub, a, "one", "$ make", "all done")
        await recorded(hub, b, "two", "$ make clean", minutes=1)
        found = await client.call("recording.search", text="make")
        assert [(hit["recording"], hit["line"]) for hit in found["hits"]] == [
            ("rec_two", "$ make clean"),
            ("rec_one", "$ make"),
        ]
        assert found["omitted"] == 0
        (hit,) = (await client.call("recording.search", text="make", sandbox="a"))["hits"]
        assert hit == {"recording": "rec_one", "at_s": 0.0, "line": "$ make"}
        assert len((await client.call("recording.search", text="make", limit=1))["hits"]) == 1


@pytest.mark.parametrize("text", ["", " ", "a\nb", "x" * 1001])
async def test_a_search_wants_one_line(tmp_path: Path, text: str) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(BadRequest, match="one line"):
            await client.call("recording.search", text=text)


async def test_another_owners_recordings_do_not_exist_but_for_an_operator(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(await hub.mint("alice")) as alice:
        made = await alice.create(name="a")
        await recorded(hub, made, "one", "hunter2")
        assert await listed(alice) == ["one"]
        async with hub.client(await hub.mint("bob")) as bob:
            assert await listed(bob) == []
            assert (await bob.call("recording.search", text="hunter2"))["hits"] == []
            for kind in ("recording.show", "recording.read"):
                with pytest.raises(NotFound, match="no recording 'rec_one'"):
                    await bob.call(kind, recording="rec_one")
            with pytest.raises(NotFound, match="no sandbox"):
                await listed(bob, sandbox=made["id"])
        async with hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator:
            assert await listed(operator) == ["one"]
            assert b"hunter2" in (await read(operator, "rec_one"))[0]
