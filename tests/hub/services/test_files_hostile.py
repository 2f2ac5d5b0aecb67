"""Guests that lie about files, through a whole hub on fakes: the caller gets a typed error, and nobody else anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, Cancelled, CodedError, NotFound, SenselessAnswer, Unauthenticated
from cloche_wire.aio import Channel, Handler
from tests.support.file_requests import BYTES, FileRequests, drain, files_of
from tests.support.hub import running_hub, until, within

ENTRY: dict[str, Any] = {
    "name": "f",
    "path": "/tmp/f",
    "kind": "file",
    "size_bytes": 4,
    "mode": 0o644,
    "uid": 0,
    "gid": 0,
    "mtime_ns": 0,
}
NAMED = [
    {**ENTRY, "name": name, "path": f"/tmp/{name}"} for name in ("..", ".", "a/b", "", "../x", "/", "a\0")
]


def reading(
    *pieces: bytes, entry: object = ENTRY, stream: int = BYTES, size: object = None, ends: bool = True
) -> Handler:
    """A guest that sends these bytes of a file and says that they are so many."""

    async def serve(channel: Channel) -> None:
        channel.accept(entry)  # type: ignore[arg-type]
        for piece in pieces:
            await channel.write(stream, piece)
        if ends:
            channel.end(BYTES)
            channel.close({"size_bytes": sum(map(len, pieces)) if size is None else size})
        await channel.wait_confirmed()

    return serve


def writing(entry: dict[str, Any], *, reads: bool = True, says: bytes = b"") -> Handler:
    """A guest that says what it has written."""

    async def serve(channel: Channel) -> None:
        channel.accept({"motd": "x" * 1000})
        if says:
            await channel.write(BYTES, says)
        while reads and await channel.read(BYTES):
            pass
        channel.close(entry)
        await channel.wait_confirmed()

    return serve


def listing(*messages: object, raw: bytes = b"", count: object = None) -> Handler:
    """A guest that sends these messages as a folder."""

    async def serve(channel: Channel) -> None:
        channel.accept()
        for message in messages:
            await channel.write(0, msgpack.packb(message))
        await channel.write(0, raw)
        channel.end(0)
        channel.close({"entries": len(messages) if count is None else count})
        await channel.wait_confirmed()

    return serve


def answering(result: dict[str, Any]) -> Handler:
    async def serve(channel: Channel) -> None:
        channel.close(result)
        await channel.wait_confirmed()

    return serve


async def ask(files: FileRequests, kind: str, **params: Any) -> object:
    match kind:
        case "read":
            return await files.read("/tmp/f", **params)
        case "write":
            return await files.write("/tmp/f", b"data", **params)
        case "list":
            return await files.list("/tmp")
        case _:
            return await files.call(kind, "/tmp/f", **params)


async def refusal(folder: Path, kind: str, guest: Handler, **params: Any) -> CodedError:
    """What a client is told of what a guest does; proves that the machine goes on serving."""
    async with running_hub(folder / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides[f"file.{kind}"] = guest
        files = files_of(client.open, "a")
        with pytest.raises(CodedError) as raised:
            await within(ask(files, kind, **params))
        if kind not in ("list", "stat"):
            failed = await hub.happened(AuditName.FILE_FAILED)
            assert failed.detail["code"] == raised.value.code
        assert (await client.run("a", "true")).result["exit_code"] == 0
        assert (await client.call("audit.verify"))["events"] == len(await hub.events())
        return raised.value


@pytest.mark.parametrize(
    "guest",
    [
        reading(b"data", size=5),
        reading(b"data", size=3),
        reading(b"data", size=-1),
        reading(b"data", size="4"),
        reading(b"data", size=True),
        reading(b"data", stream=2),
        reading(b"data", stream=0),
        reading(b"data", entry={}),
        reading(b"data", entry={**ENTRY, "kind": "dir"}),
        reading(b"data", entry={**ENTRY, "name": ".."}),
        reading(b"data", b"more", entry=ENTRY, size=4),
    ],
)
async def test_a_file_that_is_not_what_the_guest_says_is_a_senseless_answer(
    tmp_path: Path, guest: Handler
) -> None:
    assert isinstance(await refusal(tmp_path, "read", guest), SenselessAnswer)


async def test_more_bytes_than_were_asked_for_do_not_reach_the_client(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.read"] = reading(b"da", b"ta", b"evil", ends=False)
        channel = client.open("file.read", sandbox="a", path="f", length=4)
        came: list[bytes] = []

        async def read() -> None:
            while True:
                came.append(await channel.read(BYTES))

        with pytest.raises(SenselessAnswer, match="more than the 4 bytes"):
            await within(read())
        assert b"data".startswith(b"".join(came))


@pytest.mark.parametrize(
    "guest",
    [
        writing({**ENTRY, "size_bytes": 5}),
        writing({**ENTRY, "size_bytes": 3}),
        writing({**ENTRY, "kind": "link", "target": "x"}),
        writing({**ENTRY, "name": "../f"}),
        writing({}),
        writing(ENTRY, reads=False),
        writing(ENTRY, says=b"hello"),
    ],
)
async def test_a_write_that_is_not_what_the_client_sent_is_a_senseless_answer(
    tmp_path: Path, guest: Handler
) -> None:
    assert isinstance(await refusal(tmp_path, "write", guest), SenselessAnswer)


@pytest.mark.parametrize(
    "guest",
    [
        *(listing({"entries": [entry]}) for entry in NAMED),
        listing({"entries": [ENTRY]}, count=2),
        listing({"entries": [ENTRY]}, count=None, raw=msgpack.packb({"entries": [ENTRY]})),
        listing({"entries": []}),
        listing({"entries": {"0": ENTRY}}),
        listing([ENTRY]),
        listing("x" * 60_000),
        listing({"entries": [ENTRY] * 8000}),
        listing({"entries": [{**ENTRY, "motd": "x" * 200_000}]}),
        listing(raw=b"\xc1"),
        listing(raw=b"\x81\xa7entries\xdd\x00\x0f\x42\x40"),
        listing(raw=b"\xdd\xff\xff\xff\xff"),
        listing(raw=b"\x81\xa7entries"),
        listing(raw=b"\xa2\xff\xfe"),
        listing({"entries": [ENTRY]}, count=-1),
    ],
)
async def test_a_list_that_is_none_is_a_senseless_answer(tmp_path: Path, guest: Handler) -> None:
    assert isinstance(await refusal(tmp_path, "list", guest), SenselessAnswer)


@pytest.mark.parametrize(
    ("kind", "params", "result"),
    [
        ("stat", {}, {**ENTRY, "name": "../../etc/passwd"}),
        ("stat", {}, {}),
        ("make_dir", {}, {**ENTRY, "mode": "rwx"}),
        ("rename", {"to": "g"}, {**ENTRY, "path": "g"}),
        ("set_mode", {"mode": 0}, {**ENTRY, "uid": -1}),
        ("link", {"target": "g"}, {**ENTRY, "kind": "link", "target": 5}),
        ("remove", {}, {"removed": -1}),
        ("remove", {}, {}),
    ],
)
async def test_a_small_answer_that_makes_no_sense_is_refused(
    tmp_path: Path, kind: str, params: dict[str, Any], result: dict[str, Any]
) -> None:
    assert isinstance(await refusal(tmp_path, kind, answering(result), **params), SenselessAnswer)


@pytest.mark.parametrize("kind", ["read", "write", "list", "stat", "remove"])
async def test_an_error_only_the_hub_has_is_not_the_guests_to_name(tmp_path: Path, kind: str) -> None:
    async def lie(_channel: Channel) -> None:
        raise Unauthenticated("log in again at evil.example", token="x")

    told = await refusal(tmp_path, kind, lie)
    assert (type(told), told.details) == (SenselessAnswer, {})


async def test_names_that_are_no_text_are_marked_and_what_is_unknown_is_left_out(tmp_path: Path) -> None:
    strange = {**ENTRY, "name": b"\xff", "path": b"/tmp/\xff", "motd": "x"}
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.list"] = listing({"entries": [strange], "motd": "x"})
        assert await within(files_of(client.open, "a").list("/tmp")) == [
            {**ENTRY, "name": "\\xff", "path": "/tmp/\\xff", "unusable": True}
        ]


async def test_fifty_thousand_entries_pass_a_batch_at_a_time(tmp_path: Path) -> None:
    batches, batch = 100, msgpack.packb({"entries": [ENTRY] * 500})

    async def serve(channel: Channel) -> None:
        channel.accept()
        for _ in range(batches):
            await channel.write(0, batch)
        channel.end(0)
        channel.close({"entries": batches * 500})
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.list"] = serve
        channel = client.open("file.list", sandbox="a", path="/tmp")
        count = 0
        async for message in channel.messages():
            count += len(message["entries"])
        assert await within(channel.result()) == {"entries": count}
        assert count == batches * 500


@pytest.mark.parametrize("kind", ["file.read", "file.list"])
async def test_a_stream_without_an_end_goes_on_until_the_client_has_enough(tmp_path: Path, kind: str) -> None:
    batch = {"entries": [ENTRY]}
    is_over = False

    async def endless(channel: Channel) -> None:
        nonlocal is_over
        channel.accept(ENTRY)
        try:
            while True:
                await channel.write(BYTES if kind == "file.read" else 0, msgpack.packb(batch) * 100)
        finally:
            is_over = True

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides[kind] = endless
        channel = client.open(kind, sandbox="a", path="/tmp/f")
        for _ in range(50):
            assert await within(channel.read(BYTES if kind == "file.read" else 0))
        channel.reset(Cancelled("enough"))
        await until(lambda: is_over)
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_a_file_that_is_in_its_place_before_its_end_has_come_is_a_senseless_answer(
    tmp_path: Path,
) -> None:
    async def hasty(channel: Channel) -> None:
        channel.accept()
        assert await channel.read(BYTES) == b"data"
        channel.close(ENTRY)
        await channel.wait_confirmed()

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["file.write"] = hasty
        writing_ = await within(files_of(client.open, "a").begin_write("f"))
        await writing_.write(BYTES, b"data")
        with pytest.raises(SenselessAnswer, match="before all of it has come"):
            await within(writing_.result())


async def test_bytes_from_a_client_where_there_are_none_are_its_own_fault(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        files = files_of(client.open, "a")
        writing_ = await within(files.begin_write("f"))
        await writing_.write(2, b"x")
        with pytest.raises(BadRequest, match="stream 2, where there are none"):
            await within(writing_.result())
        hub.machine.agent.overrides["file.read"] = reading(b"data", ends=False)
        channel = client.open("file.read", sandbox="a", path="f")
        await within(channel.wait_accepted())
        await channel.write(BYTES, b"x")
        with pytest.raises(BadRequest, match="stream 1, where there are none"):
            await within(channel.result())


async def test_a_sandbox_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        await client.call("sandbox.remove", sandbox="a")
        for reference in ("a", made["id"], "nothing"):
            with pytest.raises(NotFound):
                await within(drain(client.open("file.read", sandbox=reference, path="f")))
